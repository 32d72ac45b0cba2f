"""How long snapshots take, under the names that dashboards for upstream's snapshot-controller know.

An operation begins when this process first sees that it is due, so its time begins anew with the
process.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

import msgspec
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from mooring.clock import Clock

_BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_BOUND_TEXTS = [*map(floatToGoString, _BOUNDS), "+Inf"]
_LABELS = ("driver_name", "operation_name", "operation_status", "snapshot_type")

SUCCESS, CANCEL = "success", "cancel"
DYNAMIC, STATIC = "dynamic", "pre-provisioned"
UNKNOWN_DRIVER = "unknown"


class Operations(msgspec.Struct, frozen=True):
    """What the operations of a kind of snapshot are called."""

    create: str
    create_and_ready: str
    delete: str


OF_SNAPSHOTS = Operations("CreateSnapshot", "CreateSnapshotAndReady", "DeleteSnapshot")
OF_GROUPS = Operations("CreateGroupSnapshot", "CreateGroupSnapshotAndReady", "DeleteGroupSnapshot")


class Progress(msgspec.Struct, frozen=True):
    """How far a snapshot, or a group, is."""

    driver: str
    is_static: bool
    is_created: bool
    is_ready: bool
    is_deleting: bool


class SnapshotMetrics(Collector):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began: dict[tuple[str, str], float] = {}  # by uid and operation
        self._drivers: dict[str, str] = {}  # by uid: a content is gone before its snapshot
        self._buckets: dict[tuple[str, ...], list[int]] = {}
        self._seconds: dict[tuple[str, ...], float] = {}

    def saw(self, names: Operations, uid: str, now: Progress) -> None:
        if now.driver:
            self._drivers[uid] = now.driver
        if now.is_deleting:
            self._begin(uid, names.delete)
            return
        for name, is_over in (
            (names.create, now.is_created),
            (names.create_and_ready, now.is_ready),
        ):
            if is_over:
                self._end(uid, name, SUCCESS, now)
            else:
                self._begin(uid, name)

    def gone(self, names: Operations, uid: str, last: Progress) -> None:
        """What was not finished never will be."""
        self._end(uid, names.create, CANCEL, last)
        self._end(uid, names.create_and_ready, CANCEL, last)
        self._end(uid, names.delete, SUCCESS, last)
        self._drivers.pop(uid, None)

    def _begin(self, uid: str, operation: str) -> None:
        self._began.setdefault((uid, operation), self._clock.monotonic())

    def _end(self, uid: str, operation: str, status: str, of: Progress) -> None:
        since = self._began.pop((uid, operation), None)
        if since is None:
            return
        driver = of.driver or self._drivers.get(uid, UNKNOWN_DRIVER)
        labels = (driver, operation, status, STATIC if of.is_static else DYNAMIC)
        seconds = self._clock.monotonic() - since
        buckets = self._buckets.setdefault(labels, [0] * (len(_BOUNDS) + 1))
        buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[labels] = self._seconds.get(labels, 0.0) + seconds

    def collect(self) -> Iterator[Metric]:
        durations = HistogramMetricFamily(
            "snapshot_controller_operation_total_seconds",
            "Time from the request of an operation on a snapshot to its end.",
            labels=_LABELS,
        )
        for labels, counts in self._buckets.items():
            counted = list(zip(_BOUND_TEXTS, accumulate(counts), strict=True))
            durations.add_metric(list(labels), counted, self._seconds[labels])
        yield durations
        yield GaugeMetricFamily(
            "snapshot_controller_operations_in_flight",
            "Operations on snapshots that are not finished.",
            value=len(self._began),
        )
