"""Volumes labelled with a zone or a region can be used there, and on nodes without such labels."""

from collections.abc import Iterator
from functools import partial

import msgspec

from mooring.model.csi_translation import topology
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Label
from mooring.scheduling.decide.contract import (
    Change,
    Opinion,
    Refused,
    Rule,
    is_own_claim,
    is_relabelled,
)
from mooring.scheduling.view import NodeView, Picture, Storage

OTHER_ZONE = Refused(("node(s) had no available volume zone",))

_NEW_NAMES = {Label.ZONE_BETA: Label.ZONE, Label.REGION_BETA: Label.REGION}
_LABELS = (*_NEW_NAMES, Label.ZONE, Label.REGION)


class ZoneLabel(msgspec.Struct, frozen=True):
    """One label of a volume, and the values that a node may have for it."""

    label: str
    values: frozenset[str]


def look_at(picture: Picture) -> Opinion:
    pod, storage = picture.pod, picture.storage
    wanted: list[ZoneLabel] = []
    for name in pod.shared_claim_names():
        found = _labels_of(storage, Key(pod.namespace, name))
        if isinstance(found, Refused):
            return found
        wanted += found
    return partial(_check, tuple(wanted)) if wanted else None


def _labels_of(storage: Storage, key: Key) -> list[ZoneLabel] | Refused:
    claim = storage.find_claim(key)
    if claim is None:
        return Refused((f'persistentvolumeclaim "{key.name}" not found',))
    if not claim.spec.volume_name:
        return _unbound(storage, claim.storage_class)
    volume = storage.find_volume(claim.spec.volume_name)
    if volume is None:
        return Refused((f'persistentvolume "{claim.spec.volume_name}" not found',))
    return list(_zone_labels(volume))


def _unbound(storage: Storage, name: str) -> list[ZoneLabel] | Refused:
    """A volume that is yet to be chosen is chosen to suit the node."""
    if not name:
        return Refused(("PersistentVolumeClaim had no pv name and storageClass name",))
    storage_class = storage.find_class(name)
    if storage_class is None:
        return Refused((f'storageclass.storage.k8s.io "{name}" not found',))
    if storage_class.waits_for_consumer:
        return []
    return Refused(("PersistentVolume had no name",))


def _zone_labels(volume: Volume) -> Iterator[ZoneLabel]:
    for label in _LABELS:
        value = volume.metadata.labels.get(label)
        if value is None:
            continue
        values = frozenset(one.strip() for one in value.split(topology.MANY_ZONES))
        if "" not in values:  # else it cannot be understood, and does not count
            yield ZoneLabel(label, values)


def _check(wanted: tuple[ZoneLabel, ...], node: NodeView) -> Refused | None:
    labels = node.labels
    if not any(label in labels for label in _LABELS):
        return None  # a cluster of one zone need not say so
    for one in wanted:
        has = labels.get(one.label) or labels.get(_NEW_NAMES.get(one.label, one.label))
        if has not in one.values:
            return OTHER_ZONE
    return None


def is_woken(pod: Pod, change: Change) -> bool:
    """A claim was bound, a volume or a node came or moved, a class lets its claims wait."""
    match change:
        case Change(None, StorageClass() as new):
            return new.waits_for_consumer
        case Change(None, Volume()):
            return True
        case Change(Volume() as before, Volume() as after):
            return list(_zone_labels(before)) != list(_zone_labels(after))
        case _:
            return is_own_claim(pod, change) or is_relabelled(change)


RULE = Rule("VolumeZone", look_at, is_woken)
