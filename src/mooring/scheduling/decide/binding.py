"""Volumes that a node can reach: bound ones, and for claims that waited, made by hand or to order.

The same look at the chosen node says what has to be written (`VolumeCheck.choose`).
"""

from collections.abc import Mapping

import msgspec

from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.scheduling.decide.capacity import has_grown, has_room
from mooring.scheduling.decide.claims import PodClaims, sort_claims
from mooring.scheduling.decide.contract import (
    Change,
    Opinion,
    Refused,
    Rule,
    is_own_claim,
    is_relabelled,
)
from mooring.scheduling.decide.explained import (
    NOT_REACHABLE,
    NOTHING_TO_BIND,
    out_of_reach,
    too_small,
)
from mooring.scheduling.decide.in_tree import is_reachable
from mooring.scheduling.decide.matching import Candidates, find_candidates
from mooring.scheduling.plan import PodVolumes, Reservation, Trouble
from mooring.scheduling.view import NodeView, Picture, Storage

NAME = "VolumeBinding"

NO_ROOM = "node(s) did not have enough free storage"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class _Latest(msgspec.Struct):
    """The node that was asked about last: one that passes is asked again, for its score."""

    node: NodeView | None = None
    found: PodVolumes | Refused = PodVolumes()


class VolumeCheck(msgspec.Struct, frozen=True):
    """What a pod needs of any node, worked out once."""

    storage: Storage
    claims: PodClaims
    candidates: tuple[Candidates, ...] = ()  # of claims without a node, small requests first
    selected: tuple[Claim, ...] = ()  # claims that have a node, and wait for a volume there
    hopeless: Mapping[Key, Refused] = {}  # claims for which nothing is ever made, and why
    latest: _Latest = msgspec.field(default_factory=_Latest)

    def __call__(self, node: NodeView) -> Refused | None:
        found = self.choose(node)
        return found if isinstance(found, Refused) else None

    def choose(self, node: NodeView) -> PodVolumes | Refused:
        """What becomes of the claims if the pod goes to this node."""
        latest = self.latest
        if latest.node is not node:
            latest.found, latest.node = self._look_at(node), node
        return latest.found

    def _look_at(self, node: NodeView) -> PodVolumes | Refused:
        why_not = _judge_bound(self, node)
        chosen = _satisfy(self, node) if self.claims.waiting else PodVolumes()
        if not why_not:
            return chosen
        others = chosen.reasons if isinstance(chosen, Refused) else ()
        return Refused(tuple(sorted((why_not, *others), key=_rank)))


def look_at(picture: Picture) -> Opinion:
    storage, pod = picture.storage, picture.pod
    claims = sort_claims(storage, pod)
    if isinstance(claims, Refused):
        return claims
    if not (claims.bound or claims.waiting):
        return None
    searching = [claim for claim in claims.waiting if not _has_node(claim)]
    searching.sort(key=lambda claim: claim.requested.nanos)
    candidates: list[Candidates] = []
    for claim in searching:
        try:
            candidates.append(find_candidates(storage, claim))
        except ValueError as error:
            why = f"error creating internal label selector for claim: {claim.key}: {error}"
            return Trouble(f'running "{NAME}" filter plugin: {why}')
    return VolumeCheck(
        storage,
        claims,
        tuple(candidates),
        tuple(claim for claim in claims.waiting if _has_node(claim)),
        {
            each.claim.key: Refused((too_small(each.claim, each.too_small),))
            for each in candidates
            if not _is_provisioned(storage.find_class(each.claim.storage_class))
        },
    )


_REASONS = (NOT_REACHABLE, NOTHING_TO_BIND, NO_ROOM, NO_VOLUME)  # shown in this order


def _rank(reason: str) -> int:
    return next(place for place, known in enumerate(_REASONS) if reason.startswith(known))


def _judge_bound(check: VolumeCheck, node: NodeView) -> str:
    """Why the node cannot have a bound volume; empty: it can have all."""
    for claim in check.claims.bound:
        volume = check.storage.find_volume(claim.spec.volume_name)
        if volume is None:
            return NO_VOLUME
        if not is_reachable(volume, node.labels, node.csi):
            return out_of_reach(volume)
    return ""


