"""What `mooring up` says when it is ready, and that all of it is true by then."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.nodes import NODE, PowerlessServer, ServerWithNode, need_root, server_with_node
from tests.fakes.real_server import RealServer
from tests.fakes.waiting import until

Doc = dict[str, Any]

CLAIM: Doc = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "bare"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Mi"}}},
}
SECRETIVE: Doc = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "secretive"},
    "spec": {
        "volumes": [
            {"name": "memory", "emptyDir": {"medium": "Memory"}},
            {"name": "more", "emptyDir": {"medium": "Memory"}},
        ],
        "containers": [{"name": "main", "image": "none"}],
    },
}


@pytest.fixture
def powerless(tmp_path: Path) -> Iterator[PowerlessServer]:
    """A `mooring up` that may not mount; ready, for what it is worth."""
    need_root()
    if shutil.which(PowerlessServer.prefix[0]) is None:
        pytest.skip("setpriv, which takes rights away, is not installed")
    server = PowerlessServer(tmp_path / "data")
    server.start()
    yield server
    server.kill()


def kubectl_of(server: RealServer, kubectl: Kubectl) -> Kubectl:
    return kubectl.as_user(server.kubeconfig).in_namespace("default")


@pytest.fixture
def node_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerWithNode]:
    """In a directory whose name is short enough for the sockets of a driver."""
    need_root()
    with server_with_node(tmp_path_factory.mktemp("r") / "data") as server:
        yield server


async def test_at_the_first_line_everything_is_there(
    node_server: ServerWithNode, kubectl: Kubectl
) -> None:
    mine = kubectl_of(node_server, kubectl)
    (node,) = json.loads(mine("get", "nodes", "-o", "json"))["items"]
    (storage,) = json.loads(mine("get", "storageclasses", "-o", "json"))["items"]
    shown = mine("get", "--raw", "/readyz?verbose").splitlines()

    conditions = {each["type"]: each["status"] for each in node["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    assert storage["metadata"]["name"] == "mooring-loop"
    for role in ("startup", "informers", "controllers", "scheduler", "node", "sidecars", "driver"):
        assert f"[+]{role} ok" in shown
    assert node_server.next_line() == f"  node: {NODE}"
    assert node_server.next_line() == "  default class: mooring-loop (loop.csi.mooring.dev)"


def test_without_a_node_the_block_says_so(own_server: RealServer) -> None:
    assert own_server.next_line() == "  node: none (--no-node)"
    assert own_server.next_line() == "  default class: none: a claim has to name one"
    assert own_server.ask("GET", "/readyz").body == b"ok"


async def test_without_root_claims_get_directories_and_pods_are_told_why_they_wait(
    powerless: PowerlessServer, kubectl: Kubectl
) -> None:
    mine = kubectl_of(powerless, kubectl)
    assert powerless.next_line() == f"  node: {NODE}"
    assert powerless.next_line() == "  default class: mooring-host-path (kubernetes.io/host-path)"
    no_mounts = powerless.next_line()
    assert no_mounts.startswith("  will not work: volumes that are mounted: ")
    assert no_mounts.endswith("; run mooring as root")
    assert powerless.next_line().startswith("  will not work: pods: containers cannot run: ")

    mine("create", "-f", "-", given=CLAIM)
    mine("wait", "pvc/bare", "--for=jsonpath={.status.phase}=Bound", "--timeout=20s")
    mine("create", "-f", "-", given=SECRETIVE)

    def events() -> list[Doc]:
        found = mine("get", "events", "-o", "json", "--field-selector=reason=FailedMount")
        return list(json.loads(found)["items"])

    await until(lambda: any(event["count"] > 1 for event in events()))
    (event,) = events()
    assert event["message"].endswith("run mooring as root")
    assert "Mounting command" not in event["message"]


def test_under_another_name_the_old_node_goes_and_the_new_one_stays(
    node_server: ServerWithNode, kubectl: Kubectl
) -> None:
    mine = kubectl_of(node_server, kubectl)
    assert mine("get", "nodes", "-o", "name") == f"node/{NODE}"
    assert node_server.stop() == 0

    node_server.own_flags = ("--node-name", "another")
    node_server.start()
    assert mine("get", "nodes", "-o", "name") == "node/another"
    assert f"Node {NODE} is removed" in mine.event(NODE, "RemovingNode")
    assert "its old Node is deleted" in node_server.log.read_text()
    assert node_server.stop() == 0

    node_server.own_flags = ()
    node_server.start()
    assert mine("get", "nodes", "-o", "name") == "node/another"
    assert node_server.next_line() == "  node: another"
