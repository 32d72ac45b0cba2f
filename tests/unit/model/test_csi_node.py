"""CSINodes as controllers read them."""

from typing import Any

from mooring.model.csi_node import CsiNode, NodeDriver
from tests.unit.model.reading import read

DOCUMENT: dict[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSINode",
    "metadata": {
        "name": "n1",
        "annotations": {
            "storage.alpha.kubernetes.io/migrated-plugins": (
                "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"
            )
        },
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u-n1"}],
    },
    "spec": {
        "drivers": [
            {
                "name": "ebs.csi.example.com",
                "nodeID": "i-1",
                "topologyKeys": ["topology.kubernetes.io/zone"],
                "allocatable": {"count": 25},
            },
            {"name": "nfs.csi.example.com", "nodeID": "n1", "topologyKeys": None},
        ]
    },
}


def test_a_node_with_drivers() -> None:
    node = read(DOCUMENT, CsiNode)
    driver = node.find_driver("ebs.csi.example.com")
    assert driver is not None
    assert driver.node_id == "i-1"
    assert driver.topology_keys == ("topology.kubernetes.io/zone",)
    assert driver.most_volumes == 25
    assert node.find_driver("nfs.csi.example.com") == NodeDriver("nfs.csi.example.com", "n1")
    assert node.find_driver("other") is None
    assert node.migrated_plugins == {"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"}


def test_the_null_that_other_servers_send_for_no_drivers() -> None:
    node = read(DOCUMENT | {"metadata": {"name": "n1"}, "spec": {"drivers": None}}, CsiNode)
    assert node.find_driver("ebs.csi.example.com") is None
    assert node.migrated_plugins == frozenset()


def test_without_a_limit_none_is_known() -> None:
    assert NodeDriver("d", "n").most_volumes is None