def _satisfy(check: VolumeCheck, node: NodeView) -> PodVolumes | Refused:
    """Volumes for all claims that wait, or why there are not."""
    if any(claim.selected_node != node.name for claim in check.selected):
        return Refused((NOTHING_TO_BIND,))
    provisions = list(check.selected)
    taken: dict[str, Reservation] = {}
    largest: dict[Key, Volume | None] = {}  # of those too small for it
    hopeless: Refused | None = None
    for candidates in check.candidates:
        volume = _first(candidates, node, taken)
        if volume is not None:
            taken[volume.name] = Reservation(volume, candidates.claim)
            continue
        provisions.append(candidates.claim)
        largest[candidates.claim.key] = candidates.too_small
        hopeless = hopeless or check.hopeless.get(candidates.claim.key)
    if hopeless is not None and not check.selected and len(check.candidates) == 1:
        return hopeless
    for claim in provisions:
        if why := _cannot_provision(check.storage, claim, node):
            told = too_small(claim, largest.get(claim.key)) if why == NOTHING_TO_BIND else why
            return Refused((told,))
    return PodVolumes(tuple(taken.values()), tuple(provisions))


def _first(
    candidates: Candidates, node: NodeView, taken: Mapping[str, Reservation]
) -> Volume | None:
    """A claim whose volume was chosen for it has no other, even if that one is out of reach."""
    if candidates.reserved is not None:
        reserved = candidates.reserved
        return reserved if _reaches(node, reserved) else None
    if candidates.free is None:
        return None
    for volume in candidates.free.seen_from(node.labels):
        if volume.name not in taken and _reaches(node, volume):
            return volume
    return None


def _reaches(node: NodeView, volume: Volume) -> bool:
    return is_reachable(volume, node.labels, None)


def _cannot_provision(storage: Storage, claim: Claim, node: NodeView) -> str:
    storage_class = storage.find_class(claim.storage_class)
    if storage_class is None or not _is_provisioned(storage_class):
        return NOTHING_TO_BIND
    if not _is_allowed(storage_class, node.labels):
        return NOTHING_TO_BIND
    return "" if has_room(storage, claim, storage_class, node) else NO_ROOM


def _is_provisioned(storage_class: StorageClass | None) -> bool:
    return bool(storage_class and storage_class.provisioner and storage_class.provisions)


def _is_allowed(storage_class: StorageClass, labels: Mapping[str, str]) -> bool:
    """No terms: everywhere. A term that asks for nothing allows nothing."""
    terms = storage_class.allowed_topologies
    return not terms or any(
        term.match_label_expressions
        and all(labels.get(wanted.key) in wanted.values for wanted in term.match_label_expressions)
        for term in terms
    )


def _has_node(claim: Claim) -> bool:
    return Annotation.SELECTED_NODE in claim.metadata.annotations


def is_woken(pod: Pod, change: Change) -> bool:
    """A claim of the pod, a volume, a class, a node or the room of a driver changed."""
    match change:
        case Change(_, Volume()) | Change(None, StorageClass() | CsiNode() | StorageCapacity()):
            return True
        case Change(Volume() as before, None):  # a claim that it was kept for may have another
            return before.spec.claim_ref is not None
        case Change(StorageClass() as before, StorageClass() as after):
            return before.allowed_topologies != after.allowed_topologies
        case Change(CsiNode() as before, CsiNode() as after):
            return before.migrated_plugins != after.migrated_plugins
        case Change(CsiDriver() as before, CsiDriver() as after):
            return before.spec.storage_capacity and not after.spec.storage_capacity
        case Change(CsiDriver() as before, None):  # its capacity is not checked any more
            return before.spec.storage_capacity
        case Change(StorageCapacity() as before, StorageCapacity() as after):
            return has_grown(before, after)
        case _:
            return is_own_claim(pod, change) or is_relabelled(change)


RULE = Rule(NAME, look_at, is_woken)
