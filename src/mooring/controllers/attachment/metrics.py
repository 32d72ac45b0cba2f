"""What the AttachDetach controller counts, under the names that dashboards for Kubernetes know."""

from collections import Counter as Tally
from collections.abc import Iterator

from prometheus_client import Histogram, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from mooring.controllers.attachment.actual import Act, Actual
from mooring.controllers.attachment.desired import Desired
from mooring.controllers.attachment.force_detach import Force
from mooring.model.wellknown import Plugin

_BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0)
_OPERATIONS = {Act.ATTACH: "volume_attach", Act.DETACH: "volume_detach"}


class AttachmentMetrics(Collector):
    def __init__(self, desired: Desired, actual: Actual) -> None:
        self._desired = desired
        self._actual = actual
        self._forced = dict.fromkeys(Force, 0)
        self._operations = Histogram(
            "storage_operation_duration_seconds",
            "How long an operation on a volume took.",
            ["volume_plugin", "operation_name", "status", "migrated"],
            buckets=_BOUNDS,
            registry=None,
        )

    def forced(self, force: Force) -> None:
        self._forced[force] += 1

    def ended(
        self, driver: str, act: Act, seconds: float, *, is_success: bool, is_migrated: bool
    ) -> None:
        """One attempt is over."""
        status = "success" if is_success else "fail-unknown"
        migrated = "true" if is_migrated else "false"
        labels = (_plugin(driver), _OPERATIONS[act], status, migrated)
        self._operations.labels(*labels).observe(seconds)

    def collect(self) -> Iterator[Metric]:
        forced = CounterMetricFamily(
            "attach_detach_controller_attachdetach_controller_forced_detaches",
            "Volumes taken away from a node that said it used them.",
            labels=["reason"],
        )
        for force, count in self._forced.items():
            forced.add_metric([force.value], count)
        yield forced
        for family in self._operations.collect():
            # When a series began is shown nowhere else in Mooring, nor upstream.
            family.samples = [one for one in family.samples if one.name[-8:] != "_created"]
            yield family
        yield self._totals()
        yield self._in_use()

    def _totals(self) -> Metric:
        counts: Tally[tuple[str, str]] = Tally()
        for volume, _ in self._desired.pairs():
            counts[_plugin(volume.csi.driver), "desired_state_of_world"] += 1
        for _, csi in self._actual.attached():
            counts[_plugin(csi.driver), "actual_state_of_world"] += 1
        labels = ["plugin_name", "state"]
        return _gauge(
            "attachdetach_controller_total_volumes",
            "Volumes that are wanted on nodes, and that are there.",
            labels,
            counts,
        )

    def _in_use(self) -> Metric:
        counts: Tally[tuple[str, str]] = Tally()
        for node, driver in self._desired.drivers_by_node():
            counts[node, _plugin(driver)] += 1
        labels = ["node", "volume_plugin"]
        return _gauge(
            "storage_count_attachable_volumes_in_use", "Volumes of pods on nodes.", labels, counts
        )


def _gauge(
    name: str, text: str, labels: list[str], counts: Tally[tuple[str, str]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, count in sorted(counts.items()):
        family.add_metric(list(key), count)
    return family


def _plugin(driver: str) -> str:
    """Of an in-tree volume or a FlexVolume the driver is the plugin; no CSI driver has a slash."""
    return driver if "/" in driver else f"{Plugin.CSI}:{driver}"
