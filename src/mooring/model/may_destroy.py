"""Whether a volume may be deleted or detached: the cached objects compared with the live ones.

A controller that decides to delete or detach a volume reads caches, which may be behind. These
rules get the objects from the API server (`reconcile/live_gate.py` reads them) and return `Go` only
if everything that the decision depends on is unchanged.
"""

from collections.abc import Iterable, Mapping
from posixpath import normpath
from typing import TypeAlias

import msgspec

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_node import CsiNode
from mooring.model.csi_translation.translate import translate
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume, VolumePhase, VolumeSpec
from mooring.model.wellknown import Annotation


class Go(msgspec.Struct, frozen=True):
    """The live objects are as the cache had them."""

    saw: str  # for the log: what the permission is based on


class Stay(msgspec.Struct, frozen=True):
    """Call no plugin or driver; retry later."""

    because: str
    is_for_people: bool = False  # not just a stale cache: an administrator has to act


class Kept(msgspec.Struct, frozen=True):
    """The provisioned volume must not be deleted: an object uses it by now."""

    because: str
    is_left_behind: bool = False  # no object refers to it any more, and it may hold data


class Shared(msgspec.Struct, frozen=True):
    """Another attachment keeps the volume on the node: only remove this one's finalizer."""

    by: str


Verdict: TypeAlias = Go | Stay

Handle: TypeAlias = tuple[str, str]
"""A driver, and its volume handle."""


class VolumeOrder(msgspec.Struct, frozen=True):
    """The volume about to be deleted or recycled, and the conditions for that."""

    volume: Volume  # as in the cache
    policy: ReclaimPolicy  # the policy that asks for it
    phases: frozenset[VolumePhase]  # the phases in which it is allowed


def handle_of(volume: Volume) -> Handle | None:
    """None: no CSI driver serves it."""
    translated = translate(volume)
    csi = None if translated is None else translated.spec.csi
    return None if csi is None else (csi.driver, csi.volume_handle)


def may_destroy(
    order: VolumeOrder, live: Volume | None, claim: Claim | None, siblings: Iterable[Volume]
) -> Verdict:
    """Decide by live objects: the volume, the claim that has the name in its claimRef, and other
    volumes (`siblings`) that may have the same handle."""
    if live is None:
        return Stay("its object is gone")
    changed = _find_change(order, live)
    if changed:
        return Stay(changed)
    if claim is not None and _has(claim, live):
        return Stay(f"the claim {claim.key} has it")
    handle = handle_of(live)
    for other in siblings:
        is_same = handle is not None and other.uid != live.uid and handle_of(other) == handle
        if is_same and not _is_condemned(other):
            return Stay(
                f"persistentvolume {other.name} stands for the same volume and keeps it",
                is_for_people=True,
            )
    return Go(_told(live, claim))


def _find_change(order: VolumeOrder, live: Volume) -> str:
    """Which condition of the order no longer holds; empty: all hold."""
    seen = order.volume
    before, after = seen.spec.claim_ref, live.spec.claim_ref
    if live.uid != seen.uid:
        return "another object has its name"
    if live.spec.reclaim_policy is not order.policy:
        return f"its policy is {live.spec.reclaim_policy} now"
    if live.status.phase not in order.phases:
        return f"its phase is {live.status.phase} now"
    if after is None or not after.uid:
        return "no claim has left it: it is free, or reserved"
    if before is None or (before.key, before.uid) != (after.key, after.uid):
        return f"it is the volume of claim {after.key} ({after.uid}) now"
    if handle_of(live) != handle_of(seen):
        return "it stands for another volume now"
    return ""


def _has(claim: Claim, volume: Volume) -> bool:
    """Whether the claim with the name in the volume's claimRef is bound to the volume."""
    reference = volume.spec.claim_ref
    if reference is not None and claim.uid == reference.uid:
        return claim.spec.volume_name in {"", volume.name}
    return claim.is_bind_completed and claim.spec.volume_name == volume.name


def _is_condemned(volume: Volume) -> bool:
    """Whether it is to be deleted too: two such volumes must not wait for each other."""
    return volume.spec.reclaim_policy is ReclaimPolicy.DELETE and volume.is_released


def _told(live: Volume, claim: Claim | None) -> str:
    reference = live.spec.claim_ref
    whose = "" if reference is None else f"claimRef={reference.key}({reference.uid})"
    now = "gone" if claim is None else f"another ({claim.uid})"
    return (
        f"uid={live.uid} version={live.metadata.resource_version}"
        f" policy={live.spec.reclaim_policy} phase={live.status.phase} {whose} claim={now}"
        f" handle={handle_of(live)}"
    )


