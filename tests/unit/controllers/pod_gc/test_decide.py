"""Which pods are ended although no node says that they have ended."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.controllers.pod_gc.decide import decide, surplus
from mooring.controllers.pod_gc.plan import ForceDelete, Step, Tell
from mooring.controllers.pod_gc.view import Absence, PodView
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.wire import read_document

NOW = "2026-01-02T03:04:05Z"
DELETED: dict[str, Any] = {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30}
FORCED: dict[str, Any] = {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}


def a_node(ready: str = "True", *taints: str) -> Node:
    listed = [{"key": f"node.kubernetes.io/{taint}", "effect": "NoSchedule"} for taint in taints]
    return read_document(
        {
            "metadata": {"name": "n1"},
            "spec": {"taints": listed},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        },
        Node,
    )


def a_pod(phase: str = "Running", name: str = "web", reason: str = "", **metadata: Any) -> Pod:
    return read_document(
        {
            "metadata": {"name": name, "namespace": "ns", "uid": f"u-{name}", **metadata},
            "spec": {"nodeName": "n1"},
            "status": {"phase": phase, "reason": reason},
        },
        Pod,
    )


def a_view(
    pod: Pod, node: Node | None, absence: Absence = Absence.NONE, *, is_told: bool = False
) -> PodView:
    return PodView(pod, node, absence, is_told, NOW)


OUT = "out-of-service"
ENDED = {
    "it runs": (a_view(a_pod(), a_node()), ()),
    "deleted, and its node ends it": (a_view(a_pod(**DELETED), a_node()), ()),
    "deleted, its node is silent": (a_view(a_pod(**DELETED), a_node("Unknown")), (Tell,)),
    "deleted, its node is silent, and that was told": (
        a_view(a_pod(**DELETED), a_node("Unknown"), is_told=True),
        (),
    ),
    "deleted, its node is not ready but speaks": (
        a_view(a_pod(**DELETED), a_node("False")),
        (),
    ),
    "deleted, its node is out of service": (
        a_view(a_pod(**DELETED), a_node("Unknown", OUT)),
        (ForceDelete,),
    ),
    "out of service, but it is ready": (a_view(a_pod(**DELETED), a_node("True", OUT)), ()),
    "out of service, and not deleted": (a_view(a_pod(), a_node("Unknown", OUT)), ()),
    "deleted without a node": (a_view(a_pod(**DELETED), None), (ForceDelete,)),
    "without a node, and waiting for one": (a_view(a_pod("Pending"), None), ()),
    "its node is missing": (a_view(a_pod(), None, Absence.NEW), ()),
    "deleted, and its node is missing": (a_view(a_pod(**DELETED), None, Absence.NEW), ()),
    "its node is gone": (a_view(a_pod(), None, Absence.CONFIRMED), (ForceDelete,)),
    "finished, and its node is gone": (
        a_view(a_pod("Succeeded"), None, Absence.CONFIRMED),
        (ForceDelete,),
    ),
    "forced already, a finalizer holds it": (
        a_view(a_pod("Failed", **FORCED), None, Absence.CONFIRMED),
        (),
    ),
    "forced by somebody else, and never failed": (
        a_view(a_pod("Running", **FORCED), None, Absence.CONFIRMED),
        (ForceDelete,),
    ),
}


@pytest.mark.parametrize(("view", "then"), ENDED.values(), ids=ENDED)
def test_who_is_ended(view: PodView, then: tuple[type[Step], ...]) -> None:
    assert tuple(map(type, decide(view).steps)) == then


def test_an_orphan_says_why() -> None:
    (step,) = decide(a_view(a_pod(), None, Absence.CONFIRMED)).steps
    assert isinstance(step, ForceDelete)
    (target,) = step.conditions
    assert (target.type, target.status, target.reason, target.message) == (
        "DisruptionTarget",
        "True",
        "DeletionByPodGC",
        "PodGC: node no longer exists",
    )


def test_others_get_no_condition() -> None:
    (step,) = decide(a_view(a_pod(**DELETED), a_node("Unknown", OUT))).steps
    assert isinstance(step, ForceDelete)
    assert step.conditions == ()


def test_the_surplus_begins_with_evicted_pods_then_the_oldest() -> None:
    def born(hour: int) -> dict[str, str]:
        return {"creationTimestamp": f"2026-01-01T{hour:02}:00:00Z"}

    pods = [
        a_pod("Succeeded", "young", **born(9)),
        a_pod("Succeeded", "old", **born(1)),
        a_pod("Failed", "evicted", "Evicted", **born(8)),
        a_pod("Failed", "middle", **born(5)),
    ]
    assert [pod.name for pod in surplus(pods, 1)] == ["evicted", "old", "middle"]
    assert surplus(pods, 4) == ()


@given(st.integers(0, 20), st.integers(0, 20))
def test_after_it_there_are_as_many_as_allowed(count: int, limit: int) -> None:
    pods = [a_pod("Failed", f"p{number}") for number in range(count)]
    gone = surplus(pods, limit)
    assert len(gone) == max(0, count - limit)
    assert len({pod.name for pod in gone}) == len(gone)
