"""Health as gauges, under upstream's names."""

from collections.abc import Iterator, Mapping

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mooring.model.health import StorageCondition
from mooring.model.keys import Key


class HealthMetrics(Collector):
    """What drivers said in their last rounds."""

    def __init__(self) -> None:
        self.volumes: dict[str, Mapping[Key, bool]] = {}  # by driver: is the claim's abnormal?
        self.storage: dict[str, tuple[StorageCondition, ...]] = {}  # by driver

    def forget(self, driver: str) -> None:
        self.volumes.pop(driver, None)
        self.storage.pop(driver, None)

    def collect(self) -> Iterator[Metric]:
        volumes = GaugeMetricFamily(
            "kubelet_volume_stats_health_status_abnormal",
            "Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is "
            "unhealthy, 0 indicates volume is healthy",
            labels=["namespace", "persistentvolumeclaim"],
        )
        for claims in self.volumes.values():
            for claim, is_abnormal in claims.items():
                volumes.add_metric([claim.namespace, claim.name], int(is_abnormal))
        storage = GaugeMetricFamily(
            "csi_node_storage_health_status",
            "Adverse conditions of storage backends, as CSI drivers see them from this node",
            labels=["driver_name", "status", "reason"],
        )
        for driver, conditions in self.storage.items():
            for status, reason in sorted({(one.status, one.reason) for one in conditions}):
                storage.add_metric([driver, status, reason], 1)
        yield from (family for family in (volumes, storage) if family.samples)
