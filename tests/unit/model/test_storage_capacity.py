"""CSIStorageCapacities as the scheduler reads them."""

from typing import Any

import pytest

from mooring.model.keys import Key
from mooring.model.quantity import parse
from mooring.model.storage_capacity import StorageCapacity
from tests.unit.model.reading import read

DOCUMENT: dict[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIStorageCapacity",
    "metadata": {
        "name": "csisc-x",
        "namespace": "kube-system",
        "labels": {"csi.storage.k8s.io/drivername": "ebs.csi.example.com"},
    },
    "storageClassName": "fast",
    "nodeTopology": {"matchLabels": {"topology.kubernetes.io/zone": "z1"}},
    "capacity": "100Gi",
    "maximumVolumeSize": "10Gi",
}


def test_a_zone_with_room() -> None:
    room = read(DOCUMENT, StorageCapacity)
    assert room.key == Key("kube-system", "csisc-x")
    assert room.storage_class_name == "fast"
    assert room.is_reachable_from({"topology.kubernetes.io/zone": "z1"})
    assert not room.is_reachable_from({"topology.kubernetes.io/zone": "z2"})


def test_without_a_topology_no_node_reaches_it() -> None:
    assert not read(DOCUMENT | {"nodeTopology": None}, StorageCapacity).is_reachable_from({})


def test_with_an_empty_topology_every_node_does() -> None:
    assert read(DOCUMENT | {"nodeTopology": {}}, StorageCapacity).is_reachable_from({})


LARGEST = {
    "the limit of one volume": ({}, "10Gi"),
    "else all the room there is": ({"maximumVolumeSize": None}, "100Gi"),
    "else unknown": ({"maximumVolumeSize": None, "capacity": None}, None),
}


@pytest.mark.parametrize(("change", "size"), LARGEST.values(), ids=LARGEST)
def test_largest_volume(change: dict[str, Any], size: str | None) -> None:
    expected = parse(size) if size else None
    assert read(DOCUMENT | change, StorageCapacity).largest_volume == expected
