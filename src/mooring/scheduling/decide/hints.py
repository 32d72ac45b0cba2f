"""Queueing hints: which waiting pods something that happens may help.

A refused pod has interests, worked out once from the rules that refused it; a change has topics.
Only pods with an interest in one of its topics are looked at, and of those only the ones that pass
its test. Always true: a pod that fits after a change, and did not before, is among them.

What one volume or one node can give is *offered*: to one pod after the other, the most important
first, for as long as there is anything left of it. All else is told to all who are interested.
"""

from collections.abc import Iterable, Iterator

import msgspec

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.namespace import Namespace
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.scheduling.decide.claims import is_fully_bound
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.decide.in_tree import disks_of
from mooring.scheduling.decide.matching import ClaimShape, is_free, shape_of
from mooring.scheduling.decide.pod_affinity import is_pod_moved
from mooring.scheduling.decide.resources import has_shrunk
from mooring.scheduling.view import Storage

Topic = tuple[str, ...]

NEW_NODE: Topic = ("node", "new")
GONE_NODE: Topic = ("node", "gone")
LABELS: Topic = ("node", "labels")
TAINTS: Topic = ("node", "taints")
OPENED: Topic = ("node", "unschedulable")
ALLOCATABLE: Topic = ("node", "allocatable")
CSI_NODE: Topic = ("csi node",)
POD_LEFT: Topic = ("pod left",)
POD_MOVED: Topic = ("pod moved",)
DISK_LEFT: Topic = ("disk left",)
ATTACHMENT: Topic = ("attachment",)
NAMESPACE: Topic = ("namespace",)

_OF_NODES: dict[str, tuple[Topic, ...]] = {
    "NodeUnschedulable": (OPENED,),
    "NodeName": (),
    "TaintToleration": (TAINTS,),
    "NodeAffinity": (LABELS,),
    "NodePorts": (POD_LEFT,),
    "NodeResourcesFit": (ALLOCATABLE, POD_LEFT),
    "VolumeRestrictions": (DISK_LEFT,),
    "NodeVolumeLimits": (CSI_NODE, POD_LEFT, ATTACHMENT),
    "VolumeBinding": (LABELS, CSI_NODE),
    "VolumeZone": (LABELS,),
    "PodTopologySpread": (LABELS, TAINTS, GONE_NODE, POD_MOVED),
    "InterPodAffinity": (LABELS, GONE_NODE, POD_MOVED, NAMESPACE),
}
"""What may make a rule accept a node, beside a new one."""

_EVERYWHERE = frozenset({"VolumeRestrictions", "PodTopologySpread", "InterPodAffinity"})
"""Rules to which a change of one node may matter on another."""

_OF_CLAIMS = frozenset({"claim", "volume", "class"})
"""First words of the topics that say whether a claim has its volume, or is to wait for a pod."""

Group = ClaimShape | int | None
"""What pods of a topic have in common: the volume or the room (in billionths) that they lack."""


class Interest(msgspec.Struct, frozen=True):
    topic: Topic
    group: Group = None
    is_offered: bool = False


class Source(msgspec.Struct, frozen=True):
    """What is offered: a free volume, or a node."""

    kind: type[Node | Volume]
    name: str


def interests(pod: Pod, rules: frozenset[str], storage: Storage) -> frozenset[Interest]:
    """Of a pod that these rules refused; no rules: there was no node."""
    is_offered = bool(rules) and not rules & _EVERYWHERE
    found = {Interest(NEW_NODE, is_offered=is_offered)}
    for rule in rules:
        found.update(Interest(topic, is_offered=is_offered) for topic in _OF_NODES[rule])
    if "VolumeRestrictions" in rules:
        for name in pod.shared_claim_names():
            found.add(Interest(_claim(Key(pod.namespace, name))))
            found.add(Interest(("user of", pod.namespace, name)))
    if "NodeVolumeLimits" in rules:
        found.update(Interest(_claim(key)) for key in pod.claim_keys())
    if rules & {"VolumeBinding", "VolumeZone"}:
        for key in pod.claim_keys():
            found.update(_of_claim(key, storage))
    return frozenset(found)


