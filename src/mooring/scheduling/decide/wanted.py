"""Volumes and claims as they will be once they are meant for a pod's node."""

from typing import TypeVar

from msgspec.structs import replace

from mooring.model.claim import Claim
from mooring.model.reference import ClaimRef
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation

T = TypeVar("T", Claim, Volume)

YES = "yes"  # only the presence of the annotation counts


def is_pointing(volume: Volume, claim: Claim) -> bool:
    """At this very claim, not only at one of its name."""
    reference = volume.spec.claim_ref
    return reference is not None and (reference.key, reference.uid) == (claim.key, claim.uid)


def pointed_at(volume: Volume, claim: Claim) -> Volume:
    """The binder does the rest. A reservation that a user made stays the user's."""
    if is_pointing(volume, claim):
        return volume
    before = volume.spec.claim_ref
    pointing = replace(volume, spec=replace(volume.spec, claim_ref=ClaimRef.to(claim)))
    if before is not None and before.points_at(claim.key, claim.uid):
        return pointing
    return _annotated(pointing, Annotation.BOUND_BY_CONTROLLER, YES)


def meant_for(claim: Claim, node: str) -> Claim:
    """The claim with the selected node, for which the provisioner makes the volume."""
    if claim.selected_node == node:
        return claim
    return _annotated(claim, Annotation.SELECTED_NODE, node)


def _annotated(it: T, name: str, value: str) -> T:
    annotations = {**it.metadata.annotations, name: value}
    return replace(it, metadata=replace(it.metadata, annotations=annotations))
