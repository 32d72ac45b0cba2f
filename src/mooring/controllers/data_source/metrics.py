"""What the data-source validator counts, under upstream's name."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import UnknownMetricFamily
from prometheus_client.registry import Collector


class ValidatorCounts(Collector):
    def __init__(self) -> None:
        self.results: Counter[str] = Counter()

    def collect(self) -> Iterator[Metric]:
        # Not a counter: those get the suffix _total, which upstream's name has not.
        checked = UnknownMetricFamily(
            "volume_data_source_validator_operation_count",
            "Claims whose data source was looked at, by what it was.",
            labels=["result"],
        )
        for result, count in self.results.items():
            checked.add_metric([result], count)
        yield checked
