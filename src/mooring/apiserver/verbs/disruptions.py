"""What disruption budgets say about an eviction: pure functions on documents."""

from collections.abc import Iterable
from typing import Final

from mooring.apiserver.kinds.disruption_budget import GROUP
from mooring.apiserver.request.refusals import forbidden_as
from mooring.errors import Forbidden, TooManyRequests
from mooring.model.disruption_budget import DISRUPTION_ALLOWED, SYNC_FAILED
from mooring.model.document import Doc
from mooring.model.selector import from_document

VIOLATION: Final = "Cannot evict pod as it would violate the pod's disruption budget."
MOST_UNCONFIRMED = 2000
_CAUSE = "DisruptionBudget"
_OVER = ("Succeeded", "Failed", "Pending")


def may_ignore_budgets(pod: Doc) -> bool:
    """Of a pod that does not serve, or is ending anyway, nobody is deprived."""
    phase = pod.get("status", {}).get("phase")
    return phase in _OVER or "deletionTimestamp" in pod["metadata"]


def matching_budgets(budgets: Iterable[Doc], pod: Doc) -> list[Doc]:
    """`budgets` are those of the pod's namespace."""
    return [budget for budget in budgets if _covers(budget, pod)]


def _covers(budget: Doc, pod: Doc) -> bool:
    selector = budget.get("spec", {}).get("selector")
    if selector is None:
        return False
    try:
        return from_document(selector).matches(pod["metadata"].get("labels") or {})
    except ValueError:
        return False


def is_unhealthy_and_free(budget: Doc, pod: Doc) -> bool:
    """Whether a pod that is not ready may go without being charged to the budget."""
    conditions = pod.get("status", {}).get("conditions") or ()
    if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def charged(budget: Doc, pod: str, now: str) -> Doc:
    """The budget after one more eviction. Raises: TooManyRequests, Forbidden."""
    name, status = budget["metadata"]["name"], budget.get("status", {})
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise being_processed(name)
    if len(status.get("disruptedPods") or {}) > MOST_UNCONFIRMED:
        raise _unconfirmed(name)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        raise TooManyRequests(VIOLATION, causes=[_cause(_why_not(name, status))])
    conditions = list(status.get("conditions") or ())
    if allowed == 1:
        conditions = _insufficient(conditions, status.get("observedGeneration", 0), now)
    spent = {
        **status,
        "disruptionsAllowed": allowed - 1,
        "disruptedPods": {**(status.get("disruptedPods") or {}), pod: now},
        "conditions": conditions,
    }
    return {**budget, "status": spent}


def being_processed(name: str) -> TooManyRequests:
    cause = _cause(f"The disruption budget {name} is still being processed by the server.")
    return TooManyRequests(VIOLATION, causes=[cause], retry_after=10)


def _unconfirmed(name: str) -> Forbidden:
    why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
    refusal = forbidden_as(GROUP, "poddisruptionbudget", name, why)
    told = "too many pending evictions not confirmed by PDB controller"
    text = f"The disruption budget {name} does not allow evicting pods currently: {told}"
    refusal.details["causes"] = [_cause(text)]
    return refusal


def _cause(message: str) -> dict[str, str]:
    return {"reason": _CAUSE, "message": message}


def _why_not(name: str, status: Doc) -> str:
    conditions = status.get("conditions") or ()
    condition: Doc = next((c for c in conditions if c["type"] == DISRUPTION_ALLOWED), {})
    is_told = condition.get("status") == "False" and condition.get("message")
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    does_not = f"The disruption budget {name} does not allow evicting pods currently"
    if is_told and condition.get("reason") == SYNC_FAILED:
        return f"{does_not} because it failed sync: {condition['message']}"
    if healthy <= desired:
        needs = f"needs {desired} healthy pods and has {healthy} currently"
        return f"The disruption budget {name} {needs}"
    if is_told:
        return f"{does_not} ({condition['reason']}): {condition['message']}"
    return does_not


def _insufficient(conditions: list[Doc], generation: int, now: str) -> list[Doc]:
    told: Doc = {
        "type": DISRUPTION_ALLOWED,
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": generation,
        "lastTransitionTime": now,
    }
    return [*(each for each in conditions if each["type"] != DISRUPTION_ALLOWED), told]
