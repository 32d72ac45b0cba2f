"""Deployments, as a real kubectl sees them; their pods run."""

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import STAYS, a_script
from tests.fakes.waiting import until

ROLLED_OUT = 'deployment "web" successfully rolled out'
WITHIN = "--timeout=15s"


@pytest.fixture(scope="session")
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


def a_deployment(replicas: int = 2) -> Doc:
    spec = a_script("x", STAYS, terminationGracePeriodSeconds=0)["spec"]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template,
        },
    }


async def test_a_deployment_lives(kubectl: Kubectl) -> None:
    """Rolled out, changed, paused, rolled back, scaled, restarted, deleted."""
    kubectl("apply", "-f-", given=a_deployment())
    assert ROLLED_OUT in kubectl("rollout", "status", "deployment/web", WITHIN)
    (line,) = kubectl("get", "deployments", "--no-headers").splitlines()
    assert line.split()[:4] == ["web", "2/2", "2", "2"]
    shown = kubectl("get", "all", "-o", "name").splitlines()
    kinds = sorted(each.partition("/")[0] for each in shown)
    assert kinds == ["deployment.apps", "pod", "pod", "replicaset.apps"], shown

    kubectl("rollout", "pause", "deployment/web")
    kubectl("set", "env", "deployment/web", "COLOUR=blue")
    kubectl("scale", "deployment/web", "--replicas=1")
    kubectl("rollout", "resume", "deployment/web")
    assert ROLLED_OUT in kubectl("rollout", "status", "deployment/web", WITHIN)
    history = kubectl("rollout", "history", "deployment/web").splitlines()
    assert [line.split()[0] for line in history[2:]] == ["1", "2"], history
    assert "blue" in kubectl("rollout", "history", "deployment/web", "--revision=2")
    (pod,) = kubectl.doc("pods", "-l", "app=web")["items"]
    assert pod["spec"]["containers"][0]["env"] == [{"name": "COLOUR", "value": "blue"}]

    kubectl("rollout", "undo", "deployment/web")
    assert ROLLED_OUT in kubectl("rollout", "status", "deployment/web", WITHIN)
    history = kubectl("rollout", "history", "deployment/web").splitlines()
    assert [line.split()[0] for line in history[2:]] == ["2", "3"], history

    kubectl("rollout", "restart", "deployment/web")
    assert ROLLED_OUT in kubectl("rollout", "status", "deployment/web", WITHIN)
    described = kubectl("describe", "deployment", "web")
    assert "NewReplicaSetAvailable" in described, described
    assert "Scaled up replica set web-" in described, described

    kubectl("delete", "deployment", "web", WITHIN)
    await until(lambda: kubectl("get", "all", "-o", "name") == "")


async def test_deletions_cascade_as_they_are_told(kubectl: Kubectl) -> None:
    for cascade in ("foreground", "background"):
        kubectl("create", "-f-", given=a_deployment(1))  # its pods need no time to end
        await until(lambda: kubectl("get", "pods", "-o", "name") != "")
        kubectl("delete", "deployment", "web", f"--cascade={cascade}", WITHIN)
        await until(lambda: kubectl("get", "all", "-o", "name") == "")
    kubectl("create", "deployment", "web", "--image=x:1", "--replicas=0")
    await until(lambda: kubectl("get", "replicasets", "-o", "name") != "")
    before = kubectl("get", "replicasets", "-o", "name")
    kubectl("delete", "deployment", "web", "--cascade=orphan", WITHIN)
    assert kubectl("get", "replicasets", "-o", "name") == before
    owners = kubectl("get", "replicasets", "-o", "jsonpath={.items[*].metadata.ownerReferences}")
    assert owners == ""


def test_a_deployment_cannot_scale_itself(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=x:1", "--replicas=0")
    said = kubectl.refused("autoscale", "deployment", "web", "--max=3", "--cpu-percent=50")
    assert (
        "Mooring does not serve horizontalpodautoscalers.autoscaling: use `kubectl scale`" in said
    )
