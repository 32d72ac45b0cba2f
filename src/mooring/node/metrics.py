"""What a node counts, under the names that dashboards for Kubernetes know.

`storage_operation_duration_seconds` and the rest of upstream's volume manager; what only Mooring
has is called `mooring_node_*`. Statistics of single volumes are in `statistics.py`.
"""

from collections import Counter as Tally
from collections.abc import Iterator

from prometheus_client import Counter, Gauge, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mooring.model.volume_use import VolumeUse
from mooring.node.actual import Actual, PodState
from mooring.node.desired import Desired

BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0)
OVERALL_MOUNT = "overall_volume_mount"
_CSI = "kubernetes.io/csi"


def plugin_label(plugin: str, use: VolumeUse) -> str:
    """How metrics name a plugin; of CSI volumes they name the driver too."""
    if plugin != _CSI:
        return plugin
    if use.inline is not None and use.inline.csi is not None:
        return f"{plugin}:{use.inline.csi.driver}"
    if use.volume is not None and use.volume.spec.csi is not None:
        return f"{plugin}:{use.volume.spec.csi.driver}"
    return plugin


class NodeMetrics(Collector):
    """Counters of the node's operations; `watch` sets the pictures that are counted on request."""

    def __init__(self) -> None:
        self._operations = Histogram(
            "storage_operation_duration_seconds",
            "How long an operation on a volume took.",
            ["volume_plugin", "operation_name", "status", "migrated"],
            buckets=BOUNDS,
            registry=None,
        )
        self._whole = Histogram(
            "volume_operation_total_seconds",
            "From the start of an operation to its end, all attempts included.",
            ["plugin_name", "operation_name"],
            buckets=BOUNDS,
            registry=None,
        )
        self._reconstructed = _counter(
            "reconstruct_volume_operations", "Volumes found on disk after a start."
        )
        self._not_reconstructed = _counter(
            "reconstruct_volume_operations_errors", "Those that could not be made sense of."
        )
        self._cleaned = _counter(
            "force_cleaned_failed_volume_operations", "Tries to remove what made no sense."
        )
        self._not_cleaned = _counter(
            "force_cleaned_failed_volume_operation_errors", "Those that failed."
        )
        self._rejections = Counter(
            "kubelet_admission_rejections",
            "Pods that the node refused.",
            ["reason"],
            registry=None,
        )
        self._orphans = _gauge(
            "kubelet_orphan_pod_cleaned_volumes", "Directories of gone pods, as of the last look."
        )
        self._orphan_errors = _gauge(
            "kubelet_orphan_pod_cleaned_volumes_errors", "Those that could not be removed."
        )
        self._caught = _counter(
            "mooring_node_net_caught", "Work that only the slow safety net found."
        )
        self._refreshes = Counter(
            "mooring_node_refreshes",
            "Volumes set up again for news in them: the news came, or a minute was over.",
            ["cause"],
            registry=None,
        )
        self._pictures: tuple[Desired, Actual] | None = None

    def watch(self, desired: Desired, actual: Actual) -> None:
        """Count the volumes in these two pictures when the metrics are read."""
        self._pictures = (desired, actual)

    def operated(
        self, plugin: str, operation: str, seconds: float, *, ok: bool, is_migrated: bool
    ) -> None:
        """One operation ended; `plugin` is a `plugin_label`."""
        status = "success" if ok else "fail-unknown"
        migrated = "true" if is_migrated else "false"
        self._operations.labels(plugin, operation, status, migrated).observe(seconds)

    def mounted(self, plugin: str, seconds: float) -> None:
        """A pod has a file system that it asked for so long ago."""
        self._whole.labels(plugin, OVERALL_MOUNT).observe(seconds)

    def reconstructed(self, *, ok: bool) -> None:
        self._reconstructed.inc()
        self._not_reconstructed.inc(not ok)

    def force_cleaned(self, *, ok: bool) -> None:
        self._cleaned.inc()
        self._not_cleaned.inc(not ok)

    def swept(self, orphans: int, errors: int) -> None:
        """Once more the node looked for directories of pods that are gone."""
        self._orphans.set(orphans)
        self._orphan_errors.set(errors)

    def rejected(self, reason: str) -> None:
        self._rejections.labels(reason).inc()

    def net_caught(self) -> None:
        self._caught.inc()

    def refreshed(self, cause: str) -> None:
        self._refreshes.labels(cause).inc()

    def collect(self) -> Iterator[Metric]:
        for counted in (
            self._operations,
            self._whole,
            self._reconstructed,
            self._not_reconstructed,
            self._cleaned,
            self._not_cleaned,
            self._rejections,
            self._orphans,
            self._orphan_errors,
            self._caught,
            self._refreshes,
        ):
            for family in counted.collect():
                # Without `_created` series, like the rest of Mooring, and upstream.
                family.samples = [one for one in family.samples if one.name[-8:] != "_created"]
                yield family
        if self._pictures is not None:
            yield _volume_counts(*self._pictures)


def _counter(name: str, text: str) -> Counter:
    return Counter(name, text, registry=None)


def _gauge(name: str, text: str) -> Gauge:
    return Gauge(name, text, registry=None)


def _volume_counts(desired: Desired, actual: Actual) -> Metric:
    """Per pod and volume, as upstream counts: wanted, and certainly mounted."""
    counts: Tally[tuple[str, str]] = Tally()
    for wanted in desired.volumes():
        plugin = plugin_label(wanted.plugin, wanted.use)
        counts[plugin, "desired_state_of_world"] += len(wanted.pods)
    for here in actual.volumes():
        mounts = sum(mount.state is PodState.MOUNTED for mount in here.pods.values())
        if mounts:
            counts[plugin_label(here.plugin, here.use), "actual_state_of_world"] += mounts
    family = GaugeMetricFamily(
        "volume_manager_total_volumes",
        "Volumes that pods want, and that they have.",
        labels=["plugin_name", "state"],
    )
    for key, count in sorted(counts.items()):
        family.add_metric(list(key), count)
    return family
