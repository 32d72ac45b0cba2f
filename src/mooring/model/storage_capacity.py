"""CSIStorageCapacity: the free capacity of a driver for a class in one topology segment."""

from collections.abc import Mapping
from typing import ClassVar

from mooring.model import quantity
from mooring.model.meta import ApiObject, Resource
from mooring.model.quantity import Quantity
from mooring.model.selector import SelectorDocument


class StorageCapacity(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", namespaced=True
    )

    storage_class_name: str = ""
    node_topology: SelectorDocument | None = None
    capacity: str | None = None
    maximum_volume_size: str | None = None

    @property
    def largest_volume(self) -> Quantity | None:
        """The largest volume that can be provisioned there, if the driver has reported it."""
        told = self.maximum_volume_size or self.capacity
        return quantity.parse(told) if told else None

    def is_reachable_from(self, labels: Mapping[str, str]) -> bool:
        """Whether nodes with these labels are in its segment; no topology means no node."""
        return self.node_topology is not None and self.node_topology.selector().matches(labels)
