"""What is to be told about the room for one class in one place."""

from mooring.model import quantity
from mooring.model.quantity import Quantity
from mooring.model.steps import plan
from mooring.model.storage_capacity import StorageCapacity
from mooring.sidecars.provisioner.capacity.plan import Plan, Room, Tell, TellAnew, TellNoMore
from mooring.sidecars.provisioner.capacity.view import CapacityView


def decide(view: CapacityView) -> Plan:
    if view.room is None:
        return plan("nobody wants to know", *map(TellNoMore, view.known))
    if not view.known:
        return plan("nothing tells of it", Tell(view.pair, view.room))
    first, *others = view.known
    surplus = tuple(map(TellNoMore, others))
    if _is_told(first, view.room):
        return plan("it is told", *surplus)
    return plan("there is more room, or less", TellAnew(first, view.room), *surplus)


def _is_told(known: StorageCapacity, room: Room) -> bool:
    return (_read(known.capacity), _read(known.maximum_volume_size)) == (
        room.capacity,
        room.largest,
    )


def _read(text: str | None) -> Quantity | None:
    return None if text is None else quantity.parse(text)
