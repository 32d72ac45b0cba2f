"""How a node words which drivers it has."""

import json

import pytest

from mooring.csi.requests import NodeInfo
from mooring.csi.topology import Topology
from mooring.model.csi_node import CsiNode, CsiNodeSpec, DriverAllocatable, NodeDriver
from mooring.model.meta import ObjectMeta, OwnerReference
from mooring.model.node import Node, NodeStatus
from mooring.node.registration import documents
from mooring.node.registration.documents import Contradiction

IDS = "csi.volume.kubernetes.io/nodeid"
INFO = NodeInfo("i-1", 12, Topology({"zone": "a", "rack": "7"}))
D, OTHER = "d.example.com", NodeDriver("o.example.com", "o-1")


def a_node(annotation: str = "", **labels: str) -> Node:
    annotations = {IDS: annotation} if annotation else {}
    return Node(metadata=ObjectMeta(name="n1", uid="u1", labels=labels, annotations=annotations))


def a_csi_node(*drivers: NodeDriver, uid: str = "u1") -> CsiNode:
    owner = OwnerReference("v1", "Node", "n1", uid)
    return CsiNode(
        metadata=ObjectMeta(name="n1", owner_references=(owner,)), spec=CsiNodeSpec(drivers)
    )


# the Node


def test_a_driver_adds_labels_and_its_name_for_the_node() -> None:
    change = documents.node_change(a_node('{"o.example.com":"o-1"}', rack="7"), D, INFO)
    assert change["metadata"]["labels"] == {"zone": "a"}
    told = json.loads(change["metadata"]["annotations"][IDS])
    assert told == {D: "i-1", "o.example.com": "o-1"}


def test_what_is_there_is_not_written_again() -> None:
    node = a_node(f'{{"{D}":"i-1"}}', zone="a", rack="7")
    assert documents.node_change(node, D, INFO) == {}


def test_a_label_of_another_value_is_a_contradiction() -> None:
    with pytest.raises(Contradiction) as raised:
        documents.node_change(a_node(zone="b"), D, INFO)
    assert str(raised.value) == (
        'detected topology value collision: driver reported "zone":"a" '
        'but existing label is "zone":"b"'
    )


def test_an_annotation_that_makes_no_sense_is_left() -> None:
    with pytest.raises(Contradiction, match="failed to parse node's"):
        documents.node_change(a_node("[]"), D, INFO)


def test_a_driver_that_goes_leaves_its_labels() -> None:
    node = a_node(f'{{"{D}":"i-1","o.example.com":"o-1"}}', zone="a")
    change = documents.node_removal(node, D)
    assert change == {"metadata": {"annotations": {IDS: '{"o.example.com":"o-1"}'}}}
    alone = documents.node_removal(a_node(f'{{"{D}":"i-1"}}'), D)
    assert alone == {"metadata": {"annotations": {IDS: None}}}
    assert documents.node_removal(a_node(), D) == {}


def test_a_limit_of_old_goes() -> None:
    key = f"attachable-volumes-csi-{D}"
    node = Node(status=NodeStatus(capacity={key: "39"}, allocatable={key: "39", "cpu": "1"}))
    change = {"capacity": {key: None}, "allocatable": {key: None}}
    assert documents.status_change(node, D) == change
    assert documents.status_change(a_node(), D) == {}


LIMIT_KEYS = {
    "short": ("d.example.com", "attachable-volumes-csi-d.example.com"),
    "as long as it may be": ("x" * 39, f"attachable-volumes-csi-{'x' * 39}"),
    "too long": (
        "x" * 40,
        f"attachable-volumes-csi-{'x' * 23}47372a7b27569d25",
    ),
}


@pytest.mark.parametrize(("driver", "key"), LIMIT_KEYS.values(), ids=LIMIT_KEYS)
def test_limit_keys(driver: str, key: str) -> None:
    assert documents.limit_key(driver) == key


# the CSINode


def test_it_goes_with_its_node() -> None:
    made = documents.creation(a_node())
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1"}
    assert made == {
        "metadata": {
            "name": "n1",
            "ownerReferences": [owner],
            "annotations": {
                "storage.alpha.kubernetes.io/migrated-plugins": (
                    "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,"
                    "kubernetes.io/cinder,kubernetes.io/gce-pd,kubernetes.io/portworx-volume,"
                    "kubernetes.io/vsphere-volume"
                )
            },
        },
        "spec": {"drivers": []},
    }
    assert documents.is_owned_by(a_csi_node(), a_node())
    assert not documents.is_owned_by(a_csi_node(uid="u0"), a_node())


ENTRIES = {
    "with a limit and sorted keys": (
        INFO,
        NodeDriver(D, "i-1", ("rack", "zone"), DriverAllocatable(12)),
    ),
    "without either": (NodeInfo("i-1"), NodeDriver(D, "i-1")),
    "a limit that no number holds": (
        NodeInfo("i-1", 1 << 40),
        NodeDriver(D, "i-1", None, DriverAllocatable((1 << 31) - 1)),
    ),
}


@pytest.mark.parametrize(("info", "entry"), ENTRIES.values(), ids=ENTRIES)
def test_entries(info: NodeInfo, entry: NodeDriver) -> None:
    assert documents.entry(D, info) == entry


def test_a_driver_enters_beside_others_and_leaves_them() -> None:
    wanted = documents.entry(D, INFO)
    both = documents.drivers_with(a_csi_node(OTHER), wanted)
    assert both == {
        "spec": {
            "drivers": [
                {"name": "o.example.com", "nodeID": "o-1"},
                {
                    "name": D,
                    "nodeID": "i-1",
                    "topologyKeys": ["rack", "zone"],
                    "allocatable": {"count": 12},
                },
            ]
        }
    }
    left = documents.drivers_without(a_csi_node(wanted, OTHER), D)
    assert left == {"spec": {"drivers": [{"name": "o.example.com", "nodeID": "o-1"}]}}


KNOWN: dict[str, tuple[NodeDriver | None, bool, bool]] = {
    "the same": (NodeDriver(D, "i-1", ("zone", "rack"), DriverAllocatable(12)), True, False),
    "another limit": (NodeDriver(D, "i-1", ("rack", "zone")), False, False),
    "another name for the node": (
        NodeDriver(D, "i-0", ("rack", "zone"), DriverAllocatable(12)),
        False,
        True,
    ),
    "other keys": (NodeDriver(D, "i-1", ("zone",), DriverAllocatable(12)), False, True),
    "none": (None, False, False),
}


@pytest.mark.parametrize(("known", "is_entered", "is_replaced"), KNOWN.values(), ids=KNOWN)
def test_what_is_there(known: NodeDriver | None, *, is_entered: bool, is_replaced: bool) -> None:
    wanted = documents.entry(D, INFO)
    csi_node = a_csi_node(*(() if known is None else (known,)))
    assert documents.is_entered(csi_node, wanted) is is_entered
    assert documents.must_be_replaced(known, wanted) is is_replaced
