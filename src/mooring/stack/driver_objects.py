"""The API objects that introduce a driver, as its capabilities ask for them. Pure."""

from collections.abc import Mapping

import msgspec

from mooring.csi.capability import ControllerCapability
from mooring.model.csi_driver import CsiDriver
from mooring.model.document import Doc
from mooring.model.meta import ApiObject
from mooring.model.snapshot import SnapshotClass
from mooring.model.storage_class import StorageClass
from mooring.sidecars.driver import Abilities

MANAGED_BY = "app.kubernetes.io/managed-by"
BY = "mooring-csi-run"  # an object with another value, or none, is somebody else's


class Introduced(msgspec.Struct, frozen=True):
    kind: type[ApiObject]
    document: Doc
    because: str

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])


def objects_of(
    driver: str, abilities: Abilities, class_name: str, parameters: Mapping[str, str]
) -> tuple[Introduced, ...]:
    """Its CSIDriver, and a class of each kind that it can serve."""
    found = [_csi_driver(driver, abilities)]
    if abilities.can(ControllerCapability.CREATE_DELETE_VOLUME):
        found.append(_storage_class(driver, abilities, class_name, parameters))
    if abilities.takes_snapshots:
        document: Doc = {
            "metadata": _metadata(class_name),
            "driver": driver,
            "deletionPolicy": "Delete",
        }
        found.append(Introduced(SnapshotClass, document, "it takes snapshots"))
    return tuple(found)


def _csi_driver(driver: str, abilities: Abilities) -> Introduced:
    document: Doc = {
        "metadata": _metadata(driver),
        "spec": {"attachRequired": abilities.attaches, "podInfoOnMount": False},
    }
    because = "it attaches volumes" if abilities.attaches else "its volumes need no attachment"
    return Introduced(CsiDriver, document, because)


def _storage_class(
    driver: str, abilities: Abilities, name: str, parameters: Mapping[str, str]
) -> Introduced:
    document: Doc = {
        "metadata": _metadata(name),
        "provisioner": driver,
        "parameters": dict(parameters),
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer" if abilities.has_topology else "Immediate",
        "allowVolumeExpansion": abilities.expands or abilities.node_expands,
    }
    return Introduced(StorageClass, document, "it makes volumes")


def _metadata(name: str) -> Doc:
    return {"name": name, "labels": {MANAGED_BY: BY}}
