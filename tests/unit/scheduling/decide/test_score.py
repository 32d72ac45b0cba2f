"""Of the nodes that will do, the best."""

import pytest

from mooring.model.pod import Pod
from mooring.scheduling.decide.requests import demand_of
from mooring.scheduling.decide.score import best_of, merits_of, room_left
from mooring.scheduling.view import NodeView
from tests.unit.scheduling.things import Doc, a_node, a_pod, asking, view_of


def on(name: str, *pods: Pod, cpu: str = "4", memory: str = "8Gi", **labels: str) -> NodeView:
    status = {"allocatable": {"cpu": cpu, "memory": memory, "pods": "110"}}
    return view_of(a_node(name, labels, status=status), *pods)


def disliking(name: str, *taints: str) -> NodeView:
    spec = {"taints": [{"key": key, "effect": "PreferNoSchedule"} for key in taints]}
    return view_of(a_node(name, spec=spec))


def liking(**weights: int) -> Pod:
    """A pod that would like nodes with these labels."""
    terms: list[Doc] = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": k, "operator": "Exists"}]}}
        for k, weight in weights.items()
    ]
    node_affinity = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
    return a_pod(affinity={"nodeAffinity": node_affinity})


def busy(cpu: str) -> Pod:
    return a_pod(f"busy-{cpu}", containers=[asking(cpu, "200Mi")])


CASES: dict[str, tuple[Pod, tuple[NodeView, ...], str]] = {
    "the only one": (a_pod(), (on("n1"),), "n1"),
    "equal ones: the first by name": (a_pod(), (on("n2"), on("n1")), "n1"),
    "the emptier one": (a_pod(), (on("n1", busy("2")), on("n2")), "n2"),
    "the larger one": (a_pod(), (on("n1"), on("n2", cpu="16", memory="32Gi")), "n2"),
    "the one that it would like": (liking(ssd=1), (on("n1"), on("n2", ssd="yes")), "n2"),
    "the one that it would like most": (
        liking(ssd=10, hdd=1),
        (on("n1", hdd="yes"), on("n2", ssd="yes")),
        "n2",
    ),
    "a wish outweighs room": (liking(ssd=1), (on("n1"), on("n2", busy("3"), ssd="yes")), "n2"),
    "a mild taint outweighs a wish": (
        liking(**{"kubernetes.io/hostname": 1}),
        (disliking("n1", "a"), on("n2", busy("3"))),
        "n2",
    ),
    "the fewer mild taints": (a_pod(), (disliking("n1", "a", "b"), disliking("n2", "a")), "n2"),
    "what rounds to the same goes to the fewer pods": (
        a_pod(),
        (
            on("n1", a_pod("a"), a_pod("b"), cpu="4000", memory="8000Gi"),
            on("n2", a_pod("c"), cpu="4000", memory="8000Gi"),
        ),
        "n2",
    ),
}


@pytest.mark.parametrize(("pod", "nodes", "then"), CASES.values(), ids=CASES)
def test_the_best(pod: Pod, nodes: tuple[NodeView, ...], then: str) -> None:
    assert best_of([(node, merits_of(pod, node)) for node in nodes]).name == then


def test_room_is_what_would_be_left() -> None:
    half = demand_of(a_pod(containers=[asking("2", "4Gi")]))
    assert room_left(half, on("n1")) == 50
    assert room_left(half, on("n1", busy("3"))) == 23  # cpu overbooked, memory at 47
    assert room_left(half, on("n1", cpu="0", memory="0")) == 0
