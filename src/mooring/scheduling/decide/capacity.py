"""Whether a driver has room for a new volume where a node can reach it.

Asked only of drivers that say how much room they have (`CSIDriver.spec.storageCapacity`).
"""

from collections.abc import Iterator

from mooring.model.claim import Claim
from mooring.model.quantity import Quantity, parse
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import STORAGE
from mooring.scheduling.view import NodeView, Storage


def has_room(storage: Storage, claim: Claim, storage_class: StorageClass, node: NodeView) -> bool:
    """Each claim is checked alone: the claims of a pod are not added up, as upstream."""
    if not _is_checked(storage, claim, storage_class):
        return True
    return any(True for _ in _rooms(storage, claim, storage_class, node))


def find_room(
    storage: Storage, claim: Claim, storage_class: StorageClass, node: NodeView
) -> Quantity | None:
    """How much room there is where the volume would be made; None: nobody says."""
    if not _is_checked(storage, claim, storage_class):
        return None
    rooms = _rooms(storage, claim, storage_class, node)
    return max((parse(room.capacity) for room in rooms if room.capacity), default=None)


def _is_checked(storage: Storage, claim: Claim, storage_class: StorageClass) -> bool:
    if STORAGE not in claim.spec.resources.requests:
        return False
    driver = storage.find_driver(storage_class.provisioner)
    return driver is not None and driver.spec.storage_capacity


def _rooms(
    storage: Storage, claim: Claim, storage_class: StorageClass, node: NodeView
) -> Iterator[StorageCapacity]:
    """Those that are large enough, and that the node can reach."""
    wanted = claim.requested
    for room in storage.capacities(storage_class.name):
        largest = room.largest_volume
        if largest is not None and largest >= wanted and _is_reachable(room, node):
            yield room


def _is_reachable(room: StorageCapacity, node: NodeView) -> bool:
    try:
        return room.is_reachable_from(node.labels)
    except ValueError:  # a topology that makes no sense is nowhere
        return False


def has_grown(before: StorageCapacity, after: StorageCapacity) -> bool:
    was, now = before.largest_volume, after.largest_volume
    return now is not None and (was is None or now > was)
