"""What dashboards see of the binder."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry

from mooring.controllers.binding.metrics import BinderMetrics
from mooring.model.claim import Claim, ClaimPhase
from mooring.model.volume import Volume, VolumePhase
from tests.fakes.clock import VirtualClock
from tests.unit.controllers.binding.things import HOST_PATH, a_claim, a_volume


class Everything:
    def all_volumes(self) -> Iterable[Volume]:
        return [
            a_volume("a", host_path=HOST_PATH, phase=VolumePhase.BOUND, storage_class_name="gold"),
            a_volume("b", phase=VolumePhase.RELEASED),
        ]

    def all_claims(self) -> Iterable[Claim]:
        return [a_claim(phase=ClaimPhase.BOUND, storage_class_name="gold"), a_claim(name="d")]


def registered(metrics: BinderMetrics) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(metrics)
    return registry


def test_volumes_and_claims_are_counted_when_asked() -> None:
    metrics = BinderMetrics(VirtualClock())
    metrics.census = Everything()
    sample = registered(metrics).get_sample_value
    plugin = {"plugin_name": "kubernetes.io/host-path", "volume_mode": "Filesystem"}
    of_claim = {"namespace": "ns", "storage_class": "gold", "volume_attributes_class": ""}
    assert sample("pv_collector_total_pv_count", plugin) == 1
    assert sample("pv_collector_total_pv_count", plugin | {"plugin_name": "N/A"}) == 1
    assert sample("pv_collector_bound_pv_count", {"storage_class": "gold"}) == 1
    assert sample("pv_collector_unbound_pv_count", {"storage_class": ""}) == 1
    assert sample("pv_collector_bound_pvc_count", of_claim) == 1
    assert sample("pv_collector_unbound_pvc_count", of_claim | {"storage_class": ""}) == 1


def test_a_default_class_given_and_one_refused() -> None:
    metrics = BinderMetrics(VirtualClock())
    metrics.class_assigned(ok=True)
    metrics.class_assigned(ok=False)
    sample = registered(metrics).get_sample_value
    assert sample("retroactive_storageclass_total") == 2
    assert sample("retroactive_storageclass_errors_total") == 1


async def test_an_operation_lasts_from_its_first_try_to_its_end() -> None:
    clock = VirtualClock()
    metrics = BinderMetrics(clock)
    labels = {"plugin_name": "p", "operation_name": "provision"}
    metrics.began("ns/c", "p", "provision")
    await clock.advance(2)
    metrics.failed("ns/c", "provision")
    metrics.began("ns/c", "p", "provision")
    await clock.advance(1)
    metrics.ended("ns/c", "provision")
    metrics.ended("ns/c", "provision")
    sample = registered(metrics).get_sample_value
    assert sample("volume_operation_total_seconds_sum", labels) == 3
    assert sample("volume_operation_total_seconds_count", labels) == 1
    assert sample("volume_operation_total_errors_total", labels) == 1
    assert sample("volume_operation_errors_total", labels) == 1


def test_calls_of_plugins_are_told_apart_by_their_outcome() -> None:
    metrics = BinderMetrics(VirtualClock())
    metrics.called("p", "volume_delete", 0.2, ok=False)
    labels = {
        "volume_plugin": "p",
        "operation_name": "volume_delete",
        "status": "fail-unknown",
        "migrated": "false",
    }
    sample = registered(metrics).get_sample_value
    assert sample("storage_operation_duration_seconds_bucket", labels | {"le": "0.25"}) == 1
    assert sample("storage_operation_duration_seconds_bucket", labels | {"le": "0.1"}) == 0
