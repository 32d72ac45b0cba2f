"""A driver that a node does not have: which pod should register it there."""

from typing import Any

from mooring.why.answer import Answer, Ref, State, Step
from mooring.why.explain import explain
from tests.unit.why.test_explain import WEB, pod, ready_node
from tests.unit.why.worlds import NOW, bound_claim, bound_volume, doc, whole_world

NAME = "disk.example"
DRIVER = Ref("CSIDriver", NAME)
PLUGIN: dict[str, Any] = {
    "containers": [{"name": "r", "image": "i", "args": [f"--path=/x/{NAME}/csi.sock"]}],
    "volumes": [{"name": "r", "hostPath": {"path": "/var/lib/kubelet/plugins_registry/"}}],
}
RUNS = {"containerStatuses": [{"name": "r", "state": {"running": {}}}]}


def plugin(status: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return doc("Pod", "plugin-x", "csi", spec={**PLUGIN, "nodeName": "n1", **spec}, status=status)


def daemon_set(**spec: Any) -> dict[str, Any]:
    return doc("DaemonSet", "plugin", "csi", spec={"template": {"spec": {**PLUGIN, **spec}}})


def of_pod(*docs: dict[str, Any]) -> Answer:
    csi = doc("CSINode", "n1", spec={"drivers": []})
    source = {"driver": NAME, "volumeHandle": "h"}
    mine = (bound_claim(), bound_volume(csi=source), pod(nodeName="n1"), csi)
    return explain(whole_world(*mine, *docs), WEB, NOW)


def of_driver(*docs: dict[str, Any]) -> Answer:
    return explain(whole_world(doc("CSIDriver", NAME, spec={}), *docs), DRIVER, NOW)


def test_a_node_plugin_that_does_not_run_is_named() -> None:
    answer = of_pod(ready_node(), plugin({}))
    assert "Pod csi/plugin-x, which is to register it, does not run" in answer.summary
    assert answer.fixes[0].command == "mooring why pod/plugin-x -n csi"


def test_a_node_plugin_that_runs_and_registers_nothing_is_started_anew() -> None:
    answer = of_pod(ready_node(), plugin(RUNS))
    assert answer.fixes[0].command == "kubectl delete pod plugin-x -n csi"


def test_a_taint_keeps_the_node_plugin_away() -> None:
    tainted = ready_node(taints=[{"key": "dedicated", "effect": "NoSchedule"}])
    answer = of_pod(tainted, daemon_set())
    assert "DaemonSet csi/plugin has no pod there" in answer.summary
    assert answer.fixes[0].command == "kubectl taint node n1 dedicated:NoSchedule-"


def test_a_label_is_missing_on_every_node() -> None:
    answer = of_driver(ready_node(), daemon_set(nodeSelector={"storage": "yes"}))
    assert "has no pod on any node" in answer.summary
    assert answer.fixes[0].command == "kubectl label node n1 storage=yes --overwrite"


def test_what_only_looks_like_its_node_plugin_is_not_taken_for_it() -> None:
    other = plugin({}, containers=[{"name": "r", "image": "i", "args": [f"/my{NAME}/csi.sock"]}])
    answer = of_pod(ready_node(), other)
    driver = next(link for link in answer.links if link.step is Step.DRIVER)
    assert (driver.state, "plugin-x" in driver.says) == (State.BROKEN, False)


def test_of_a_driver_of_which_nothing_is_seen_nothing_is_invented() -> None:
    assert "no CSINode names it" in of_driver(ready_node()).summary


NOWHERE = doc("CSINode", "n1", spec={"drivers": []})
REQUIRED = doc("CSIDriver", NAME, spec={"preventPodSchedulingIfMissing": True})
LET_THEM = (
    f"kubectl patch csidriver {NAME} --type=merge "
    """-p '{"spec":{"preventPodSchedulingIfMissing":false}}'"""
)


def of_waiting_pod(*docs: dict[str, Any]) -> Answer:
    """Whose driver takes no pod to a node that does not have it."""
    volume = bound_volume(csi={"driver": NAME, "volumeHandle": "h"})
    return explain(whole_world(bound_claim(), volume, pod(), NOWHERE, REQUIRED, *docs), WEB, NOW)


def test_a_pod_that_waits_for_a_required_driver_is_told_what_keeps_it_away() -> None:
    tainted = ready_node(taints=[{"key": "dedicated", "effect": "NoExecute"}])
    tolerant = pod(tolerations=[{"operator": "Exists"}])
    volume = bound_volume(csi={"driver": NAME, "volumeHandle": "h"})
    world = whole_world(bound_claim(), volume, tolerant, NOWHERE, REQUIRED, tainted, daemon_set())
    answer = explain(world, WEB, NOW)
    assert f"{NAME} CSI driver is not installed on the node" in answer.summary
    assert [fix.command for fix in answer.fixes] == [
        "kubectl taint node n1 dedicated:NoExecute-",
        LET_THEM,
    ]


def test_of_a_required_driver_of_which_nothing_is_seen_the_nodes_pods_are_shown() -> None:
    answer = of_waiting_pod(ready_node())
    assert [fix.command for fix in answer.fixes] == [
        "kubectl get pods -A -o wide --field-selector=spec.nodeName=n1",
        LET_THEM,
    ]
