"""Machines that die, seen through a real kubectl."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.manifests import a_node, a_pod
from tests.fakes.real_server import RealServer
from tests.fakes.waiting import until

GRACE_SECONDS = 2
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[RealServer]:
    """A server that takes a node for lost after two seconds; nobody runs its nodes."""
    grace = ("--node-monitor-grace-period", str(GRACE_SECONDS))
    server = RealServer(tmp_path / "data", *grace).start()
    yield server
    server.stop()


async def test_a_machine_dies_and_somebody_vouches_for_it(
    kubectl: Kubectl, impatient: RealServer
) -> None:
    mine = kubectl.as_user(impatient.kubeconfig).in_namespace("default")
    assert (
        impatient.ask("POST", "/api/v1/nodes", a_node("worker-1") | {"status": READY}).code == 201
    )
    assert impatient.ask("POST", PODS, a_pod("web", nodeName="worker-1")).code == 201
    assert "Ready" in mine("get", "nodes").split()

    await until(lambda: "NotReady" in mine("get", "nodes"))
    described = mine("describe", "node", "worker-1")
    assert "Kubelet stopped posting node status." in described
    assert "node.kubernetes.io/unreachable:NoSchedule" in described
    assert "Node worker-1 status is now: NodeNotReady" in described

    mine("delete", "pod", "web", "--wait=false")
    await until(lambda: "WaitingForNode" in mine("get", "events"))
    assert "Terminating" in mine("get", "pods")

    mine("taint", "node", "worker-1", OUT_OF_SERVICE)
    await until(lambda: mine("get", "pods", "-o", "name") == "")


async def test_pods_leave_a_node_that_is_tainted(kubectl: Kubectl, impatient: RealServer) -> None:
    mine = kubectl.as_user(impatient.kubeconfig).in_namespace("default")
    assert (
        impatient.ask("POST", "/api/v1/nodes", a_node("worker-1") | {"status": READY}).code == 201
    )
    for name, tolerations in {"goes": [], "stays": [{"operator": "Exists"}]}.items():
        pod = a_pod(name, nodeName="worker-1", tolerations=tolerations)
        assert impatient.ask("POST", PODS, pod).code == 201
    mine("taint", "node", "worker-1", "team=away:NoExecute")
    await until(lambda: "Marking for deletion Pod default/goes" in mine("get", "events"))
    conditions = mine("get", "pod", "goes", "-o", "jsonpath={.status.conditions[*].reason}")
    assert "DeletionByTaintManager" in conditions
    assert "Marking for deletion Pod default/stays" not in mine("get", "events")
