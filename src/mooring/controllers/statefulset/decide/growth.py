"""Growing the claims of a stateful set whose templates ask for more storage (opt-in).

Always true:

- A claim is only ever asked to grow, and only to what its template asks for.
- A claim that is being deleted, that has another controller, or whose class does not allow
  expansion, is left alone; the condition `ClaimsGrown` says so.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from mooring.controllers.statefulset.plan import GrowClaim, Reason
from mooring.controllers.statefulset.view import StatefulSetView
from mooring.model.claim import Claim
from mooring.model.condition import Condition, find_condition
from mooring.model.pod import Pod
from mooring.model.quantity import parse
from mooring.model.stateful_set import StatefulSet
from mooring.model.storage_terms import STORAGE

CLAIMS_GROWN: Final = "ClaimsGrown"
_ERRORS: Final = ("ControllerResizeError", "NodeResizeError")


class Growth(msgspec.Struct, frozen=True):
    condition: Condition | None = None  # None: nothing to say
    steps: tuple[GrowClaim, ...] = ()


def decide_growth(view: StatefulSetView) -> Growth:
    if not view.set.grows_claims:
        return Growth()
    growing: list[str] = []
    refused: list[str] = []
    steps: list[GrowClaim] = []
    for claim, storage in _wanted(view):
        if claim.requested < parse(storage):
            if why := _obstacle(view, claim):
                refused.append(f"{claim.name} {why}")
                continue
            growing.append(claim.name)
            if claim.is_bound:
                steps.append(GrowClaim(view.set, claim, storage))
        elif claim.is_bound and claim.capacity < parse(storage):
            growing.append(claim.name + _trouble(claim))
    return Growth(_condition(view.set, growing, refused), tuple(steps))


def _condition(set_: StatefulSet, growing: list[str], refused: list[str]) -> Condition | None:
    if refused:
        message = f"Not grown: {', '.join(refused)}"
        return Condition(CLAIMS_GROWN, "False", Reason.REFUSED, message)
    if growing:
        message = f"Waiting for {', '.join(growing)}"
        return Condition(CLAIMS_GROWN, "False", Reason.GROWING, message)
    if find_condition(set_.status.conditions, CLAIMS_GROWN) is None:
        return None
    return Condition(
        CLAIMS_GROWN, "True", Reason.GROWN, "All claims have the storage of their templates"
    )


def _wanted(view: StatefulSetView) -> Iterator[tuple[Claim, str]]:
    """The claims of the wanted pods, and the storage that each should have."""
    set_ = view.set
    for template in set_.spec.volume_claim_templates:
        name = (template.get("metadata") or {}).get("name", "")
        resources = (template.get("spec") or {}).get("resources") or {}
        storage = (resources.get("requests") or {}).get(STORAGE)
        if storage is None:
            continue
        for ordinal in set_.ordinals:
            claim = view.claims.get(set_.claim_name(name, ordinal))
            if claim is not None and not claim.is_deleting:
                yield claim, storage


def _trouble(claim: Claim) -> str:
    """What the resize of a claim has met, in the words of its own conditions."""
    met = (find_condition(claim.status.conditions, kind) for kind in _ERRORS)
    said = [each.message for each in met if each is not None and each.is_true]
    return f" ({said[0]})" if said else ""


def _obstacle(view: StatefulSetView, claim: Claim) -> str:
    """Why a claim cannot be grown, empty if it can."""
    owner = claim.metadata.find_controller()
    own = {StatefulSet.resource.kind, Pod.resource.kind}
    if owner is not None and owner.kind not in own:
        return f"belongs to {owner.kind} {owner.name}"
    found = view.classes.get(claim.storage_class)
    if found is None:
        return f"has the class {claim.storage_class!r}, which there is not"
    if not found.allow_volume_expansion:
        return f"has the class {found.name}, which does not allow expansion"
    return ""