def interests_in_claims(pod: Pod, storage: Storage) -> frozenset[Interest]:
    """Of a pod that fits nowhere for what its claims lack: all that can end it (`find_lack`)."""
    return frozenset(
        interest
        for key in pod.claim_keys()
        for interest in _of_claim(key, storage)
        if interest.topic[0] in _OF_CLAIMS
    )


def _of_claim(key: Key, storage: Storage) -> Iterator[Interest]:
    yield Interest(_claim(key))
    claim = storage.find_claim(key)
    if claim is None:
        return
    if claim.spec.volume_name:
        yield Interest(("volume", claim.spec.volume_name))
    if is_fully_bound(claim):
        return
    name = claim.storage_class
    yield Interest(("class", name))
    yield Interest(("room", name), claim.requested.nanos)
    yield Interest(("free", name), shape_of(claim), is_offered=True)
    storage_class = storage.find_class(name)
    if storage_class is not None:
        yield Interest(("driver", storage_class.provisioner))


def topics(change: Change) -> tuple[Topic, ...]:
    """What the interests of the pods are in that a change may help; empty: it helps nobody."""
    match change:
        case Change(_, Claim() as claim):
            return (_claim(claim.key),)
        case Change(_, StorageClass() as storage_class):
            return (("class", storage_class.name),)
        case Change(_, StorageCapacity() as room):
            return (("room", room.storage_class_name),)
        case Change(_, Namespace()):
            return (NAMESPACE,)
        case Change(Attachment(), None):
            return (ATTACHMENT,)
        case _:
            return tuple(_of_others(change))


def _of_others(change: Change) -> Iterable[Topic]:
    match change.after or change.before:
        case Volume():
            return _of_volume(change)
        case CsiDriver() as driver:
            return (("driver", driver.name),)
        case CsiNode():
            return (CSI_NODE,)
        case Node():
            return _of_node(change)
        case Pod():
            return _of_pod(change)
        case _:
            return ()


def _of_volume(change: Change) -> Iterator[Topic]:
    for volume in (change.before, change.after):
        if isinstance(volume, Volume) and volume.spec.claim_ref is not None:
            yield _claim(volume.spec.claim_ref.key)
    if isinstance(change.after, Volume):
        yield "volume", change.after.name
        if is_free(change.after):
            yield "free", change.after.storage_class


def _of_node(change: Change) -> Iterator[Topic]:
    before, after = change.before, change.after
    if not isinstance(after, Node):
        yield GONE_NODE
    elif not isinstance(before, Node):
        yield NEW_NODE
    else:
        if before.metadata.labels != after.metadata.labels:
            yield LABELS
        if before.spec.taints != after.spec.taints:
            yield TAINTS
        if before.spec.unschedulable and not after.spec.unschedulable:
            yield OPENED
        if before.status.allocatable != after.status.allocatable:
            yield ALLOCATABLE


def _of_pod(change: Change) -> Iterator[Topic]:
    before, after = change.before, change.after
    if is_pod_moved(change):
        yield POD_MOVED
    if not isinstance(before, Pod):
        return
    if isinstance(after, Pod):
        if after.is_finished or has_shrunk(before, after):
            yield POD_LEFT
        return
    yield POD_LEFT
    for name in before.shared_claim_names():
        yield "user of", before.namespace, name
    if any(True for _ in disks_of(before)):
        yield DISK_LEFT


def source_of(change: Change) -> Source | None:
    """What there is to be had after a change, if it is one volume's or one node's."""
    match change:
        case Change(_, Volume() as volume) if is_free(volume):
            return Source(Volume, volume.name)
        case Change(_, Node() as node):
            return Source(Node, node.name)
        case Change(Pod() as pod, _) if pod.spec.node_name:
            return Source(Node, pod.spec.node_name)
        case Change(Attachment() as attachment, None):
            return Source(Node, attachment.spec.node_name)
        case Change(_, CsiNode() as csi) | Change(CsiNode() as csi, None):
            return Source(Node, csi.name)
        case _:
            return None


def may_fit(group: Group, change: Change) -> bool:
    """Whether what the pods of a group lack is what has come."""
    match group, change.after:
        case ClaimShape() as shape, Volume() as volume:
            return shape.suits(volume)
        case int(wanted), StorageCapacity() as room:
            largest = room.largest_volume
            return largest is not None and largest.nanos >= wanted
        case _:
            return True


def _claim(key: Key) -> Topic:
    return "claim", key.namespace, key.name
