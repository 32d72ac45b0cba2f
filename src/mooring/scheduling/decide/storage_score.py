"""How well a node suits the volumes of a pod, out of 100: the more room would be left, the better.

By class, what the claims ask for is set against the room there: of volumes made by hand their size;
of volumes that are made to order the capacity that the driver told, once, though several claims
share it. A pod with any volume made by hand is judged by those alone, as upstream.
"""

from collections.abc import Iterable

import msgspec

from mooring.scheduling.decide.binding import VolumeCheck
from mooring.scheduling.decide.capacity import find_room
from mooring.scheduling.plan import PodVolumes, Reservation
from mooring.scheduling.view import NodeView, Storage

MOST = 100


class Use(msgspec.Struct):
    """Of the room for one class, in bytes."""

    requested: int = 0
    capacity: int = 0


def tells_nodes_apart(check: VolumeCheck) -> bool:
    """Whether the score may differ: there are volumes to choose, or a driver tells its room."""
    if any(one.reserved is not None or one.free is not None for one in check.candidates):
        return True
    classes = {claim.storage_class for claim in check.claims.waiting}
    return any(_tells_room(check.storage, name) for name in classes)


def _tells_room(storage: Storage, name: str) -> bool:
    storage_class = storage.find_class(name)
    driver = None if storage_class is None else storage.find_driver(storage_class.provisioner)
    return driver is not None and driver.spec.storage_capacity


def storage_score(check: VolumeCheck, node: NodeView) -> int:
    """Of a node that the check has passed."""
    volumes = check.choose(node)
    if not isinstance(volumes, PodVolumes):
        return 0
    if volumes.reservations:
        return _score(_of_volumes(volumes.reservations))
    return _score(_to_be_made(check, volumes, node))


def _of_volumes(reservations: Iterable[Reservation]) -> dict[str, Use]:
    uses: dict[str, Use] = {}
    for reservation in reservations:
        use = uses.setdefault(reservation.claim.storage_class, Use())
        use.requested += reservation.claim.requested.bytes_ceil()
        use.capacity += reservation.volume.size.bytes_ceil()
    return uses


def _to_be_made(check: VolumeCheck, volumes: PodVolumes, node: NodeView) -> dict[str, Use]:
    uses: dict[str, Use] = {}
    for claim in volumes.provisions:
        storage_class = check.storage.find_class(claim.storage_class)
        if storage_class is None:
            continue
        room = find_room(check.storage, claim, storage_class, node)
        if room is not None:
            use = uses.setdefault(storage_class.name, Use())
            use.requested += claim.requested.bytes_ceil()
            use.capacity = room.bytes_ceil()
    return uses


def _score(uses: dict[str, Use]) -> int:
    """The mean over the classes, rounded half up."""
    if not uses:
        return 0
    scores = [_free_share(use) for use in uses.values()]
    return (2 * sum(scores) + len(scores)) // (2 * len(scores))


def _free_share(use: Use) -> int:
    if use.capacity == 0 or use.requested > use.capacity:
        return 0
    return MOST - use.requested * MOST // use.capacity
