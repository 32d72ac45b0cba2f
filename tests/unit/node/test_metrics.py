"""What a node counts."""

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import InlineCsiSource, PodVolume
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import CsiSource
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import Actual, PodState
from mooring.node.desired import Desired
from mooring.node.metrics import NodeMetrics, plugin_label
from tests.unit.node.things import FILES, NAME, PLUGIN, a_mount, a_wanted, an_actual, wanted_by


def value(metrics: NodeMetrics, name: str, **labels: str) -> float | None:
    """As it is read from the page."""
    registry = CollectorRegistry()
    registry.register(metrics)
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return sample.value
    return None


def test_an_operation_is_measured() -> None:
    metrics = NodeMetrics()
    metrics.operated(PLUGIN, "volume_mount", 0.2, ok=True, is_migrated=False)
    metrics.operated(PLUGIN, "volume_mount", 40.0, ok=False, is_migrated=True)
    name = "storage_operation_duration_seconds"
    done = {"volume_plugin": PLUGIN, "operation_name": "volume_mount", "status": "success"}
    assert value(metrics, f"{name}_count", **done, migrated="false") == 1
    assert value(metrics, f"{name}_bucket", **done, migrated="false", le="0.1") == 0
    assert value(metrics, f"{name}_bucket", **done, migrated="false", le="0.25") == 1
    assert value(metrics, f"{name}_sum", status="fail-unknown", migrated="true") == 40


def test_the_whole_way_to_a_mount_is_measured() -> None:
    metrics = NodeMetrics()
    metrics.mounted(PLUGIN, 3.0)
    labels = {"plugin_name": PLUGIN, "operation_name": "overall_volume_mount"}
    assert value(metrics, "volume_operation_total_seconds_sum", **labels) == 3


def test_what_is_found_after_a_restart_is_counted() -> None:
    metrics = NodeMetrics()
    for ok in (True, False, True):
        metrics.reconstructed(ok=ok)
        metrics.force_cleaned(ok=ok)
    assert value(metrics, "reconstruct_volume_operations_total") == 3
    assert value(metrics, "reconstruct_volume_operations_errors_total") == 1
    assert value(metrics, "force_cleaned_failed_volume_operations_total") == 3
    assert value(metrics, "force_cleaned_failed_volume_operation_errors_total") == 1


def test_only_the_last_sweep_counts() -> None:
    metrics = NodeMetrics()
    metrics.swept(5, 2)
    metrics.swept(1, 0)
    assert value(metrics, "kubelet_orphan_pod_cleaned_volumes") == 1
    assert value(metrics, "kubelet_orphan_pod_cleaned_volumes_errors") == 0


def test_what_else_happens_is_counted() -> None:
    metrics = NodeMetrics()
    metrics.rejected("VolumeAttachmentLimitExceeded")
    metrics.net_caught()
    metrics.refreshed("resync")
    rejected = {"reason": "VolumeAttachmentLimitExceeded"}
    assert value(metrics, "kubelet_admission_rejections_total", **rejected) == 1
    assert value(metrics, "mooring_node_net_caught_total") == 1
    assert value(metrics, "mooring_node_refreshes_total", cause="resync") == 1


def test_volumes_are_counted_for_each_pod() -> None:
    metrics = NodeMetrics()
    desired, actual = Desired(lambda _: None), Actual(lambda *_: None)
    metrics.watch(desired, actual)
    for uid in ("p1", "p2", "p3"):
        desired.want(a_wanted(), wanted_by(uid))
    actual.attached(an_actual())
    actual.mounted(NAME, a_mount("p1"))
    actual.mount_uncertain(NAME, a_mount("p2", PodState.UNCERTAIN))
    count = "volume_manager_total_volumes"
    assert value(metrics, count, plugin_name=PLUGIN, state="desired_state_of_world") == 3
    assert value(metrics, count, plugin_name=PLUGIN, state="actual_state_of_world") == 1


CSI = "kubernetes.io/csi"
LABELS: dict[str, tuple[str, VolumeUse, str]] = {
    "any other plugin is its name": (PLUGIN, FILES, PLUGIN),
    "a CSI volume names its driver": (
        CSI,
        VolumeUse(
            volume=Volume(
                metadata=ObjectMeta(name="pv"), spec=VolumeSpec(csi=CsiSource("d.example.com", "h"))
            )
        ),
        f"{CSI}:d.example.com",
    ),
    "so does one in a pod": (
        CSI,
        VolumeUse(inline=PodVolume(name="v", csi=InlineCsiSource("d.example.com"))),
        f"{CSI}:d.example.com",
    ),
    "one that was found on disk may not know it": (CSI, FILES, CSI),
}


@pytest.mark.parametrize(("plugin", "use", "label"), LABELS.values(), ids=LABELS)
def test_how_a_plugin_is_called(plugin: str, use: VolumeUse, label: str) -> None:
    assert plugin_label(plugin, use) == label


def test_nothing_is_told_about_when_a_series_began() -> None:
    metrics = NodeMetrics()
    metrics.operated(PLUGIN, "volume_mount", 0.2, ok=True, is_migrated=False)
    registry = CollectorRegistry()
    registry.register(metrics)
    assert b"_created" not in generate_latest(registry)
