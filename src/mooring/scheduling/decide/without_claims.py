"""The storage as it would be if the users of some claims were gone."""

from collections.abc import Collection, Iterable

import msgspec

from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.keys import Key
from mooring.model.quantity import Quantity
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.scheduling.decide.reach import NodeLabel
from mooring.scheduling.view import Storage


class WithoutClaims(msgspec.Struct, frozen=True):
    storage: Storage
    freed: frozenset[Key]

    def is_claim_used(self, claim: Key) -> bool:
        return claim not in self.freed and self.storage.is_claim_used(claim)

    def find_claim(self, key: Key) -> Claim | None:
        return self.storage.find_claim(key)

    def find_volume(self, name: str) -> Volume | None:
        return self.storage.find_volume(name)

    def find_class(self, name: str) -> StorageClass | None:
        return self.storage.find_class(name)

    def find_driver(self, name: str) -> CsiDriver | None:
        return self.storage.find_driver(name)

    def drivers(self) -> Iterable[CsiDriver]:
        return self.storage.drivers()

    def capacities(self, storage_class: str) -> Iterable[StorageCapacity]:
        return self.storage.capacities(storage_class)

    def reserved_volumes(self, claim: Key) -> Iterable[Volume]:
        return self.storage.reserved_volumes(claim)

    def free_volumes(self, storage_class: str, size: Quantity) -> Iterable[Volume]:
        return self.storage.free_volumes(storage_class, size)

    def free_volume_labels(self, storage_class: str) -> Collection[str]:
        return self.storage.free_volume_labels(storage_class)

    def free_volumes_at(
        self, storage_class: str, size: Quantity, label: NodeLabel | None
    ) -> Iterable[Volume]:
        return self.storage.free_volumes_at(storage_class, size, label)

    def smaller_volumes(self, storage_class: str, size: Quantity) -> Iterable[Volume]:
        return self.storage.smaller_volumes(storage_class, size)
