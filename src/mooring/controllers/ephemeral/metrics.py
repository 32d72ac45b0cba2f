"""What the reconciler of ephemeral volumes counts, under the names that dashboards know."""

from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector


class EphemeralCounts(Collector):
    """Register it with a `CollectorRegistry`."""

    def __init__(self) -> None:
        self.tried = 0
        self.failed = 0

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily(
            "ephemeral_volume_controller_create",
            "Claims that were asked for on behalf of pods.",
            value=self.tried,
        )
        yield CounterMetricFamily(
            "ephemeral_volume_controller_create_failures",
            "Claims that could not be made on behalf of pods.",
            value=self.failed,
        )
