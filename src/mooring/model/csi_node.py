"""CSINode: which drivers run on a node, each with its id of the node."""

from typing import ClassVar

import msgspec

from mooring.model.health import StorageHealth
from mooring.model.meta import ApiObject, Resource
from mooring.model.wellknown import Annotation
from mooring.model.wire import Wire


class DriverAllocatable(Wire, frozen=True):
    count: int | None = None  # volumes; None: no limit is known


class NodeDriver(Wire, frozen=True):
    name: str
    node_id: str = msgspec.field(name="nodeID")
    topology_keys: tuple[str, ...] | None = None
    allocatable: DriverAllocatable | None = None

    @property
    def most_volumes(self) -> int | None:
        return self.allocatable.count if self.allocatable else None


class CsiNodeSpec(Wire, frozen=True):
    drivers: tuple[NodeDriver, ...] | None = None  # other servers send null for none


class CsiNodeStatus(Wire, frozen=True):
    storage_health: tuple[StorageHealth, ...] = ()


class CsiNode(ApiObject, frozen=True):
    resource: ClassVar = Resource("storage.k8s.io", "v1", "CSINode", "csinodes", namespaced=False)

    spec: CsiNodeSpec = CsiNodeSpec()
    status: CsiNodeStatus = CsiNodeStatus()

    def find_driver(self, name: str) -> NodeDriver | None:
        return next((driver for driver in self.spec.drivers or () if driver.name == name), None)

    @property
    def migrated_plugins(self) -> frozenset[str]:
        """In-tree plugins that CSI drivers have taken over on this node."""
        listed = self.metadata.annotations.get(Annotation.MIGRATED_PLUGINS, "")
        return frozenset(name for name in listed.split(",") if name)
