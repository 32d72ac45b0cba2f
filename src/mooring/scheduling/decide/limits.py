"""Whether a node has the CSI drivers of a pod, and how many volumes each can attach to it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import msgspec

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode, NodeDriver
from mooring.model.csi_translation.translate import translate, translate_inline
from mooring.model.keys import Key
from mooring.model.may_destroy import handle_of
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.volume import Volume
from mooring.scheduling.decide.contract import (
    Change,
    Opinion,
    Refused,
    Rule,
    is_new_node,
    is_own_claim,
)
from mooring.scheduling.decide.in_tree import disks_of, find_in_tree, find_plugin
from mooring.scheduling.view import NodeView, Picture, Storage

TOO_MANY = Refused(("node(s) exceed max volume count",), yields=True)


class Attached(msgspec.Struct, frozen=True):
    """A volume as a driver counts it. One that is not made yet goes by the name of its claim."""

    driver: str
    handle: str


class _Wanted(msgspec.Struct, frozen=True):
    """What the pod brings along."""

    claims: tuple[Key, ...]
    disks: tuple[PodVolume, ...]


def look_at(picture: Picture) -> Opinion:
    pod = picture.pod
    claims = tuple(pod.claim_keys())
    disks = tuple(disks_of(pod))
    if not (claims or disks):
        return None
    wanted = _Wanted(claims, disks)
    required = _required(picture.storage) if picture.release.checks_drivers else frozenset()
    if required:
        return partial(_check_drivers, picture.storage, wanted, required)
    return partial(_check, picture.storage, wanted)


def _required(storage: Storage) -> frozenset[str]:
    """The drivers that ask for no pod where they are not installed."""
    drivers = storage.drivers()
    return frozenset(one.name for one in drivers if one.spec.prevent_pod_scheduling_if_missing)


def _check_drivers(
    storage: Storage, wanted: _Wanted, required: frozenset[str], node: NodeView
) -> Refused | None:
    """A driver may be installed later."""
    missing = required.difference(driver.name for driver in _drivers(node.csi))
    if missing:
        new = _attached(storage, wanted.claims, wanted.disks, node.csi)
        if lacking := missing.intersection(volume.driver for volume in new):
            told = f"{min(lacking)} CSI driver is not installed on the node"
            return Refused((told,), yields=True)
    return _check(storage, wanted, node)


def _drivers(csi: CsiNode | None) -> Sequence[NodeDriver]:
    return (csi.spec.drivers or ()) if csi is not None else ()


def _check(storage: Storage, wanted: _Wanted, node: NodeView) -> Refused | None:
    limits = dict(_limits(node.csi))
    if not limits:
        return None
    new = set(_attached(storage, wanted.claims, wanted.disks, node.csi))
    if all(volume.driver not in limits for volume in new):
        return None
    present = set(_attached(storage, node.claims, node.disks, node.csi))
    present.update(_by_attachments(storage, node.attachments))
    counts = Counter(volume.driver for volume in present | new)
    drivers = {volume.driver for volume in new - present}
    exceeded = any(counts[driver] > limits[driver] for driver in drivers if driver in limits)
    return TOO_MANY if exceeded else None


def _limits(csi: CsiNode | None) -> Iterator[tuple[str, int]]:
    for driver in _drivers(csi):
        if driver.most_volumes is not None:
            yield driver.name, driver.most_volumes


def _attached(
    storage: Storage, claims: Iterable[Key], disks: Iterable[PodVolume], csi: CsiNode | None
) -> Iterator[Attached]:
    for key in claims:
        claim = storage.find_claim(key)
        if claim is not None and (volume := _of_claim(storage, claim, csi)) is not None:
            yield volume
    for disk in disks:
        if (taken_over := _taken_over(disk, csi)) is not None:
            yield taken_over


def _of_claim(storage: Storage, claim: Claim, csi: CsiNode | None) -> Attached | None:
    volume = storage.find_volume(claim.spec.volume_name) if claim.spec.volume_name else None
    if volume is None:
        return _to_be_made(storage, claim, csi)
    source = volume.spec.csi
    if source is not None:
        return Attached(source.driver, source.volume_handle)
    return _taken_over(volume, csi)


def _taken_over(volume: Volume | PodVolume, csi: CsiNode | None) -> Attached | None:
    known = find_in_tree(volume)
    if known is None or not known.is_counted(csi):
        return None
    if isinstance(volume, PodVolume):  # of these, the namespace is no part of the handle
        translated = translate_inline(volume, "")
    else:
        translated = translate(volume)
    source = None if translated is None else translated.spec.csi
    return None if source is None else Attached(source.driver, source.volume_handle)


def _to_be_made(storage: Storage, claim: Claim, csi: CsiNode | None) -> Attached | None:
    name = claim.storage_class
    storage_class = storage.find_class(name) if name else None
    if storage_class is None:
        return None
    if not storage_class.provisions:
        return _to_be_taken(storage, claim)
    known = find_plugin(storage_class.provisioner)
    if known is not None and not known.is_counted(csi):
        return None
    driver = storage_class.provisioner if known is None else known.driver
    return Attached(driver, f"claim {claim.key}")


def _to_be_taken(storage: Storage, claim: Claim) -> Attached | None:
    """A volume made by hand; which one is not known yet, but those of a class are of one driver."""
    free = storage.free_volumes(claim.storage_class, claim.requested)
    volume = next(iter(free), None)
    if volume is None or volume.spec.csi is None:
        return None
    return Attached(volume.spec.csi.driver, f"claim {claim.key}")


def _by_attachments(storage: Storage, attachments: Iterable[Attachment]) -> Iterator[Attached]:
    """Volumes may stay attached for a while after their pods have gone."""
    for attachment in attachments:
        volume = storage.find_volume(attachment.volume_name) if attachment.volume_name else None
        if volume is not None and attachment.spec.attacher and (handle := handle_of(volume)):
            yield Attached(attachment.spec.attacher, handle[1])


def is_woken(pod: Pod, change: Change) -> bool:
    """A node or driver came, or takes more volumes, or a volume has gone from a node."""
    match change:
        case Change(None, CsiNode()):
            return True
        case Change(CsiNode() as before, CsiNode() as after):
            known, now = dict(_limits(before)), dict(_limits(after))
            return (
                any(most > known.get(driver, 0) for driver, most in now.items())
                or any(driver not in now for driver in known)
                or not _names(after) <= _names(before)
            )
        case Change(CsiDriver() as before, after):  # it does not ask for it any more
            return bool(before.spec.prevent_pod_scheduling_if_missing) and not (
                isinstance(after, CsiDriver) and after.spec.prevent_pod_scheduling_if_missing
            )
        case Change(CsiNode() as before, None):  # and its limits with it
            return bool(dict(_limits(before)))
        case Change(Pod() as left, None):
            return left.is_scheduled and _has_volumes(left)
        case Change(Attachment(), None):
            return _has_volumes(pod)
        case Change(None, Claim()):
            return is_own_claim(pod, change)
        case _:
            return is_new_node(change)


def _names(csi: CsiNode) -> set[str]:
    return {driver.name for driver in _drivers(csi)}


def _has_volumes(pod: Pod) -> bool:
    return any(True for _ in pod.claim_names()) or any(True for _ in disks_of(pod))


RULE = Rule("NodeVolumeLimits", look_at, is_woken)
