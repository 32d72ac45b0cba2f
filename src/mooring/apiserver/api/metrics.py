"""Metrics in Prometheus form, under the names that dashboards for Kubernetes know.

Counting happens on every request, so it is plain arithmetic on values found in a dict; families,
labels and text are built only for a request of `/metrics`. Everything here belongs to one event
loop: there are no locks.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import accumulate
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from mooring.reconcile.poison import POISONED

_BOUNDS = [
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
    *(4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
]
_BOUND_TEXTS = [*map(floatToGoString, _BOUNDS), "+Inf"]


class Target(NamedTuple):
    """The labels of a request in metrics."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""  # cluster, namespace or resource


class Load(Enum):
    READ_ONLY = "readOnly"
    MUTATING = "mutating"

    __hash__ = object.__hash__  # a key in every request: by identity, not by name


class _Requests:
    """All requests with one target."""

    __slots__ = ("buckets", "by_code", "seconds")

    def __init__(self) -> None:
        self.by_code: dict[int, int] = {}
        self.buckets = [0] * (len(_BOUNDS) + 1)
        self.seconds = 0.0


class Metrics:
    """Counts, and shows what it counted. `revision` and `objects` are asked at each reading."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(
        self, revision: Callable[[], int], objects: Callable[[], Mapping[str, int]]
    ) -> None:
        self._revision = revision
        self._objects = objects
        self._requests: dict[Target, _Requests] = {}
        self._inflight = dict.fromkeys(Load, 0)
        self._long_running: dict[Target, int] = {}
        self._watch_events: dict[tuple[str, str, str], int] = {}
        self._registry = CollectorRegistry()
        self._registry.register(_Families(self))
        self._registry.register(POISONED)
        ProcessCollector(registry=self._registry)

    def add(self, collector: Collector) -> None:
        """Show what others count in this process, beside what is counted here."""
        self._registry.register(collector)

    def started(self, load: Load) -> None:
        self._inflight[load] += 1

    def finished(self, load: Load, target: Target, code: int, seconds: float) -> None:
        """The answer to a request that `started` is on its way."""
        self._inflight[load] -= 1
        try:
            requests = self._requests[target]
        except KeyError:
            requests = self._requests[target] = _Requests()
        by_code = requests.by_code
        by_code[code] = by_code.get(code, 0) + 1
        requests.buckets[bisect_left(_BOUNDS, seconds)] += 1
        requests.seconds += seconds

    def stream_opened(self, target: Target) -> None:
        self._long_running[target] = self._long_running.get(target, 0) + 1

    def stream_closed(self, target: Target) -> None:
        self._long_running[target] -= 1

    def events_sent(self, group: str, version: str, resource: str, count: int) -> None:
        key = (group, version, resource)
        self._watch_events[key] = self._watch_events.get(key, 0) + count

    def render(self) -> bytes:
        """All of it, as text of type `content_type`."""
        return generate_latest(self._registry)

    def families(self) -> Iterator[Metric]:
        yield from self._request_families()
        inflight = GaugeMetricFamily(
            "apiserver_current_inflight_requests",
            "Requests being served now, streams left out.",
            labels=["request_kind"],
        )
        for load, count in self._inflight.items():
            inflight.add_metric([load.value], count)
        yield inflight
        streams = GaugeMetricFamily(
            "apiserver_longrunning_requests", "Open streams.", labels=Target._fields
        )
        for target, count in self._long_running.items():
            streams.add_metric(target, count)
        yield streams
        events = CounterMetricFamily(
            "apiserver_watch_events",
            "Events sent to watchers.",
            labels=["group", "version", "resource"],
        )
        for key, count in self._watch_events.items():
            events.add_metric(key, count)
        yield events
        stored = GaugeMetricFamily(
            "apiserver_storage_objects", "Objects in the store.", labels=["resource"]
        )
        for resource, count in self._objects().items():
            stored.add_metric([resource], count)
        yield stored
        yield GaugeMetricFamily(
            "mooring_store_revision", "The newest revision.", value=self._revision()
        )

    def _request_families(self) -> Iterator[Metric]:
        total = CounterMetricFamily(
            "apiserver_request", "Requests answered.", labels=[*Target._fields, "code"]
        )
        duration = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Time from a request to its answer.",
            labels=Target._fields,
        )
        for target, requests in self._requests.items():
            for code, count in requests.by_code.items():
                total.add_metric([*target, str(code)], count)
            buckets = list(zip(_BOUND_TEXTS, accumulate(requests.buckets), strict=True))
            duration.add_metric(target, buckets, requests.seconds)
        yield total
        yield duration


class _Families(Collector):
    """Hands the families to the registry."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return self._metrics.families()
