"""A pod that others have to make room for: who goes, since when; or why nobody does."""

from typing import Any

from mooring.why.answer import Answer, Verdict
from mooring.why.explain import explain
from tests.unit.why.test_explain import WEB, pod, ready_node
from tests.unit.why.worlds import NOW, doc, whole_world

BIG = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]
TOLD = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "lastTransitionTime": "2026-05-01T11:59:00Z",
}


def low(metadata: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    spec = {"containers": BIG, "nodeName": "n1", "priority": 1}
    return doc("Pod", "low", "shop", spec=spec, status=status, metadata=metadata or {})


def answered(*docs: dict[str, Any], policy: str = "", **status: Any) -> Answer:
    high = pod(volumes=[], containers=BIG, priority=1000, preemptionPolicy=policy, status=status)
    return explain(whole_world(ready_node(), high, *docs), WEB, NOW)


def test_the_pods_that_end_for_it_are_named_with_their_time() -> None:
    ending = {"deletionTimestamp": "2026-05-01T12:09:00Z"}
    answer = answered(low(ending, conditions=[TOLD]), nominatedNodeName="n1")
    (link,) = answer.links
    assert "pod shop/low on node n1 were displaced for it" in link.says
    assert (link.since, link.until) == ("2026-05-01T11:59:00Z", "2026-05-01T12:09:00Z")
    assert (answer.verdict, link.who) == (Verdict.WAITING, "the kubelet of n1")
    assert answer.fixes[0].command.endswith("delete pod low -n shop --force --grace-period=0")


def test_the_pods_that_the_scheduler_would_displace_are_named_before_it_does() -> None:
    answer = answered(low())
    assert "is about to displace pod shop/low of lower priority on node n1" in answer.summary
    assert answer.verdict is Verdict.WAITING


def test_a_pod_that_may_never_displace_is_told_whom_to_delete() -> None:
    answer = answered(low(), policy="Never")
    assert "its preemptionPolicy is Never" in answer.summary
    assert [fix.command for fix in answer.fixes if "lower priority" in fix.what_it_does] == [
        "kubectl delete pod low -n shop"
    ]


def test_of_pods_without_priorities_nothing_is_said() -> None:
    equal = low()
    equal["spec"]["priority"] = 1000
    answer = answered(equal)
    assert "displace" not in answer.summary
    assert answer.verdict is Verdict.BROKEN


def test_without_any_node_there_is_a_command_that_makes_one() -> None:
    answer = explain(whole_world(pod(volumes=[])), WEB, NOW)
    assert [fix.command.split()[0] for fix in answer.fixes] == ["mooring", "kubeadm"]
