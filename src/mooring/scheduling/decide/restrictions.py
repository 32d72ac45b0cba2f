"""Volumes that only one may use: claims for one pod alone, and disks that old plugins attach."""

from collections.abc import Iterable
from functools import partial

from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_source import IscsiSource, RawSource
from mooring.scheduling.decide.contract import Change, Opinion, Refused, Rule, is_new_node
from mooring.scheduling.decide.in_tree import disks_of
from mooring.scheduling.view import NodeView, Picture

DISK_TAKEN = Refused(("node(s) had no available disk",), yields=True)
CLAIM_TAKEN = Refused(
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod",
    ),
    yields=True,
)


def look_at(picture: Picture) -> Opinion:
    pod, storage = picture.pod, picture.storage
    is_taken = False
    for name in pod.shared_claim_names():
        key = Key(pod.namespace, name)
        claim = storage.find_claim(key)
        if claim is None:
            return Refused((f'persistentvolumeclaim "{name}" not found',))
        if AccessMode.ONCE_POD in claim.spec.access_modes and storage.is_claim_used(key):
            is_taken = True
    disks = tuple(disks_of(pod))
    if not disks:
        return (lambda _: CLAIM_TAKEN) if is_taken else None
    return partial(_check, disks, CLAIM_TAKEN if is_taken else None)


def _check(disks: Iterable[PodVolume], otherwise: Refused | None, node: NodeView) -> Refused | None:
    return DISK_TAKEN if _collide(disks, node.disks) else otherwise


def _collide(disks: Iterable[PodVolume], present: Iterable[PodVolume]) -> bool:
    there = tuple(present)
    return any(_is_same_disk(disk, other) for disk in disks for other in there)


def _is_same_disk(one: PodVolume, other: PodVolume) -> bool:
    """The same disk, and not only read by both."""
    match one, other:
        case PodVolume(aws_elastic_block_store={} as a), PodVolume(aws_elastic_block_store={} as b):
            return bool(a.get("volumeID") == b.get("volumeID"))  # even if it is only read
        case PodVolume(gce_persistent_disk={} as a), PodVolume(gce_persistent_disk={} as b):
            return a.get("pdName") == b.get("pdName") and not _is_read_only(a, b)
        case PodVolume(iscsi=IscsiSource() as a), PodVolume(iscsi=IscsiSource() as b):
            return a.iqn == b.iqn and not (a.read_only and b.read_only)
        case PodVolume(rbd={} as a), PodVolume(rbd={} as b):
            return _image(a) == _image(b) and _share_monitor(a, b) and not _is_read_only(a, b)
        case _:
            return False


def _image(source: RawSource) -> tuple[str, str]:
    return source.get("pool", "rbd"), source.get("image", "")


def _share_monitor(one: RawSource, other: RawSource) -> bool:
    return not set(one.get("monitors", ())).isdisjoint(other.get("monitors", ()))


def _is_read_only(*sources: RawSource) -> bool:
    return all(source.get("readOnly", False) for source in sources)


def is_woken(pod: Pod, change: Change) -> bool:
    """The claim came, or a pod with the same claim or disk went, or there is a new node."""
    match change:
        case Change(None, Claim() as claim):
            return claim.namespace == pod.namespace and claim.name in pod.shared_claim_names()
        case Change(Pod() as left, None) if left.namespace == pod.namespace:
            shared = set(pod.shared_claim_names()).intersection(left.shared_claim_names())
            return bool(shared) or _collide(disks_of(pod), disks_of(left))
        case _:
            return is_new_node(change)


RULE = Rule("VolumeRestrictions", look_at, is_woken)
