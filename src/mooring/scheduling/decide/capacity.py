"""Whether a driver has room for a new volume where a node can reach it.

Asked only of drivers that say how much room they have (`CSIDriver.spec.storageCapacity`).
"""

from mooring.model.claim import Claim
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import STORAGE
from mooring.scheduling.view import NodeView, Storage


def has_room(storage: Storage, claim: Claim, storage_class: StorageClass, node: NodeView) -> bool:
    """Each claim is checked alone: the claims of a pod are not added up, as upstream."""
    if STORAGE not in claim.spec.resources.requests:
        return True
    driver = storage.find_driver(storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return True
    wanted = claim.requested
    return any(
        (largest := room.largest_volume) is not None
        and largest >= wanted
        and _is_reachable(room, node)
        for room in storage.capacities(storage_class.name)
    )


def _is_reachable(room: StorageCapacity, node: NodeView) -> bool:
    try:
        return room.is_reachable_from(node.labels)
    except ValueError:  # a topology that makes no sense is nowhere
        return False


def has_grown(before: StorageCapacity, after: StorageCapacity) -> bool:
    was, now = before.largest_volume, after.largest_volume
    return now is not None and (was is None or now > was)
