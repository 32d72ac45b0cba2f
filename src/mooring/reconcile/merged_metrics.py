"""What several roles count, on one page."""

from collections.abc import Iterator, Sequence

from prometheus_client import Metric
from prometheus_client.registry import Collector


class MergedMetrics(Collector):
    """Every family once, with what all of them have of it: the format knows no family twice."""

    def __init__(self, collectors: Sequence[Collector]) -> None:
        self._collectors = collectors

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for collector in self._collectors:
            for family in collector.collect():
                known = families.setdefault(family.name, family)
                if known is not family:
                    known.samples.extend(family.samples)
        yield from families.values()
