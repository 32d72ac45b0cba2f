"""Who makes room for whom."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.model.disruption_budget import DisruptionBudget
from mooring.model.keys import Key
from mooring.model.kubernetes_version import NEWEST, V1_35, V1_37, KubernetesVersion
from mooring.model.pod import Pod
from mooring.model.wire import read_document
from mooring.scheduling.decide.occupancy import without
from mooring.scheduling.decide.schedule import decide
from mooring.scheduling.plan import Assignment, Preemption, Unschedulable
from mooring.scheduling.view import NodeView, Picture
from tests.unit.scheduling.things import (
    Stored,
    a_node,
    a_pod,
    asking,
    picture_of,
    view_of,
)


def a_victim(
    name: str, priority: int = 0, cpu: str = "2", node: str = "n1", start: str = "", **labels: str
) -> Pod:
    pod = a_pod(name, node=node, containers=[asking(cpu)], priority=priority)
    metadata = replace(pod.metadata, labels=labels)
    status = replace(pod.status, start_time=start or None)
    return replace(pod, metadata=metadata, status=status)


def a_preemptor(cpu: str = "4", priority: int = 100, **spec: Any) -> Pod:
    return a_pod("vip", containers=[asking(cpu)], priority=priority, **spec)


def on_nodes(*pods: Pod) -> list[NodeView]:
    names = sorted({pod.spec.node_name for pod in pods})
    return [
        view_of(a_node(name), *(pod for pod in pods if pod.spec.node_name == name))
        for name in names
    ]


def a_budget(allowed: int, **status: Any) -> DisruptionBudget:
    doc = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": allowed, **status},
    }
    return read_document(doc, DisruptionBudget)


def verdict_of(
    pod: Pod,
    *pods: Pod,
    budgets: tuple[DisruptionBudget, ...] = (),
    release: KubernetesVersion = NEWEST,
) -> Unschedulable:
    picture = Picture(pod, on_nodes(*pods), Stored(), budgets, release)
    found = decide(picture)
    assert isinstance(found, Unschedulable)
    return found


def chosen(pod: Pod, *pods: Pod, budgets: tuple[DisruptionBudget, ...] = ()) -> tuple[str, ...]:
    """`node: victims`, or nothing."""
    found = verdict_of(pod, *pods, budgets=budgets).preemption
    return () if found is None else (found.node, *(victim.name for victim in found.victims))


EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"

CHOSEN: dict[str, tuple[Pod, tuple[Pod, ...], tuple[str, ...]]] = {
    "all that are in the way": (
        a_preemptor("4"),
        (a_victim("a"), a_victim("b")),
        ("n1", "a", "b"),
    ),
    "no more than needed, the more important one stays": (
        a_preemptor("2"),
        (a_victim("a", 10), a_victim("b", 5)),
        ("n1", "b"),
    ),
    "of equals the one that started last goes": (
        a_preemptor("2"),
        (a_victim("a", start=LATE), a_victim("b", start=EARLY)),
        ("n1", "a"),
    ),
    "nobody who is as important": (
        a_preemptor("4"),
        (a_victim("a"), a_victim("b", 100)),
        (),
    ),
    "the node with the least important victims": (
        a_preemptor("4"),
        (a_victim("a", 10, "4", "n1"), a_victim("b", 5, "4", "n2")),
        ("n2", "b"),
    ),
    "the node with fewer of them, if they are worth the same": (
        a_preemptor("4"),
        (a_victim("a"), a_victim("b"), a_victim("c", 0, "4", "n2")),
        ("n2", "c"),
    ),
    "the node whose victims started last": (
        a_preemptor("4"),
        (a_victim("a", 0, "4", "n1", EARLY), a_victim("b", 0, "4", "n2", LATE)),
        ("n2", "b"),
    ),
    "the first by name, all else equal": (
        a_preemptor("4"),
        (a_victim("a", 0, "4", "n2"), a_victim("b", 0, "4", "n1")),
        ("n1", "b"),
    ),
    "nobody for a pod that is too large even alone": (a_preemptor("5"), (a_victim("a"),), ()),
    "nobody for a pod that may not": (
        a_preemptor("4", preemptionPolicy="Never"),
        (a_victim("a"),),
        (),
    ),
}


@pytest.mark.parametrize(("pod", "pods", "wanted"), CHOSEN.values(), ids=CHOSEN)
def test_victims(pod: Pod, pods: tuple[Pod, ...], wanted: tuple[str, ...]) -> None:
    assert chosen(pod, *pods) == wanted


def test_a_budget_spares_its_pods_where_others_will_do() -> None:
    pods = (a_victim("a", 0, "2", app="web"), a_victim("b", 5, "2"))
    assert chosen(a_preemptor("2"), *pods) == ("n1", "a")
    assert chosen(a_preemptor("2"), *pods, budgets=(a_budget(0),)) == ("n1", "b")


def test_a_node_without_violations_is_preferred() -> None:
    pods = (a_victim("a", 0, "4", "n1", app="web"), a_victim("b", 50, "4", "n2"))
    assert chosen(a_preemptor("4"), *pods, budgets=(a_budget(0),)) == ("n2", "b")


def test_a_budget_does_not_protect_for_ever() -> None:
    pods = (a_victim("a", 0, "4", app="web"),)
    assert chosen(a_preemptor("4"), *pods, budgets=(a_budget(0),)) == ("n1", "a")


def test_an_eviction_that_was_granted_before_is_no_violation() -> None:
    pods = (a_victim("a", 0, "4", "n1", app="web"), a_victim("b", 50, "4", "n2"))
    granted = a_budget(0, disruptedPods={"a": EARLY})
    assert chosen(a_preemptor("4"), *pods, budgets=(granted,)) == ("n1", "a")


def ending(pod: Pod) -> Pod:
    metadata = replace(pod.metadata, deletion_timestamp=LATE)
    doc = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    status = read_document({"status": {"conditions": [doc]}}, Pod).status
    return replace(pod, metadata=metadata, status=status)


def test_who_waits_for_victims_takes_no_more_of_them() -> None:
    pod = a_preemptor("4")
    pod = replace(pod, status=replace(pod.status, nominated_node_name="n1"))
    found = verdict_of(pod, ending(a_victim("a", 0, "4")), a_victim("b", 0, "4", "n2"))
    assert found.preemption is None
    assert found.waits_for_victims
    assert found.message.endswith(
        "preemption: not eligible due to a terminating pod on the nominated node."
    )


def test_one_who_was_preempted_is_waited_for_only_where_it_helps() -> None:
    pod = a_preemptor("4")
    assert chosen(pod, ending(a_victim("a", 0, "4")), a_victim("b", 0, "4", "n2"))[0] == "n1"


@pytest.mark.parametrize(
    ("release", "told"),
    [
        (V1_35, ""),
        (
            V1_37,
            " preemption: found a potential placement for pod on node n1, preempting 1 victims",
        ),
    ],
    ids=str,
)
def test_what_is_said_where_others_make_room(release: KubernetesVersion, told: str) -> None:
    found = verdict_of(a_preemptor("4"), a_victim("a", 0, "4"), release=release)
    assert found.message == f"0/1 nodes are available: 1 Insufficient cpu.{told}"
    assert found.rules == {"NodeResourcesFit"}


@given(
    sizes=st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 120), st.integers(1, 3)), max_size=9
    ),
    cpu=st.integers(1, 4),
    allowed=st.integers(0, 2),
)
def test_the_law_of_preemption(sizes: list[tuple[int, int, int]], cpu: int, allowed: int) -> None:
    """Only less important pods of one node go; the pod fits then, and needs every one of them."""
    pod = a_preemptor(str(cpu))
    room = {f"n{number}": 4 for number in (1, 2, 3)}
    pods = []
    for index, (size, priority, node) in enumerate(sizes):
        name = f"n{node}"
        if room[name] >= size:
            room[name] -= size
            pods.append(a_victim(f"p{index}", priority, str(size), name, app="web"))
    views = [view_of(a_node(n), *(p for p in pods if p.spec.node_name == n)) for n in room]
    found = decide(Picture(pod, views, Stored(), (a_budget(allowed),)))
    if isinstance(found, Assignment):
        assert room[found.node] >= cpu
        return
    assert isinstance(found, Unschedulable)
    if found.preemption is None:
        for name in room:
            keeps = sum(
                int(p.spec.containers[0].resources.requests["cpu"])
                for p in pods
                if p.spec.node_name == name and p.spec.priority >= 100
            )
            assert 4 - keeps < cpu, "somebody could have made room"
        return
    check_minimal(found.preemption, pod, views)


def check_minimal(preemption: Preemption, pod: Pod, views: list[NodeView]) -> None:
    (node,) = (view for view in views if view.name == preemption.node)
    keys = {victim.key for victim in preemption.victims}
    assert all(victim.spec.priority < pod.spec.priority for victim in preemption.victims)
    assert fits(pod, without(node, keys))
    for key in keys:
        assert not fits(pod, without(node, keys - {key})), "one went in vain"


def fits(pod: Pod, node: NodeView) -> bool:
    return isinstance(decide(replace(picture_of(pod), nodes=(node,))), Assignment)


def test_a_node_without_some_pods() -> None:
    pods = (a_victim("a"), a_victim("b"))
    view = without(view_of(a_node(), *pods), {Key("default", "a")})
    assert view == view_of(a_node(), pods[1])
