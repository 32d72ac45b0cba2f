"""What is known of one class in one place."""

from collections.abc import Iterable

import msgspec

from mooring.csi.topology import Topology
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.sidecars.provisioner.capacity.plan import Pair, Room
from mooring.sidecars.provisioner.topology import ClusterTopology


class CapacityView(msgspec.Struct, frozen=True):
    pair: Pair
    known: tuple[StorageCapacity, ...]  # the objects for the pair; more than one: duplicates
    room: Room | None  # None: the capacity is not wanted any more


def pair_of(known: StorageCapacity) -> Pair:
    labels = known.node_topology.match_labels if known.node_topology else None
    return Pair(known.storage_class_name, tuple(sorted((labels or {}).items())))


def wanted_pairs(
    driver: str, classes: Iterable[StorageClass], cluster: ClusterTopology | None
) -> frozenset[Pair]:
    """Every late-binding class of the driver in every place; without a cluster, places are one."""
    places = (Topology(),) if cluster is None else cluster.segments()
    return frozenset(
        Pair.of(storage_class.name, place)
        for storage_class in classes
        if storage_class.provisioner == driver and storage_class.waits_for_consumer
        for place in places
    )
