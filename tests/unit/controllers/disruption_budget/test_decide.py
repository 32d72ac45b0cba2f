"""How many pods may be evicted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.controllers.disruption_budget.decide import decide, seconds_until_expiry
from mooring.controllers.disruption_budget.plan import SaveStatus
from mooring.controllers.disruption_budget.view import BudgetView
from mooring.model.disruption_budget import DisruptionBudget, DisruptionBudgetStatus
from mooring.model.pod import Pod
from mooring.model.steps import Emit
from mooring.model.timestamp import to_seconds
from mooring.model.wire import read_document

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def a_budget(disrupted: dict[str, str] | None = None, **spec: Any) -> DisruptionBudget:
    doc = {
        "metadata": {"name": "web", "namespace": "default", "generation": 2},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
        "status": {"disruptedPods": disrupted or {}},
    }
    return read_document(doc, DisruptionBudget)


def a_pod(name: str, owner: str = "rs", *, ready: bool = True, deleting: bool = False) -> Pod:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "labels": {"app": "web"}}
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    if deleting:
        metadata["deletionTimestamp"] = to_seconds(NOW)
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return read_document({"metadata": metadata, "status": {"conditions": conditions}}, Pod)


def pods(count: int, **body: Any) -> tuple[Pod, ...]:
    return tuple(a_pod(f"web-{number}", **body) for number in range(count))


def status_of(view: BudgetView) -> DisruptionBudgetStatus:
    for step in decide(view).steps:
        if isinstance(step, SaveStatus):
            return step.status
    return view.budget.status


# spec, pods, scale of their owner -> allowed, healthy, desired, expected
COUNTED: dict[str, tuple[dict[str, Any], tuple[Pod, ...], int, tuple[int, int, int, int]]] = {
    "as many as must stay": ({"minAvailable": 3}, pods(3), 3, (0, 3, 3, 3)),
    "one more than must stay": ({"minAvailable": 2}, pods(3), 3, (1, 3, 2, 3)),
    "fewer than must stay": ({"minAvailable": 5}, pods(3), 3, (0, 3, 5, 3)),
    "half of them, rounded up": ({"minAvailable": "50%"}, pods(3), 3, (1, 3, 2, 3)),
    "a third may be missing, rounded up": ({"maxUnavailable": "30%"}, pods(5), 5, (2, 5, 3, 5)),
    "nobody may be missing": ({"maxUnavailable": 0}, pods(3), 3, (0, 3, 3, 3)),
    "one may be missing, and one is": ({"maxUnavailable": 1}, pods(2), 3, (0, 2, 2, 3)),
    "pods that are not ready": ({"minAvailable": 1}, pods(3, ready=False), 3, (0, 0, 1, 3)),
    "pods that are ending": ({"minAvailable": 1}, pods(3, deleting=True), 3, (0, 0, 1, 3)),
    "no pods": ({"maxUnavailable": 1}, (), 3, (0, 0, 0, 0)),
    "more may be missing than there are": ({"maxUnavailable": 9}, pods(2), 2, (2, 2, 0, 2)),
    "no bound": ({}, pods(2), 2, (0, 2, 0, 0)),
}


@pytest.mark.parametrize(("spec", "seen", "scale", "wanted"), COUNTED.values(), ids=COUNTED)
def test_counts(
    spec: dict[str, Any], seen: tuple[Pod, ...], scale: int, wanted: tuple[int, int, int, int]
) -> None:
    status = status_of(BudgetView(a_budget(**spec), seen, {"rs": scale}, NOW))
    counted = (status.disruptions_allowed, status.current_healthy)
    assert (*counted, status.desired_healthy, status.expected_pods) == wanted
    (condition,) = status.conditions
    reason = ("True", "SufficientPods") if wanted[0] else ("False", "InsufficientPods")
    assert (condition.status, condition.reason) == reason
    assert status.observed_generation == 2


def test_pods_of_two_owners_are_added_up() -> None:
    seen = (*pods(2), *(a_pod(f"other-{number}", owner="sts") for number in range(2)))
    view = BudgetView(a_budget(minAvailable="50%"), seen, {"rs": 2, "sts": 4}, NOW)
    assert status_of(view).desired_healthy == 3


def test_an_owner_that_nobody_knows_allows_nothing() -> None:
    plan = decide(BudgetView(a_budget(maxUnavailable=1), pods(3), {}, NOW))
    (event,) = (step for step in plan.steps if isinstance(step, Emit))
    assert (event.reason, event.message) == (
        "CalculateExpectedPodCountFailed",
        'Failed to calculate the number of expected pods: found no controllers for pod "web-0"',
    )
    (saved,) = (step.status for step in plan.steps if isinstance(step, SaveStatus))
    (condition,) = saved.conditions
    assert saved.disruptions_allowed == 0
    assert (condition.status, condition.reason) == ("False", "SyncFailed")
    assert condition.message == 'found no controllers for pod "web-0"'


def test_pods_of_nobody_are_told() -> None:
    view = BudgetView(a_budget(maxUnavailable=1), pods(1, owner=""), {}, NOW)
    (event,) = (step for step in decide(view).steps if isinstance(step, Emit))
    assert event.reason == "UnmanagedPods"
    assert event.message.startswith(
        "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:"
        "map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found"
    )


def ago(seconds: float) -> str:
    return to_seconds(NOW - timedelta(seconds=seconds))


def test_a_granted_eviction_counts_as_done_for_two_minutes() -> None:
    granted = {"web-0": ago(30), "gone": ago(10)}
    view = BudgetView(a_budget(granted, minAvailable=1), pods(3), {}, NOW)
    status = status_of(view)
    assert (status.current_healthy, status.disruptions_allowed) == (2, 1)
    assert status.disrupted_pods == {"web-0": ago(30)}
    assert seconds_until_expiry(view) == 90


def test_one_that_was_not_carried_out_is_told_and_forgotten() -> None:
    view = BudgetView(a_budget({"web-0": ago(121)}, minAvailable=1), pods(3), {}, NOW)
    (event,) = (step for step in decide(view).steps if isinstance(step, Emit))
    assert event.reason == "NotDeleted"
    status = status_of(view)
    assert (status.current_healthy, status.disrupted_pods) == (3, {})


def test_what_is_counted_once_is_not_written_again() -> None:
    view = BudgetView(a_budget(minAvailable=1), pods(2), {}, NOW)
    budget = view.budget
    settled = type(budget)(metadata=budget.metadata, spec=budget.spec, status=status_of(view))
    assert decide(BudgetView(settled, pods(2), {}, NOW)).steps == ()


@given(
    bound=st.one_of(
        st.integers(0, 6).map(lambda n: {"minAvailable": n}),
        st.integers(0, 100).map(lambda n: {"minAvailable": f"{n}%"}),
        st.integers(0, 100).map(lambda n: {"maxUnavailable": f"{n}%"}),
        st.integers(0, 6).map(lambda n: {"maxUnavailable": n}),
    ),
    ready=st.lists(st.booleans(), max_size=6),
    granted=st.sets(st.integers(0, 5)),
)
def test_what_is_allowed_leaves_enough(
    bound: dict[str, Any], ready: list[bool], granted: set[int]
) -> None:
    seen = tuple(a_pod(f"web-{number}", ready=each) for number, each in enumerate(ready))
    budget = a_budget({f"web-{number}": ago(5) for number in granted}, **bound)
    status = status_of(BudgetView(budget, seen, {"rs": len(seen)}, NOW))
    left = sum(each for number, each in enumerate(ready) if number not in granted)
    assert status.disruptions_allowed >= 0
    if status.disruptions_allowed:
        assert left - status.disruptions_allowed >= status.desired_healthy
