"""The claims of one pod of a stateful set: their names, their content, who they are deleted with.

Always true:

- No step deletes a claim. It goes with the owner that it names, by garbage collection.
- A claim that another controller owns, or that names a former pod or set of the same name, is left
  as it is; references to this set or its pod are taken off the former.
- Other owners, which are no controllers, stay.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from mooring.controllers.owned_pods.ownership import reference_of
from mooring.controllers.statefulset.plan import CreateClaim, Reason, SetClaimOwners, Step
from mooring.controllers.statefulset.view import StatefulSetView
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.meta import ApiObject, OwnerReference
from mooring.model.pod import Pod
from mooring.model.stateful_set import ClaimRetention, StatefulSet
from mooring.model.steps import Emit

_KEPT: Final = ("labels", "annotations")


def claim_names(set_: StatefulSet, ordinal: int) -> dict[str, str]:
    """The claims of a pod, by the name of their template."""
    return {
        name: set_.claim_name(name, ordinal)
        for template in set_.spec.volume_claim_templates
        if (name := (template.get("metadata") or {}).get("name", ""))
    }


def claim_document(set_: StatefulSet, template: Doc, ordinal: int) -> Doc:
    given = template.get("metadata") or {}
    labels = {**(given.get("labels") or {}), **(set_.spec.selector.match_labels or {})}
    metadata: Doc = {
        "name": set_.claim_name(given.get("name", ""), ordinal),
        "namespace": set_.namespace,
        **{field: dict(given[field]) for field in _KEPT if given.get(field)},
    }
    if labels:
        metadata["labels"] = labels
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": dict(template.get("spec") or {}),
    }


def missing_claims(view: StatefulSetView, ordinal: int) -> list[Step]:
    """What makes the claims that a pod has not yet."""
    set_ = view.set
    documents = (
        claim_document(set_, dict(template), ordinal)
        for template in set_.spec.volume_claim_templates
    )
    return [
        CreateClaim(set_, set_.pod_name(ordinal), document)
        for document in documents
        if document["metadata"]["name"] not in view.claims
    ]


def deleting_claims(view: StatefulSetView, ordinal: int) -> list[str]:
    """The claims of a pod that are on their way out: it has to wait until they are gone."""
    names = claim_names(view.set, ordinal).values()
    return [name for name in names if name in view.claims and view.claims[name].is_deleting]


def former_claims(view: StatefulSetView, ordinal: int) -> list[str]:
    """The claims of a pod that go with a former one of its name; it does not exist yet."""
    if view.set.spec.retention.when_scaled is ClaimRetention.RETAIN:
        return []
    pod_name = view.set.pod_name(ordinal)
    return [
        claim.name
        for claim in _claims(view, ordinal)
        if any(_names(owner, Pod, pod_name) for owner in claim.metadata.owner_references)
    ]


def settle_owners(view: StatefulSetView, ordinal: int, pod: Pod) -> list[Step]:
    """What makes the claims of a pod be deleted when the retention policy says so."""
    wanted: list[Step] = []
    for claim in _claims(view, ordinal):
        owners = claim.metadata.owner_references
        if _is_former(owners, view.set, pod):
            continue
        mine = (view.set.uid, pod.uid)
        others = tuple(owner for owner in owners if owner.uid not in mine)
        if _is_anothers(view.set, others):
            if len(others) < len(owners):
                wanted.append(_conflict(view.set, claim))
                wanted.append(SetClaimOwners(view.set, claim, _documents(others)))
            continue
        owner = _owner_wanted(view.set, ordinal, pod)
        after = (*_documents(others), *([reference_of(owner)] if owner is not None else []))
        before = _documents(owners)
        if len(after) != len(before) or any(each not in after for each in before):
            wanted.append(SetClaimOwners(view.set, claim, after))
    return wanted


def conflicts(view: StatefulSetView, ordinal: int, pod: Pod) -> list[Step]:
    """Events about claims for which the retention policy has no effect."""
    mine = (view.set.uid, pod.uid)
    return [
        _conflict(view.set, claim)
        for claim in _claims(view, ordinal)
        if _is_anothers(
            view.set,
            tuple(owner for owner in claim.metadata.owner_references if owner.uid not in mine),
        )
    ]


def _conflict(set_: StatefulSet, claim: Claim) -> Emit:
    return Emit(
        set_,
        EventType.WARNING,
        Reason.CONFLICTING_CONTROLLER,
        f"PersistentVolumeClaim {claim.name} has a conflicting OwnerReference that acts as a "
        "manging controller, the retention policy is ignored for this claim",
    )


def _claims(view: StatefulSetView, ordinal: int) -> Iterator[Claim]:
    for name in claim_names(view.set, ordinal).values():
        if (claim := view.claims.get(name)) is not None:
            yield claim


def _owner_wanted(set_: StatefulSet, ordinal: int, pod: Pod) -> ApiObject | None:
    """Whom the claim goes with: the pod when it is scaled away, the set, or nobody."""
    policy = set_.spec.retention
    if policy.when_scaled is ClaimRetention.DELETE and ordinal not in set_.ordinals:
        return pod
    return set_ if policy.when_deleted is ClaimRetention.DELETE else None


def _is_anothers(set_: StatefulSet, others: tuple[OwnerReference, ...]) -> bool:
    """Whether a policy that deletes meets a claim that another controller has."""
    policy = set_.spec.retention
    deletes = ClaimRetention.DELETE in {policy.when_scaled, policy.when_deleted}
    return deletes and any(owner.controller for owner in others)


def _is_former(owners: tuple[OwnerReference, ...], set_: StatefulSet, pod: Pod) -> bool:
    """Whether it names an earlier set or pod of the same name: then it is not touched."""
    return any(
        _names(owner, type(each), each.name) and owner.uid != each.uid
        for owner in owners
        for each in (set_, pod)
    )


def _names(owner: OwnerReference, kind: type[ApiObject], name: str) -> bool:
    resource = kind.resource
    return (owner.api_version, owner.kind, owner.name) == (
        resource.api_version,
        resource.kind,
        name,
    )


def _documents(owners: tuple[OwnerReference, ...]) -> tuple[Doc, ...]:
    documents: list[dict[str, Any]] = [msgspec.to_builtins(owner) for owner in owners]
    return tuple(documents)
