"""`mooring why` names the cause of each situation, and a command that heals it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.find_kubectl import Age, Missing, find_kubectl
from tests.clients.kubectl import Kubectl
from tests.clients.why.heal import heal
from tests.clients.why.stage import Stage
from tests.clients.why.table import SITUATIONS
from tests.fakes.real_server import RealServer


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A `mooring up` without a node, for all situations."""
    server = RealServer(tmp_path_factory.mktemp("why") / "data").start()
    yield server
    server.kill()


@pytest.fixture
def stage(whole: RealServer, kubectl_home: Path, unique: str) -> Iterator[Stage]:
    try:
        binary = find_kubectl(Age.USUAL)
    except Missing as reason:
        pytest.skip(f"no kubectl: {reason}")
    home = kubectl_home / "why"
    home.mkdir(exist_ok=True)
    kubectl = Kubectl(binary.path, binary.version, whole.kubeconfig, home, unique)
    made = whole.ask("POST", "/api/v1/namespaces", {"metadata": {"name": unique}})
    assert made.code == 201, made.body
    stage = Stage(whole.kubeconfig, kubectl, unique)
    yield stage
    stage.close()


QUICK = [name for name, situation in SITUATIONS.items() if situation.is_quick]
"""All of them are healed in `tests/conformance/test_why.py`."""


@pytest.mark.parametrize("name", QUICK)
def test_the_cause_is_named_and_the_command_heals(name: str, stage: Stage, tmp_path: Path) -> None:
    heal(stage, SITUATIONS[name], tmp_path)
