"""Which CSIStorageCapacity objects there are to be for one class in one place.

Always true of a plan:
- Afterwards there is one object for the pair, with the room that the driver told; none if nobody
  wants to know.
- An object that says so already is not written. Of several, the first stays and the others go.
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
