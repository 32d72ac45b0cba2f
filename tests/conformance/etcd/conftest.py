"""An etcd of one member for what needs nothing more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.etcd.members import EtcdMember, etcd_cluster
from tests.conformance.obtain import ETCD, Missing
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
