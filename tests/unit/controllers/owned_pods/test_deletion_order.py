"""Which of too many pods go first."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.controllers.owned_pods.deletion_order import in_deletion_order
from mooring.model.pod import Pod
from tests.unit.controllers.owned_pods.some_pods import NOW, a_pod

COST = "controller.kubernetes.io/pod-deletion-cost"


def costing(name: str, cost: str, **more: bool) -> Pod:
    return a_pod(name, annotations={COST: cost}, **more)  # type: ignore[arg-type]


TABLE: dict[str, tuple[list[Pod], Mapping[str, int]]] = {
    "without a node": ([a_pod("b", node="", ready=True), a_pod("a", ready=False)], {}),
    "pending, then unknown, then running": (
        [
            a_pod("c", phase="Pending"),
            a_pod("b", phase="Unknown"),
            a_pod("a", phase="Running", ready=False),
        ],
        {},
    ),
    "not ready": ([a_pod("b", ready=False), a_pod("a")], {}),
    "of a lower deletion cost": ([costing("c", "-5"), a_pod("b"), costing("a", "7")], {}),
    "a cost that is no number counts as none": ([costing("a", "dear"), a_pod("b")], {}),
    "not ready before cheap": ([costing("b", "9", ready=False), costing("a", "1")], {}),
    "from the node with most of them": (
        [a_pod("b", node="n2"), a_pod("a", node="n1")],
        {"n1": 1, "n2": 2},
    ),
    "ready for a much shorter time": (
        [a_pod("b", since="2026-01-02T03:04:00Z"), a_pod("a", since="2026-01-02T03:00:00Z")],
        {},
    ),
    "by chance when ready for about the same time": (
        [a_pod("a", since="2026-01-02T03:00:00Z"), a_pod("b", since="2026-01-02T03:00:10Z")],
        {},
    ),
    "restarted more often": ([a_pod("b", restarts=3), a_pod("a", restarts=1)], {}),
    "created much later": (
        [
            a_pod("b", creationTimestamp="2026-01-02T03:04:00Z"),
            a_pod("a", creationTimestamp="2026-01-02T02:00:00Z"),
        ],
        {},
    ),
}


@pytest.mark.parametrize(("pods", "on_node"), TABLE.values(), ids=TABLE)
def test_goes_first(pods: list[Pod], on_node: Mapping[str, int]) -> None:
    names = [pod.name for pod in pods]
    assert [pod.name for pod in in_deletion_order(reversed(pods), on_node, NOW)] == names


@given(
    st.permutations(
        [a_pod(name, restarts=restarts) for name, restarts in zip("abc", (0, 1, 1), strict=True)]
    )
)
def test_the_order_does_not_depend_on_that_of_the_cache(pods: list[Pod]) -> None:
    assert [pod.name for pod in in_deletion_order(pods, {}, NOW)] == ["b", "c", "a"]
