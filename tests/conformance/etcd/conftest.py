"""An etcd of one member for what needs nothing more, and what speaks its protocol."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conformance.etcd.kines import kines, on_sqlite, postgresql
from tests.conformance.etcd.members import EtcdMember, etcd_cluster
from tests.conformance.obtain import ETCD, KINE, Missing
from tests.conformance.peers import FORGETFUL, Find


@pytest.fixture(scope="session")
def etcd_program(find: Find) -> Path:
    try:
        return find(ETCD)
    except Missing as reason:
        pytest.skip(f"no etcd: {reason}")


@pytest.fixture(scope="session")
def one_member(
    etcd_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EtcdMember]:
    directory = tmp_path_factory.mktemp("etcd")
    with etcd_cluster(etcd_program, directory, 1, FORGETFUL) as members:
        yield members[0]


@pytest.fixture(scope="session")
def kine_program(find: Find) -> Path:
    try:
        return find(KINE)
    except Missing as reason:
        pytest.skip(f"no kine: {reason}")


@contextmanager
def _on_etcd(request: pytest.FixtureRequest, directory: Path) -> Iterator[str]:
    program: Path = request.getfixturevalue("etcd_program")
    with etcd_cluster(program, directory, 1, FORGETFUL) as members:
        yield members[0].client_url


@contextmanager
def _on_sqlite(request: pytest.FixtureRequest, directory: Path) -> Iterator[str]:
    program: Path = request.getfixturevalue("kine_program")
    with kines(program, on_sqlite(directory), directory) as started:
        yield started[0].client_url


@contextmanager
def _on_postgresql(request: pytest.FixtureRequest, directory: Path) -> Iterator[str]:
    program: Path = request.getfixturevalue("kine_program")
    with (
        postgresql(directory / "postgresql") as endpoint,
        kines(program, endpoint, directory) as started,
    ):
        yield started[0].client_url


KEPT_BY = {
    "etcd": _on_etcd,
    "kine on SQLite": _on_sqlite,
    "kine on PostgreSQL": _on_postgresql,
}


@pytest.fixture(scope="session", params=KEPT_BY)
def etcd_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of each program that speaks etcd's protocol."""
    kept_by = KEPT_BY[request.param]
    try:
        with kept_by(request, tmp_path_factory.mktemp("kept")) as url:
            yield url
    except Missing as reason:
        pytest.skip(str(reason))