def may_delete_provisioned(
    handle: Handle, asked_for: Claim, live: Claim | None, volumes: Iterable[Volume]
) -> Go | Kept:
    """Whether to delete a volume that was provisioned for a claim and has no PersistentVolume.

    `asked_for` is the claim as in the cache, `live` the claim that has its name now, `volumes` are
    all live volumes.
    """
    named = "" if live is None or live.uid != asked_for.uid else live.spec.volume_name
    is_named_there = False
    for volume in volumes:
        if handle_of(volume) == handle or _is_migrated_for(volume, asked_for, handle[0]):
            return Kept(f"persistentvolume {volume.name} tells of it")
        is_named_there = is_named_there or volume.name == named
    if named and not is_named_there:
        missing = f"the claim is bound to persistentvolume {named}, which is gone"
        return Kept(f"{missing} and may have told of it", is_left_behind=True)
    now = "gone" if live is None else f"uid={live.uid} volumeName={named or 'none'}"
    return Go(f"no persistentvolume has handle={handle}, claim={now}")


def _is_migrated_for(volume: Volume, claim: Claim, driver: str) -> bool:
    """Whether an in-tree volume was made for the claim: its handle may be less than the driver's
    own, as that of a disk without its project."""
    reference, found = volume.spec.claim_ref, handle_of(volume)
    is_its_own = reference is not None and reference.uid == claim.uid
    return is_its_own and volume.spec.csi is None and found is not None and found[0] == driver


def may_delete_unsaved(made: Volume, volumes: Iterable[Volume]) -> Go | Kept:
    """Whether to delete what a plugin provisioned when its PersistentVolume could not be created.

    Only if no live volume has its name or its source.
    """
    for volume in volumes:
        if volume.name == made.name or _is_same_source(volume.spec, made.spec):
            return Kept(f"persistentvolume {volume.name} tells of it")
    return Go(f"no persistentvolume is called {made.name} or has its source")


def _is_same_source(one: VolumeSpec, other: VolumeSpec) -> bool:
    if one.host_path is not None and other.host_path is not None:
        return normpath(one.host_path.path) == normpath(other.host_path.path)
    return one.find_source() == other.find_source()


class DetachOrder(msgspec.Struct, frozen=True):
    """A volume is about to be detached from a node."""

    attachment: Attachment  # as in the cache
    driver: str
    finalizer: str
    handle: str
    node_id: str


def may_detach(
    order: DetachOrder, live: Attachment | None, siblings: Iterable[Attachment]
) -> Verdict | Shared:
    """Whether to detach for a deleted attachment; `siblings` are the live attachments that may be
    of the same volume on the same node."""
    changed = _find_change_of_attachment(order, live)
    if live is None or changed:
        return Stay(changed)
    if not live.is_deleting:
        return Stay("it is not deleted")
    for other in siblings:
        if other.uid != live.uid and not other.is_deleting and _is_recorded(order, other):
            return Shared(other.name)
    return Go(_attachment_told(live))


def may_move(
    order: DetachOrder, live: Attachment | None, csi_node: CsiNode | None, node_id: str
) -> Verdict:
    """Whether to detach under the old node id (in `order`) to attach again under `node_id`."""
    changed = _find_change_of_attachment(order, live)
    if live is None or changed:
        return Stay(changed)
    if live.is_deleting:
        return Stay("it is deleted")
    if live.is_attached and not order.attachment.is_attached:
        return Stay("it is attached")
    entry = csi_node.find_driver(order.driver) if csi_node else None
    if entry is None or entry.node_id != node_id:
        return Stay(f"the node is called {entry.node_id if entry else 'nothing'} now")
    return Go(f"{_attachment_told(live)} node={node_id}")


def _find_change_of_attachment(order: DetachOrder, live: Attachment | None) -> str:
    if live is None:
        return "its object is gone"
    if live.uid != order.attachment.uid:
        return "another object has its name"
    if live.spec != order.attachment.spec:
        return "it is about another volume, node or driver now"
    if order.finalizer not in live.metadata.finalizers:
        return "it is no longer held: somebody detached it"
    notes = live.metadata.annotations
    if _differs(notes, Annotation.NODE_ID_AT_ATTACH, order.node_id) or _differs(
        notes, Annotation.HANDLE_AT_ATTACH, order.handle
    ):
        return "what it was attached as is another now"
    return ""


def _differs(notes: Mapping[str, str], key: str, value: str) -> bool:
    return notes.get(key, value) != value


def _is_recorded(order: DetachOrder, other: Attachment) -> bool:
    """Whether `other` has recorded the same volume on the same node in its annotations: the volume
    is then detached when `other` is deleted."""
    notes = other.metadata.annotations
    return (
        other.spec.attacher == order.driver
        and order.finalizer in other.metadata.finalizers
        and notes.get(Annotation.NODE_ID_AT_ATTACH) == order.node_id
        and notes.get(Annotation.HANDLE_AT_ATTACH) == order.handle
    )


def _attachment_told(live: Attachment) -> str:
    notes = live.metadata.annotations
    return (
        f"uid={live.uid} version={live.metadata.resource_version} deleted={live.is_deleting}"
        f" attached={live.is_attached} recorded={notes.get(Annotation.HANDLE_AT_ATTACH)}"
        f"@{notes.get(Annotation.NODE_ID_AT_ATTACH)}"
    )
