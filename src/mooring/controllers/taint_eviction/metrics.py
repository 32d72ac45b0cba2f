"""What eviction by taint counts, under the name that dashboards for Kubernetes know."""

from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector


class EvictionCounts(Collector):
    def __init__(self) -> None:
        self.deleted = 0

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily(
            "taint_eviction_controller_pod_deletions",
            "Pods that were deleted because of a taint.",
            value=self.deleted,
        )
