"""From the figures of a pod's volumes and containers to what its limits are held against."""

from mooring.node.eviction.view import Used
from mooring.node.pods.storage import PodStorage
from mooring.node.statistics import PodStatistics


def used_by(volumes: PodStatistics, storage: PodStorage) -> Used:
    return Used(
        volumes={name: one.usage.used or 0 for name, one in volumes.volumes.items()},
        containers={one.name: one.used.used_bytes for one in storage.containers},
        hosts=storage.hosts.used_bytes,
    )
