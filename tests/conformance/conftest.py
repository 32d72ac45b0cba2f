"""Tests against heavy peers: `make conformance` runs them, `make test` passes them by."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.asking import Client
from tests.conformance.obtain import Missing
from tests.conformance.peers import kubernetes
from tests.fakes.real_server import RealServer

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    passed_by = pytest.mark.skip(reason="needs heavy peers: run `make conformance`")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.conformance)
            if not os.environ.get("MOORING_CONFORMANCE"):
                item.add_marker(passed_by)


@pytest.fixture(scope="session")
def theirs(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Client]:
    """A real kube-apiserver; obtained first, which may take minutes and tells how far it is."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    terminal = pytestconfig.pluginmanager.getplugin("terminalreporter")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.write_line(line)

    try:
        with kubernetes(tmp_path_factory.mktemp("kubernetes"), say) as client:
            yield client
    except Missing as reason:
        say(f"no kube-apiserver to compare with: {reason}")
        pytest.skip(f"no kube-apiserver to compare with: {reason}")


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The API server alone: theirs has no controllers either."""
    server = RealServer(tmp_path_factory.mktemp("mooring") / "data", role="apiserver").start()
    client = Client("mooring", server.host, server.port, server.tls(), server.token())
    yield client
    client.close()
    server.stop()
