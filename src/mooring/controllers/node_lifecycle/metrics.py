"""What the node lifecycle controller counts, under the names that dashboards know."""

from collections import Counter as Tally
from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from mooring.controllers.node_lifecycle.zones import Zone, Zones

_ZONE = ["zone"]


class NodeMetrics(Collector):
    def __init__(self, zones: Zones) -> None:
        self.emptied: Tally[Zone] = Tally()
        self._zones = zones

    def collect(self) -> Iterator[Metric]:
        size = GaugeMetricFamily("node_collector_zone_size", "Nodes of a zone.", labels=_ZONE)
        unhealthy = GaugeMetricFamily(
            "node_collector_unhealthy_nodes_in_zone", "Of these not ready.", labels=_ZONE
        )
        health = GaugeMetricFamily(
            "node_collector_zone_health", "Of these ready, in percent.", labels=_ZONE
        )
        for zone, tally in self._zones.tallies():
            label = [str(zone)]
            size.add_metric(label, tally.nodes)
            unhealthy.add_metric(label, tally.nodes - tally.ready)
            health.add_metric(label, 100 * tally.ready / tally.nodes)
        yield from (size, unhealthy, health)
        emptied = CounterMetricFamily(
            "node_collector_evictions", "Nodes that were tainted NoExecute.", labels=_ZONE
        )
        for zone, count in self.emptied.items():
            emptied.add_metric([str(zone)], count)
        yield emptied
