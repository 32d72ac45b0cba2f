"""Metrics of the bulkheads: stuck calls to the operating system."""

from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from mooring.host.bulkhead import Bulkheads


class BulkheadMetrics(Collector):
    def __init__(self, bulkheads: Bulkheads) -> None:
        self._bulkheads = bulkheads

    def collect(self) -> Iterator[Metric]:
        now = GaugeMetricFamily(
            "mooring_stuck_calls",
            "Calls to the operating system that were given up and have not returned.",
            labels=["pool"],
        )
        for pool, count in self._bulkheads.count().items():
            now.add_metric([pool], count)
        ever = CounterMetricFamily(
            "mooring_given_up_calls",
            "Calls to the operating system that did not return in their time.",
            labels=["pool"],
        )
        for pool, count in self._bulkheads.written_off.items():
            ever.add_metric([pool], count)
        yield from (now, ever)
