"""Which objects introduce a driver follows from what it can do."""

import pytest

from mooring.csi.capability import ControllerCapability, Expansion, PluginService
from mooring.model.csi_driver import CsiDriver
from mooring.model.snapshot import SnapshotClass
from mooring.model.storage_class import StorageClass
from mooring.sidecars.driver import Abilities
from mooring.stack.driver_objects import BY, MANAGED_BY, objects_of

DRIVER = "d.example.com"
ALL = frozenset(
    {
        ControllerCapability.CREATE_DELETE_VOLUME,
        ControllerCapability.PUBLISH_UNPUBLISH_VOLUME,
        ControllerCapability.CREATE_DELETE_SNAPSHOT,
        ControllerCapability.EXPAND_VOLUME,
    }
)
CONTROLLER = frozenset({PluginService.CONTROLLER_SERVICE})
TOPOLOGY = CONTROLLER | {PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS}


def test_a_driver_of_nodes_alone_gets_its_csidriver_and_no_class() -> None:
    (only,) = objects_of(DRIVER, Abilities(), "c", {})
    assert only.kind is CsiDriver
    assert only.name == DRIVER
    assert only.document["spec"]["attachRequired"] is False


def test_a_driver_of_everything_gets_one_class_of_each_kind() -> None:
    abilities = Abilities(CONTROLLER, ALL, frozenset({Expansion.ONLINE}))
    found = {one.kind: one for one in objects_of(DRIVER, abilities, "c", {"type": "fast"})}
    assert set(found) == {CsiDriver, StorageClass, SnapshotClass}
    assert found[CsiDriver].document["spec"]["attachRequired"] is True
    made = found[StorageClass].document
    assert made["provisioner"] == DRIVER
    assert made["parameters"] == {"type": "fast"}
    assert made["allowVolumeExpansion"] is True
    assert found[SnapshotClass].document["driver"] == DRIVER


@pytest.mark.parametrize(
    ("services", "mode"), [(CONTROLLER, "Immediate"), (TOPOLOGY, "WaitForFirstConsumer")]
)
def test_a_driver_with_topology_waits_for_the_node(
    services: frozenset[PluginService], mode: str
) -> None:
    found = objects_of(DRIVER, Abilities(services, ALL), "c", {})
    assert [one.document.get("volumeBindingMode") for one in found] == [None, mode, None]


def test_all_of_them_say_who_made_them() -> None:
    for one in objects_of(DRIVER, Abilities(TOPOLOGY, ALL), "c", {}):
        assert one.document["metadata"]["labels"] == {MANAGED_BY: BY}
        assert one.because
