"""How a node words which drivers it has, in its Node and in its CSINode. Pure.

A change is a merge patch; an empty one says that all is so already.
"""

import hashlib
from collections.abc import Mapping

import msgspec

from mooring.csi.requests import NodeInfo
from mooring.errors import MooringError
from mooring.model.csi_migration import DRIVERS
from mooring.model.csi_node import CsiNode, DriverAllocatable, NodeDriver
from mooring.model.document import Doc
from mooring.model.node import Node
from mooring.model.wellknown import Annotation

MOST_VOLUMES = (1 << 31) - 1

_LIMIT_PREFIX = "attachable-volumes-csi-"
_LONGEST_RESOURCE = 63
_OF_DRIVER, _OF_HASH = 23, 16  # characters of each that make up for a name that is too long


class Contradiction(MooringError):
    """What a driver says of this node does not go with what the Node says."""


def node_change(node: Node, driver: str, info: NodeInfo) -> Doc:
    """Labels for the driver's topology, and the name that it has for this node.

    Raises: Contradiction.
    """
    segments = {} if info.topology is None else info.topology.segments
    labels = node.metadata.labels
    for key, value in segments.items():
        if labels.get(key, value) != value:
            raise Contradiction(
                f'detected topology value collision: driver reported "{key}":"{value}" '
                f'but existing label is "{key}":"{labels[key]}"'
            )
    change: Doc = {}
    if missing := {key: value for key, value in segments.items() if key not in labels}:
        change["labels"] = missing
    ids = node_ids(node)
    if ids.get(driver) != info.node_id:
        change["annotations"] = _annotation({**ids, driver: info.node_id})
    return {"metadata": change} if change else {}


def node_removal(node: Node, driver: str) -> Doc:
    """Its labels stay: volumes may be bound to them. Raises: Contradiction."""
    ids = node_ids(node)
    if driver not in ids:
        return {}
    left = {name: one for name, one in ids.items() if name != driver}
    return {"metadata": {"annotations": _annotation(left)}}


def status_change(node: Node, driver: str) -> Doc:
    """Remove a driver's limit, which older kubelets wrote into the Node's status."""
    key = limit_key(driver)
    there = {"capacity": node.status.capacity, "allocatable": node.status.allocatable}
    return {field: {key: None} for field, amounts in there.items() if key in amounts}


def node_ids(node: Node) -> Mapping[str, str]:
    """The node ids by driver. Raises: Contradiction when the annotation cannot be parsed."""
    written = node.metadata.annotations.get(Annotation.NODE_ID, "")
    try:
        return msgspec.json.decode(written or "{}", type=dict[str, str] | None) or {}
    except msgspec.DecodeError as error:
        raise Contradiction(
            f'failed to parse node\'s "{Annotation.NODE_ID}" annotation value '
            f'("{written}") err={error}'
        ) from error


MIGRATED = ",".join(sorted(DRIVERS))
"""The in-tree plugins whose volumes this node takes for those of a CSI driver."""


def creation(node: Node) -> Doc:
    """A CSINode without drivers, which goes with its Node."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
    return {
        "metadata": {
            "name": node.name,
            "ownerReferences": [owner],
            "annotations": {Annotation.MIGRATED_PLUGINS: MIGRATED},
        },
        "spec": {"drivers": []},
    }


def migrated_change(csi_node: CsiNode) -> Doc:
    """The migrated plugins, if the CSINode of an earlier version names others."""
    if csi_node.metadata.annotations.get(Annotation.MIGRATED_PLUGINS) == MIGRATED:
        return {}
    return {"metadata": {"annotations": {Annotation.MIGRATED_PLUGINS: MIGRATED}}}


def is_owned_by(csi_node: CsiNode, node: Node) -> bool:
    """Else it is of an earlier Node of the same name."""
    return any(
        (owner.kind, owner.name, owner.uid) == ("Node", node.name, node.uid)
        for owner in csi_node.metadata.owner_references
    )


def entry(driver: str, info: NodeInfo) -> NodeDriver:
    keys = () if info.topology is None else tuple(sorted(info.topology.segments))
    most = min(info.max_volumes, MOST_VOLUMES)
    limit = DriverAllocatable(most) if most > 0 else None
    return NodeDriver(driver, info.node_id, keys or None, limit)


def must_be_replaced(known: NodeDriver | None, wanted: NodeDriver) -> bool:
    """Of an entry only the limit can be changed: what else is new needs another entry."""
    if known is None:
        return False
    then, now = set(known.topology_keys or ()), set(wanted.topology_keys or ())
    return known.node_id != wanted.node_id or then != now


def is_entered(csi_node: CsiNode, wanted: NodeDriver) -> bool:
    known = csi_node.find_driver(wanted.name)
    return (
        known is not None
        and not must_be_replaced(known, wanted)
        and known.most_volumes == wanted.most_volumes
    )


def drivers_with(csi_node: CsiNode, wanted: NodeDriver) -> Doc:
    return _drivers(*_others(csi_node, wanted.name), wanted)


def drivers_without(csi_node: CsiNode, driver: str) -> Doc:
    return _drivers(*_others(csi_node, driver))


def limit_key(driver: str) -> str:
    if len(_LIMIT_PREFIX) + len(driver) < _LONGEST_RESOURCE:
        return f"{_LIMIT_PREFIX}{driver}"
    digest = hashlib.sha1(driver.encode(), usedforsecurity=False).hexdigest()
    return f"{_LIMIT_PREFIX}{driver[:_OF_DRIVER]}{digest[:_OF_HASH]}"


def _others(csi_node: CsiNode, driver: str) -> tuple[NodeDriver, ...]:
    return tuple(one for one in csi_node.spec.drivers or () if one.name != driver)


def _drivers(*drivers: NodeDriver) -> Doc:
    return {"spec": {"drivers": msgspec.json.decode(msgspec.json.encode(drivers))}}


def _annotation(ids: Mapping[str, str]) -> Doc:
    text = msgspec.json.encode(ids, order="sorted").decode() if ids else None
    return {Annotation.NODE_ID: text}
