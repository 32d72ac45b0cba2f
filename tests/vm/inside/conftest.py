"""One `mooring up` and one server of each kind for all tests: the machine is ten times slower."""

import os
from collections import Counter
from collections.abc import Iterator

import msgspec
import pytest

from tests.clients import kubectl as kubectl_limits
from tests.clients import pods as pods_limits
from tests.clients.conftest import kubectl, kubectl_home, namespace, unique  # noqa: F401  fixtures
from tests.clients.kubectl import Kubectl
from tests.clients.nodes import ServerWithNode, server_with_node
from tests.clients.pods import Pods
from tests.fakes import real_server as server_limits
from tests.vm.inside.iscsi_targets import IscsiTargets
from tests.vm.inside.nfs_server import NfsServer
from tests.vm.machine import address_of

# Elsewhere the kernel has no NFS and no iSCSI: `make test-vm` runs these.
collect_ignore_glob = [] if os.environ.get("MOORING_VM") else ["test_*.py"]

PATIENCE = 300  # seconds

server_limits.START_SECONDS = PATIENCE
kubectl_limits.SECONDS = PATIENCE
pods_limits.WITHIN = f"--timeout={PATIENCE}s"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerWithNode]:
    for_all = ("--host", "0.0.0.0", "--name", address_of(1))  # noqa: S104  of two machines
    with server_with_node(tmp_path_factory.mktemp("up") / "data", *for_all) as running:
        yield running


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:  # noqa: F811  the fixture
    return Pods(kubectl)


@pytest.fixture(scope="session")
def nfs() -> NfsServer:
    server = NfsServer()
    server.start()
    return server


@pytest.fixture(scope="session")
def iscsi() -> IscsiTargets:
    targets = IscsiTargets()
    targets.start()
    return targets


class Part(msgspec.Struct):
    """A suite's tests, and the seconds that they took."""

    seconds: float = 0.0
    counts: Counter[str] = msgspec.field(default_factory=Counter)


PARTS: dict[str, Part] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    part = PARTS.setdefault(report.nodeid.partition("::")[0], Part())
    part.seconds += report.duration
    if report.when == "call" or report.outcome != "passed":
        part.counts[report.outcome] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("parts")
    for name, part in PARTS.items():
        told = ", ".join(f"{count} {outcome}" for outcome, count in part.counts.items())
        terminalreporter.write_line(f"{part.seconds:6.0f} s  {name}: {told}")
