"""A disk that hangs under one pod: the API, the other pods and the end of the process go on."""

import json
import select
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.following import changes
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_claim
from tests.clients.nodes import NODE, ServerWithNode, server_with_node
from tests.clients.pods import Pods, a_local_volume, a_script, mounting, of_claim
from tests.fakes.hanging_disk import HangingDisk, hanging_disk
from tests.fakes.real_server import RealServer

PROMPTLY = 10.0  # seconds; a start on a loaded machine takes one or two
GRACE = 10.0  # seconds that SIGTERM may take
DATA: Doc = {"container": mounting(data="/data")}


@pytest.fixture
def server(needs_runtime: None, tmp_path: Path) -> Iterator[ServerWithNode]:
    with server_with_node(tmp_path / "data") as running:
        yield running


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    return Pods(kubectl)


@pytest.fixture
def disk(needs_runtime: None, tmp_path: Path) -> Iterator[HangingDisk]:
    with hanging_disk(tmp_path / "disk") as disk:
        yield disk


def is_healthy(server: RealServer) -> bool:
    began = time.monotonic()
    return server.ask("GET", "/healthz").body == b"ok" and time.monotonic() - began < PROMPTLY


def stop(server: RealServer) -> float:
    """How long SIGTERM takes."""
    began = time.monotonic()
    assert server.stop() == 0
    return time.monotonic() - began


def await_event(server: RealServer, reason: str, text: str) -> str:
    for event in changes(server, "/api/v1/events"):
        if event["reason"] == reason and text in event["message"]:
            return str(event["message"])
    pytest.fail(f"no event {reason} with {text!r}")


def test_a_hung_local_volume_stops_neither_api_nor_pods_nor_sigterm_nor_a_restart(
    server: ServerWithNode, pods: Pods, disk: HangingDisk
) -> None:
    claim = a_claim("stuck", volumeName="stuck")
    volume = a_local_volume("stuck", str(disk.at))
    pods.create(claim, volume, a_script("hangs", volumes=[of_claim("data", "stuck")], **DATA))
    assert disk.asked.wait(15)
    assert is_healthy(server)
    pods.ready(a_script("well"))
    assert stop(server) < GRACE
    server.start()
    assert is_healthy(server)
    pods.kubectl("wait", "--for=condition=Ready", "pod/well", "--timeout=15s")
    pods.ready(a_script("also-well"))
    assert stop(server) < GRACE


@pytest.mark.parametrize("kind", ["Directory", ""], ids=["looked at", "given to the container"])
def test_six_stuck_host_path_checks_leave_room_for_a_pod_without_volumes(
    server: ServerWithNode, pods: Pods, disk: HangingDisk, kind: str
) -> None:
    source = {"name": "data", "hostPath": {"path": str(disk.at), "type": kind}}
    pods.create(*(a_script(f"hangs-{number}", volumes=[source], **DATA) for number in range(6)))
    assert disk.asked.wait(15)
    pods.ready(a_script("well"))
    assert is_healthy(server)
    assert stop(server) < GRACE


def test_a_process_that_the_kernel_cannot_end_gives_way_to_the_next(
    server: ServerWithNode, pods: Pods, tmp_path: Path
) -> None:
    with hanging_disk(tmp_path / "broken", takes_questions=True) as disk:
        source = {"name": "data", "hostPath": {"path": str(disk.at), "type": "Directory"}}
        pods.create(a_script("hangs", volumes=[source], **DATA))
        assert disk.asked.wait(15)
        server.send(signal.SIGTERM)
        wait_until_nobody_listens(server)
        with server_with_node(server.data_dir) as next_one:
            assert is_healthy(next_one)
            assert server.is_running  # its thread waits in the kernel, and holds nothing else
            disk.let_go()  # by now a thread of the next one may wait there too
    assert server.wait() == 0


def wait_until_nobody_listens(server: RealServer) -> None:
    until = time.monotonic() + GRACE
    while time.monotonic() < until:
        try:
            socket.create_connection((server.host, server.port)).close()
        except ConnectionRefusedError:
            return
        select.select([], [], [], 0.05)
    pytest.fail("it still listens")


@pytest.mark.timeout(120)
def test_a_stuck_volume_is_told_to_its_pod_in_the_nodes_conditions_and_in_readyz_until_it_returns(
    server: ServerWithNode, pods: Pods, disk: HangingDisk
) -> None:
    source = {"name": "data", "hostPath": {"path": str(disk.at), "type": "Directory"}}
    pods.create(a_script("hangs", volumes=[source], **DATA))
    told = await_event(server, "FailedMount", "has not returned since")
    assert str(disk.at) in told
    condition = await_condition(server, "True")
    assert str(disk.at) in condition["message"]
    ready = server.ask("GET", "/readyz?verbose")
    assert ready.code == 200
    assert b"host-path" in next(line for line in ready.body.splitlines() if b"stuck" in line)
    metrics = server.ask("GET", "/metrics").body.decode()
    assert 'mooring_stuck_calls{pool="volumes"} 1.0' in metrics
    disk.let_go()
    assert await_condition(server, "False")["reason"] == "AllCallsReturn"


def await_condition(server: RealServer, status: str) -> dict[str, str]:
    for node in changes(server, "/api/v1/nodes"):
        for condition in node.get("status", {}).get("conditions", ()):
            if (condition["type"], condition["status"]) == ("mooring.dev/StuckVolumes", status):
                assert node["metadata"]["name"] == NODE
                return dict(json.loads(json.dumps(condition)))
    pytest.fail(f"the node never said {status}")
