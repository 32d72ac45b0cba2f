"""How many pods of a budget may be evicted now.

Always true of a status:

- No more disruptions are allowed than there are healthy pods above those that must be.
- A pod whose eviction was granted is not healthy, until it is gone or two minutes have passed.
- What cannot be counted allows nothing, and the condition says why.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec.structs import replace

from mooring.controllers.disruption_budget.plan import Plan, SaveStatus, Step
from mooring.controllers.disruption_budget.view import DELETION_SECONDS, BudgetView, needs_scale
from mooring.controllers.owned_pods.readiness import is_ready
from mooring.model.condition import Condition, set_condition
from mooring.model.disruption_budget import (
    DISRUPTION_ALLOWED,
    SYNC_FAILED,
    DisruptionBudgetStatus,
)
from mooring.model.event import EventType
from mooring.model.pod import Pod
from mooring.model.selector import SelectorDocument
from mooring.model.steps import Emit, plan
from mooring.model.timestamp import to_seconds

_UNMANAGED = (
    "were found to be unmanaged. As a result, the status of the PDB cannot be calculated "
    "correctly, which may result in undefined behavior. To account for these pods please set "
    '".spec.minAvailable" field of the PDB to an integer value.'
)


def decide(view: BudgetView) -> Plan:
    budget = view.budget
    steps: list[Step] = []
    if not view.pods:
        steps.append(Emit(budget, EventType.NORMAL, "NoPods", "No matching pods found"))
    if (unknown := _find_unknown(view)) is not None:
        why = f'found no controllers for pod "{unknown.name}"'
        told = f"Failed to calculate the number of expected pods: {why}"
        event = Emit(budget, EventType.WARNING, "CalculateExpectedPodCountFailed", told)
        return plan(why, *steps, event, *_saved(view, _failed(view, why)))
    if needs_scale(budget) and any(p.metadata.find_controller() is None for p in view.pods):
        selector = _spelled(budget.spec.selector or SelectorDocument())
        told = f"Pods selected by this PodDisruptionBudget (selector: {selector}) {_UNMANAGED}"
        steps.append(Emit(budget, EventType.WARNING, "UnmanagedPods", told))
    steps += _not_deleted(view)
    return plan("its pods are counted", *steps, *_saved(view, _counted(view)))


def seconds_until_expiry(view: BudgetView) -> float | None:
    """When the next granted eviction counts as not done; None: none is under way."""
    ages = [_age(since, view.now) for since in _granted(view).values()]
    return min((DELETION_SECONDS - age for age in ages), default=None)


def _saved(view: BudgetView, status: DisruptionBudgetStatus) -> list[SaveStatus]:
    return [SaveStatus(view.budget, status)] if status != view.budget.status else []


def _failed(view: BudgetView, why: str) -> DisruptionBudgetStatus:
    status = view.budget.status
    condition = _condition(SYNC_FAILED, why, status.observed_generation, is_allowed=False)
    conditions = set_condition(status.conditions, condition, to_seconds(view.now))
    return replace(status, disruptions_allowed=0, conditions=conditions)


def _counted(view: BudgetView) -> DisruptionBudgetStatus:
    budget = view.budget
    granted = _granted(view)
    healthy = sum(
        is_ready(pod) and not pod.is_deleting and pod.name not in granted for pod in view.pods
    )
    expected, desired = _bounds(view)
    allowed = max(healthy - desired, 0) if expected > 0 else 0
    generation = budget.metadata.generation
    reason = "SufficientPods" if allowed else "InsufficientPods"
    condition = _condition(reason, "", generation, is_allowed=allowed > 0)
    return DisruptionBudgetStatus(
        observed_generation=generation,
        disrupted_pods=granted,
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        conditions=set_condition(budget.status.conditions, condition, to_seconds(view.now)),
    )


def _condition(reason: str, message: str, generation: int, *, is_allowed: bool) -> Condition:
    return Condition(
        DISRUPTION_ALLOWED,
        "True" if is_allowed else "False",
        reason,
        message,
        observed_generation=generation or None,
    )


def _bounds(view: BudgetView) -> tuple[int, int]:
    """How many pods there should be, and how many of them must be healthy."""
    spec = view.budget.spec
    if not needs_scale(view.budget):
        if isinstance(spec.min_available, int):
            return len(view.pods), spec.min_available
        return 0, 0  # no bound at all: nobody has counted, nothing is allowed
    owners = {owner.uid for pod in view.pods if (owner := pod.metadata.find_controller())}
    expected = sum(view.scales[uid] for uid in owners)
    if spec.max_unavailable is not None:
        return expected, max(expected - _share(spec.max_unavailable, expected), 0)
    return expected, _share(spec.min_available or 0, expected)


def _share(bound: int | str, whole: int) -> int:
    """A number as it is, a percentage rounded up."""
    if isinstance(bound, int):
        return bound
    return -(-int(bound.removesuffix("%")) * whole // 100)


def _find_unknown(view: BudgetView) -> Pod | None:
    """A pod whose owner wants nobody knows how many."""
    if not needs_scale(view.budget):
        return None
    for pod in view.pods:
        owner = pod.metadata.find_controller()
        if owner is not None and owner.uid not in view.scales:
            return pod
    return None


def _granted(view: BudgetView) -> Mapping[str, str | None]:
    """Evictions that are still to be seen."""
    return {
        pod.name: since
        for pod in view.pods
        if not pod.is_deleting
        and (since := view.budget.status.disrupted_pods.get(pod.name)) is not None
        and _age(since, view.now) <= DELETION_SECONDS
    }


def _not_deleted(view: BudgetView) -> Iterable[Emit]:
    budget = view.budget
    for pod in view.pods:
        since = budget.status.disrupted_pods.get(pod.name)
        if pod.is_deleting or since is None or _age(since, view.now) <= DELETION_SECONDS:
            continue
        told = f"Pod was expected by PDB {budget.key} to be deleted but it wasn't"
        yield Emit(pod, EventType.WARNING, "NotDeleted", told)


def _age(since: str | None, now: datetime) -> float:
    return (now - datetime.fromisoformat(since)).total_seconds() if since else 0.0


def _spelled(selector: SelectorDocument) -> str:
    """As programs in Go print it."""
    labels = "".join(
        f"{key}: {value}," for key, value in sorted((selector.match_labels or {}).items())
    )
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{each.key},Operator:{each.operator},"
        f"Values:[{' '.join(each.values)}],}},"
        for each in selector.match_expressions or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
