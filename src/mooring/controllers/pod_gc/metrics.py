"""What pod garbage collection counts, under the name that dashboards for Kubernetes know."""

from collections import Counter as Tally
from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from mooring.controllers.pod_gc.plan import Why


class CollectionCounts(Collector):
    def __init__(self) -> None:
        self.forced: Tally[tuple[str, Why]] = Tally()  # by namespace

    def collect(self) -> Iterator[Metric]:
        forced = CounterMetricFamily(
            "pod_gc_collector_force_delete_pods",
            "Pods that were deleted by force.",
            labels=["namespace", "reason"],
        )
        for (namespace, why), count in self.forced.items():
            forced.add_metric([namespace, why.value], count)
        yield forced
