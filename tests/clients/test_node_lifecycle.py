"""Machines that die, seen through a real kubectl."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_node, a_pod
from tests.clients.nodes import NODE, joined_node, need_root, server_with_node
from tests.clients.pods import a_script
from tests.fakes.real_server import RealServer
from tests.fakes.waiting import until

GRACE_SECONDS = 2
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
UNREACHABLE = "node.kubernetes.io/unreachable"
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


def a_controller(name: str) -> Doc:
    """One pod, which leaves a lost node after a second."""
    pod = a_script("x", "sleep 1000", terminationGracePeriodSeconds=1)
    lost = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}
    spec = {**pod["spec"], "tolerations": [{**lost, "tolerationSeconds": 1}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    return {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "template": template},
    }


async def test_a_machine_is_silent_for_a_while_and_comes_back(
    needs_runtime: None, kubectl: Kubectl, tmp_path: Path
) -> None:
    """Its process is halted, as by a cut link: what runs there goes on, and nobody hears of it."""
    need_root()
    grace = ("--node-monitor-grace-period", "13")  # a node is heard of every ten seconds
    with (
        server_with_node(tmp_path / "data", *grace) as server,
        joined_node(server, "worker", tmp_path, flags=("--host-rootfs",)) as worker,
    ):
        mine = kubectl.as_user(server.kubeconfig).in_namespace("default")

        def running_on(node: str) -> bool:
            pods = mine.doc("pods")["items"]
            return any(
                pod["spec"].get("nodeName") == node
                and pod["status"].get("phase") == "Running"
                and "deletionTimestamp" not in pod["metadata"]
                for pod in pods
            )

        def state_of(node: str) -> str:
            words = mine("get", "node", node, "--no-headers", "--ignore-not-found").split()
            return words[1] if words else ""

        await until(lambda: state_of("worker") == "Ready")
        mine("cordon", NODE)
        mine("create", "-f", "-", given=a_controller("web"))
        await until(lambda: running_on("worker"))
        mine("uncordon", NODE)
        await until(lambda: state_of(NODE) == "Ready")

        worker.send_signal(signal.SIGSTOP)
        try:
            await until(lambda: state_of("worker") == "NotReady", 40)
            await until(lambda: running_on(NODE), 40)  # replaced
            assert len(mine.doc("pods")["items"]) == 2  # nobody says that the old one ended
        finally:
            worker.send_signal(signal.SIGCONT)
        await until(lambda: state_of("worker") == "Ready", 40)
        await until(lambda: len(mine.doc("pods")["items"]) == 1, 40)
        assert running_on(NODE)
        assert "taints" not in mine.doc("node", "worker")["spec"]
