"""Which CSIStorageCapacity objects should exist for one class in one topology segment.

Always true of a plan:
- Afterwards there is one object for the pair, with the capacity that the driver reported; none if
  it is not wanted any more.
- An object that is right already is not written. Of several, the first stays, others are deleted.
"""

from mooring.model import quantity
from mooring.model.quantity import Quantity
from mooring.model.steps import plan
from mooring.model.storage_capacity import StorageCapacity
from mooring.sidecars.provisioner.capacity.plan import (
    CreateCapacity,
    DeleteCapacity,
    Plan,
    Room,
    UpdateCapacity,
)
from mooring.sidecars.provisioner.capacity.view import CapacityView


def decide(view: CapacityView) -> Plan:
    if view.room is None:
        return plan("nobody wants to know", *map(DeleteCapacity, view.known))
    if not view.known:
        return plan("nothing tells of it", CreateCapacity(view.pair, view.room))
    first, *others = view.known
    surplus = tuple(map(DeleteCapacity, others))
    if _is_told(first, view.room):
        return plan("it is told", *surplus)
    return plan("there is more room, or less", UpdateCapacity(first, view.room), *surplus)


def _is_told(known: StorageCapacity, room: Room) -> bool:
    return (_read(known.capacity), _read(known.maximum_volume_size)) == (
        room.capacity,
        room.largest,
    )


def _read(text: str | None) -> Quantity | None:
    return None if text is None else quantity.parse(text)
