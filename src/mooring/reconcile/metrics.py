"""What loops count, and the Prometheus families that show it.

Counting is plain arithmetic; families are built only when the metrics are read. Queues have the
`workqueue_*` names that dashboards for Kubernetes use. Register one `LoopMetrics` with a
`CollectorRegistry`.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, repeat
from typing import Protocol

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

_BOUNDS = list(accumulate(repeat(10.0, 9), lambda bound, factor: bound * factor, initial=1e-8))
_BOUND_TEXTS = [*map(floatToGoString, _BOUNDS), "+Inf"]


class Durations:
    """A histogram of seconds, from ten nanoseconds to ten seconds."""

    __slots__ = ("_buckets", "_seconds")

    def __init__(self) -> None:
        self._buckets = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0

    def observe(self, seconds: float) -> None:
        self._buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds += seconds

    def add_to(self, family: HistogramMetricFamily, name: str) -> None:
        buckets = list(zip(_BOUND_TEXTS, accumulate(self._buckets), strict=True))
        family.add_metric([name], buckets, self._seconds)


class QueueCounts:
    """What a queue has seen."""

    __slots__ = ("adds", "retries", "waited", "worked")

    def __init__(self) -> None:
        self.adds = 0  # keys that came to want a worker; a key that wants one already adds nothing
        self.retries = 0  # keys put off to a later time
        self.waited = Durations()  # from wanting a worker to having one
        self.worked = Durations()


class InformerCounts:
    """What an informer had to do."""

    __slots__ = ("caught", "lists", "watches")

    def __init__(self) -> None:
        self.lists = 0
        self.watches = 0  # streams opened
        self.caught = 0  # changes that the watch missed and the slow resync found


class RecorderCounts:
    """What became of events."""

    __slots__ = ("crowded_out", "over_budget", "refused", "written")

    def __init__(self) -> None:
        self.written = 0
        self.crowded_out = 0  # too many were waiting already
        self.over_budget = 0  # too many about one object
        self.refused = 0  # the API server did not take it, or could not be reached for long


class MeasuredQueue(Protocol):
    @property
    def counts(self) -> QueueCounts: ...

    @property
    def set_aside(self) -> int:
        """How many keys met a bug when they were last tried."""
        ...

    def __len__(self) -> int: ...

    def running_seconds(self) -> list[float]:
        """For how long each worker has been busy with its key."""
        ...


class LoopMetrics(Collector):
    """The families of all queues, informers and recorders that were added."""

    def __init__(self) -> None:
        self._queues: dict[str, MeasuredQueue] = {}
        self._informers: dict[str, list[InformerCounts]] = {}  # several, of different scopes
        self._recorders: dict[str, RecorderCounts] = {}

    def add_queue(self, name: str, queue: MeasuredQueue) -> None:
        self._queues[name] = queue

    def add_informer(self, resource: str, counts: InformerCounts) -> None:
        self._informers.setdefault(resource, []).append(counts)

    def add_recorder(self, component: str, counts: RecorderCounts) -> None:
        self._recorders[component] = counts

    def collect(self) -> Iterator[Metric]:
        yield from self._queue_counters()
        yield from self._queue_durations()
        yield from self._running_work()
        yield from self._informer_families()
        yield self._recorder_family()

    def _queue_counters(self) -> Iterator[Metric]:
        depth = GaugeMetricFamily(
            "workqueue_depth", "Keys that want a worker now.", labels=["name"]
        )
        adds = CounterMetricFamily(
            "workqueue_adds", "Keys that came to want a worker.", labels=["name"]
        )
        retries = CounterMetricFamily(
            "workqueue_retries", "Keys put off to a later time.", labels=["name"]
        )
        aside = GaugeMetricFamily(
            "mooring_keys_set_aside",
            "Keys that met an error that nobody foresaw when they were last tried.",
            labels=["name"],
        )
        for name, queue in self._queues.items():
            depth.add_metric([name], len(queue))
            adds.add_metric([name], queue.counts.adds)
            retries.add_metric([name], queue.counts.retries)
            aside.add_metric([name], queue.set_aside)
        yield from (depth, adds, retries, aside)

    def _queue_durations(self) -> Iterator[Metric]:
        waited = HistogramMetricFamily(
            "workqueue_queue_duration_seconds",
            "How long a key waited for a worker.",
            labels=["name"],
        )
        worked = HistogramMetricFamily(
            "workqueue_work_duration_seconds",
            "How long a worker was busy with a key.",
            labels=["name"],
        )
        for name, queue in self._queues.items():
            queue.counts.waited.add_to(waited, name)
            queue.counts.worked.add_to(worked, name)
        yield from (waited, worked)

    def _running_work(self) -> Iterator[Metric]:
        unfinished = GaugeMetricFamily(
            "workqueue_unfinished_work_seconds",
            "Seconds spent so far on keys that workers are busy with now.",
            labels=["name"],
        )
        longest = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds",
            "How long the slowest worker has been busy with its key.",
            labels=["name"],
        )
        for name, queue in self._queues.items():
            running = queue.running_seconds()
            unfinished.add_metric([name], sum(running))
            longest.add_metric([name], max(running, default=0.0))
        yield from (unfinished, longest)

    def _informer_families(self) -> Iterator[Metric]:
        lists = CounterMetricFamily(
            "mooring_informer_lists", "Full lists taken into a cache.", labels=["resource"]
        )
        watches = CounterMetricFamily(
            "mooring_informer_watches", "Watch streams opened.", labels=["resource"]
        )
        caught = CounterMetricFamily(
            "mooring_informer_resync_caught",
            "Changes that a watch missed and the slow resync found.",
            labels=["resource"],
        )
        for resource, counts in self._informers.items():
            lists.add_metric([resource], sum(one.lists for one in counts))
            watches.add_metric([resource], sum(one.watches for one in counts))
            caught.add_metric([resource], sum(one.caught for one in counts))
        yield from (lists, watches, caught)

    def _recorder_family(self) -> Metric:
        events = CounterMetricFamily(
            "mooring_recorder_events",
            "Events, by what became of them.",
            labels=["component", "outcome"],
        )
        for component, counts in self._recorders.items():
            for outcome in RecorderCounts.__slots__:
                events.add_metric([component, outcome], getattr(counts, outcome))
        return events
