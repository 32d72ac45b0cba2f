"""What the binder counts, under the names that dashboards for Kubernetes know."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Protocol

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from mooring.clock import Clock
from mooring.controllers.binding.decide.reclaim import PLUGINS_BY_SOURCE
from mooring.model.claim import Claim
from mooring.model.volume import Volume

_BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0)
_BOUND_TEXTS = [*map(floatToGoString, _BOUNDS), "+Inf"]

NOT_KNOWN = "N/A"
PROVISION, DELETE, RECYCLE = "provision", "delete", "recycle"
"""What operations are called, here and in their names; recycling is not measured."""


class _Durations:
    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(_BOUNDS) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float) -> None:
        self.buckets[bisect_left(_BOUNDS, seconds)] += 1
        self.seconds += seconds


class CountedCaches(Protocol):
    """The caches whose volumes and claims are counted when the metrics are read."""

    def all_volumes(self) -> Iterable[Volume]: ...

    def all_claims(self) -> Iterable[Claim]: ...


class BinderMetrics(Collector):
    """Counts; `census` has the volumes and claims that are there at the time of reading."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began: dict[tuple[str, str], tuple[str, float]] = {}  # whole operations under way
        self._errors: Counter[tuple[str, str]] = Counter()
        self._whole: dict[tuple[str, str], _Durations] = {}
        self._calls: dict[tuple[str, str, str], _Durations] = {}
        self._assigned = 0
        self._assign_errors = 0
        self._caught = 0
        self.census: CountedCaches | None = None

    def class_assigned(self, *, ok: bool) -> None:
        self._assigned += 1
        self._assign_errors += not ok

    def resync_caught(self) -> None:
        """The slow resync found work that no event handler had queued."""
        self._caught += 1

    def began(self, subject: str, plugin: str, operation: str) -> None:
        """An operation about this object begins, unless it is under way."""
        self._began.setdefault((operation, subject), (plugin, self._clock.monotonic()))

    def failed(self, subject: str, operation: str) -> None:
        """It goes on nevertheless: the time it takes in all is what counts."""
        if (known := self._began.get((operation, subject))) is not None:
            self._errors[known[0], operation] += 1

    def ended(self, subject: str, operation: str) -> None:
        """It has come to its end: the claim is bound, the volume is gone."""
        if (known := self._began.pop((operation, subject), None)) is not None:
            plugin, since = known
            durations = self._whole.setdefault((plugin, operation), _Durations())
            durations.observe(self._clock.monotonic() - since)

    def forgotten(self, subject: str, operation: str) -> None:
        self._began.pop((operation, subject), None)

    def called(self, plugin: str, operation: str, seconds: float, *, ok: bool) -> None:
        """One call of a plugin."""
        key = (plugin, operation, "success" if ok else "fail-unknown")
        self._calls.setdefault(key, _Durations()).observe(seconds)

    def collect(self) -> Iterator[Metric]:
        yield from self._counters()
        yield from self._histograms()
        if self.census is not None:
            yield from _volume_counts(self.census.all_volumes())
            yield from _claim_counts(self.census.all_claims())

    def _counters(self) -> Iterator[Metric]:
        assigned = CounterMetricFamily(
            "retroactive_storageclass", "Claims that were given the default class later on."
        )
        assigned.add_metric([], self._assigned)
        refused = CounterMetricFamily(
            "retroactive_storageclass_errors", "Claims that could not be given the default class."
        )
        refused.add_metric([], self._assign_errors)
        errors = CounterMetricFamily(
            "volume_operation_total_errors",
            "Failed attempts to make or delete a volume.",
            labels=["plugin_name", "operation_name"],
        )
        newer = CounterMetricFamily(  # what the other one has come to be called
            "volume_operation_errors",
            "Failed attempts to make or delete a volume.",
            labels=["plugin_name", "operation_name"],
        )
        for key, count in self._errors.items():
            errors.add_metric(list(key), count)
            newer.add_metric(list(key), count)
        caught = CounterMetricFamily(
            "mooring_binding_resync_caught", "Work that only the slow resync found."
        )
        caught.add_metric([], self._caught)
        yield from (assigned, refused, errors, newer, caught)

    def _histograms(self) -> Iterator[Metric]:
        whole = HistogramMetricFamily(
            "volume_operation_total_seconds",
            "From the start of an operation to its end, all attempts included.",
            labels=["plugin_name", "operation_name"],
        )
        for (plugin, operation), durations in self._whole.items():
            _add(whole, [plugin, operation], durations)
        calls = HistogramMetricFamily(
            "storage_operation_duration_seconds",
            "How long a volume plugin took.",
            labels=["volume_plugin", "operation_name", "status", "migrated"],
        )
        for key, durations in self._calls.items():
            _add(calls, [*key, "false"], durations)
        yield from (whole, calls)


def _add(family: HistogramMetricFamily, labels: list[str], durations: _Durations) -> None:
    buckets = list(zip(_BOUND_TEXTS, accumulate(durations.buckets), strict=True))
    family.add_metric(labels, buckets, durations.seconds)


def _volume_counts(volumes: Iterable[Volume]) -> Iterator[Metric]:
    total: Counter[tuple[str, ...]] = Counter()
    bound: Counter[tuple[str, ...]] = Counter()
    unbound: Counter[tuple[str, ...]] = Counter()
    for volume in volumes:
        total[_plugin_name(volume), volume.spec.volume_mode.value] += 1
        (bound if volume.is_bound else unbound)[(volume.spec.storage_class_name,)] += 1
    labels = ["plugin_name", "volume_mode"]
    yield _gauge("pv_collector_total_pv_count", "Volumes.", labels, total)
    of_class = ["storage_class"]
    yield _gauge("pv_collector_bound_pv_count", "Volumes that are bound.", of_class, bound)
    yield _gauge("pv_collector_unbound_pv_count", "Volumes that are not.", of_class, unbound)


def _claim_counts(claims: Iterable[Claim]) -> Iterator[Metric]:
    bound: Counter[tuple[str, ...]] = Counter()
    unbound: Counter[tuple[str, ...]] = Counter()
    for claim in claims:
        attributes_class = claim.spec.volume_attributes_class_name or ""
        key = (claim.namespace, claim.storage_class, attributes_class)
        (bound if claim.is_bound else unbound)[key] += 1
    labels = ["namespace", "storage_class", "volume_attributes_class"]
    yield _gauge("pv_collector_bound_pvc_count", "Claims that are bound.", labels, bound)
    yield _gauge("pv_collector_unbound_pvc_count", "Claims that are not.", labels, unbound)


def _gauge(
    name: str, text: str, labels: list[str], counts: Counter[tuple[str, ...]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, count in counts.items():
        family.add_metric(list(key), count)
    return family


def _plugin_name(volume: Volume) -> str:
    source = volume.spec.find_source()
    return NOT_KNOWN if source is None else PLUGINS_BY_SOURCE.get(source[0], NOT_KNOWN)
