"""The steps that a plan about capacity may hold."""

from typing import TypeAlias

import msgspec

from mooring.csi.topology import Topology
from mooring.model import steps
from mooring.model.quantity import Quantity
from mooring.model.storage_capacity import StorageCapacity


class Pair(msgspec.Struct, frozen=True, cache_hash=True):
    """A class and a topology segment: there is one CSIStorageCapacity for them."""

    class_name: str
    segments: tuple[tuple[str, str], ...]  # sorted; empty: a driver that knows no places

    @classmethod
    def of(cls, class_name: str, place: Topology) -> "Pair":
        return cls(class_name, tuple(sorted(place.segments.items())))


class Room(msgspec.Struct, frozen=True):
    capacity: Quantity
    largest: Quantity | None  # volume; None: the driver does not say


class CreateCapacity(msgspec.Struct, frozen=True):
    """There is no object for the pair yet."""

    pair: Pair
    room: Room


class UpdateCapacity(msgspec.Struct, frozen=True):
    known: StorageCapacity
    room: Room


class DeleteCapacity(msgspec.Struct, frozen=True):
    known: StorageCapacity


Step = CreateCapacity | UpdateCapacity | DeleteCapacity
Plan: TypeAlias = steps.Plan[Step]
