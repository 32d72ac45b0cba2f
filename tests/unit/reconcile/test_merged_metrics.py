"""The counts of several roles on one page."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from mooring.reconcile.merged_metrics import MergedMetrics


class Queue(Collector):
    def __init__(self, name: str, depth: int) -> None:
        self.name = name
        self.depth = depth

    def collect(self) -> Iterator[Metric]:
        depth = GaugeMetricFamily("depth", "Keys that wait.", labels=["name"])
        depth.add_metric([self.name], self.depth)
        yield depth
        yield CounterMetricFamily(f"{self.name}_seen", "Its own.", value=1)


def test_a_family_of_two_roles_is_told_once_with_the_samples_of_both() -> None:
    registry = CollectorRegistry()
    registry.register(MergedMetrics([Queue("claims", 3), Queue("pods", 5)]))

    for _ in range(2):  # reading changes nothing
        text = generate_latest(registry).decode()
        families = {f.name: f.samples for f in text_string_to_metric_families(text)}

        assert text.count("# TYPE depth gauge") == 1
        assert {s.labels["name"]: s.value for s in families["depth"]} == {"claims": 3, "pods": 5}
        assert set(families) == {"depth", "claims_seen", "pods_seen"}
