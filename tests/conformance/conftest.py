"""Tests against heavy peers: `make conformance` runs them, `make test` passes them by."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.conformance.asking import Client
from tests.conformance.obtain import KUBE_APISERVERS, Missing, Say, obtain
from tests.conformance.peers import Find, kubernetes
from tests.fakes.real_server import ApiServer

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    passed_by = pytest.mark.skip(reason="needs heavy peers: run `make conformance`")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.conformance)
            if not os.environ.get("MOORING_CONFORMANCE"):
                item.add_marker(passed_by)


@pytest.fixture(scope="session")
def say(pytestconfig: pytest.Config) -> Say:
    """Tells people something while the tests run."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    terminal = pytestconfig.pluginmanager.getplugin("terminalreporter")

    def tell(line: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.write_line(line)

    return tell


@pytest.fixture(scope="session")
def find(say: Say) -> Find:
    """Programs of peers; they are built first, which may take minutes and tells how far it is."""
    return partial(obtain, say=say)


@pytest.fixture(scope="session", params=KUBE_APISERVERS)
def release(request: pytest.FixtureRequest) -> str:
    """Of Kubernetes, that Mooring follows."""
    return str(request.param)


@pytest.fixture(scope="session")
def theirs(
    tmp_path_factory: pytest.TempPathFactory, find: Find, say: Say, release: str
) -> Iterator[Client]:
    """A real kube-apiserver."""
    directory, program = tmp_path_factory.mktemp("kubernetes"), KUBE_APISERVERS[release]
    try:
        with kubernetes(directory, find, program=program) as cluster:
            client = cluster.client()
            yield client
            client.close()
    except Missing as reason:
        say(f"no kube-apiserver to compare with: {reason}")
        pytest.skip(f"no kube-apiserver to compare with: {reason}")


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory, release: str) -> Iterator[Client]:
    """Mooring's API server."""
    data_dir = tmp_path_factory.mktemp("mooring") / "data"
    server = ApiServer(data_dir, "--kubernetes-version", release).start()
    client = Client("mooring", server.host, server.port, server.tls(), server.token())
    yield client
    client.close()
    server.stop()
