"""`mooring why` about a driver that hangs for real: a process that answers all calls but one.

A node waits two minutes for an answer before it tells of it, so this is no part of every run.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.why.answer import Answer, Verdict
from tests.clients.csi import (
    OnDisk,
    a_class_of,
    a_reader,
    bare_claim,
    driver_process,
    registrar_process,
    server_with_driver,
)
from tests.clients.find_kubectl import Age, Missing, find_kubectl
from tests.clients.kubectl import Kubectl
from tests.clients.mooring_command import mooring
from tests.clients.nodes import ServerWithNode
from tests.clients.why.situations import until
from tests.clients.why.stage import Stage

pytestmark = pytest.mark.conformance

OTHER = "fake.csi.mooring.dev"
LOOKS = 6000  # of 50 ms


@pytest.fixture(scope="module")
def server() -> Iterator[ServerWithNode]:
    with server_with_driver() as server:
        yield server


@pytest.fixture
def stage(
    server: ServerWithNode, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Stage]:
    try:
        binary = find_kubectl(Age.USUAL)
    except Missing as reason:
        pytest.skip(f"no kubectl: {reason}")
    namespace = f"hangs-{request.node.callspec.params['call'].lower()}"
    kubectl = Kubectl(binary.path, binary.version, server.kubeconfig, tmp_path, namespace)
    stage = Stage(server.kubeconfig, kubectl, namespace)
    stage.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    yield stage
    stage.close()


@pytest.mark.parametrize("call", ["NodeStageVolume", "NodePublishVolume"])
def test_a_call_that_hangs_is_named_and_its_pod_can_be_given_up(
    call: str, server: ServerWithNode, stage: Stage, tmp_path: Path
) -> None:
    disk = OnDisk(server.data_dir)
    socket = disk.node / "plugins" / OTHER / "csi.sock"
    with driver_process(socket, call), registrar_process(socket, disk.registrations):
        stage.create(a_class_of(OTHER, stage.namespace))
        stage.create({"apiVersion": "v1", **bare_claim("data", storageClassName=stage.namespace)})
        stage.create({"apiVersion": "v1", **a_reader("web", "data")})
        until(stage, "Pod", "web", lambda it: bool(it["spec"].get("nodeName")))
        _until_in_flight(server, call, stage)
        answer = _asked_until_told(stage)
        assert "has not been answered in time" in answer.summary, answer
        assert answer.verdict is Verdict.BROKEN
        helps = next(one for one in answer.fixes if "give the volume up" in one.what_it_does)
        ran = stage.run(helps.command, tmp_path)
        assert ran.code == 0, ran.err
        _until_gone(stage)


def _until_in_flight(server: ServerWithNode, call: str, stage: Stage) -> None:
    """As `mooring csi trace` shows it, long before the kubelet says anything."""
    asked = ("csi", "trace", "--driver", OTHER, "--method", call, "--kubeconfig", server.kubeconfig)
    said = mooring(*asked).stdout
    for _ in range(LOOKS):
        if "in flight" in said:
            break
        stage.pause()
        said = mooring(*asked).stdout
    assert "in flight" in said
    assert f"pod/{stage.namespace}/web" in said, said
    assert "not been answered" not in stage.why("pod/web").summary


def _asked_until_told(stage: Stage) -> Answer:
    answer = stage.why("pod/web")
    for _ in range(LOOKS):
        if "not been answered" in answer.summary:
            break
        stage.pause()
        answer = stage.why("pod/web")
    return answer


def _until_gone(stage: Stage) -> None:
    for _ in range(LOOKS):
        if stage.find("v1", "Pod", "web") is None:
            return
        stage.pause()
    raise AssertionError(f"the pod did not go: {stage.why('pod/web')}")
