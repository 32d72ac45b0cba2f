import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from mooring.reconcile.metrics import InformerCounts, LoopMetrics, RecorderCounts
from mooring.reconcile.queue import KeyedQueue
from tests.fakes.clock import VirtualClock

LABELS = ["name", "resource", "component", "outcome", "le"]


def samples(metrics: LoopMetrics) -> dict[tuple[str, ...], float]:
    """What a scrape shows: values by name and labels' values."""
    registry = CollectorRegistry()
    registry.register(metrics)
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {
        (sample.name, *map(sample.labels.__getitem__, sorted(sample.labels, key=LABELS.index))): (
            sample.value
        )
        for family in families
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


async def test_a_queue_goes_by_the_names_that_dashboards_know() -> None:
    clock = VirtualClock()
    queue: KeyedQueue[str] = KeyedQueue(clock)
    metrics = LoopMetrics()
    metrics.add_queue("claims", queue)
    queue.add("a")
    queue.add("b")
    queue.retry("c")
    await clock.advance(0.05)
    async with queue.lease():
        await clock.advance(2)
    async with queue.lease(), queue.lease():
        await clock.advance(3)
        queue.add("d")
        shown = samples(metrics)
    assert shown["workqueue_depth", "claims"] == 1
    assert shown["workqueue_adds_total", "claims"] == 4
    assert shown["workqueue_retries_total", "claims"] == 1
    assert shown["workqueue_unfinished_work_seconds", "claims"] == 6
    assert shown["workqueue_longest_running_processor_seconds", "claims"] == 3
    assert shown["workqueue_work_duration_seconds_count", "claims"] == 1
    assert shown["workqueue_work_duration_seconds_sum", "claims"] == pytest.approx(2)
    assert shown["workqueue_queue_duration_seconds_count", "claims"] == 3
    # a waited 0.05, b 2.05 and c, put off for 0.005, 2.045
    assert shown["workqueue_queue_duration_seconds_sum", "claims"] == pytest.approx(4.145)
    assert shown["workqueue_queue_duration_seconds_bucket", "claims", "0.01"] == 0
    assert shown["workqueue_queue_duration_seconds_bucket", "claims", "0.1"] == 1
    assert shown["workqueue_queue_duration_seconds_bucket", "claims", "10.0"] == 3


def test_the_buckets_are_those_of_kubernetes() -> None:
    metrics = LoopMetrics()
    metrics.add_queue("claims", KeyedQueue[str](VirtualClock()))
    bounds = [
        key[2] for key in samples(metrics) if key[0] == "workqueue_queue_duration_seconds_bucket"
    ]
    assert bounds == [
        *("1e-08", "1e-07", "1e-06", "9.999999999999999e-06", "9.999999999999999e-05"),
        *("0.001", "0.01", "0.1", "1.0", "10.0", "+Inf"),
    ]


def test_a_queue_at_rest() -> None:
    metrics = LoopMetrics()
    metrics.add_queue("claims", KeyedQueue[str](VirtualClock()))
    shown = samples(metrics)
    assert shown["workqueue_longest_running_processor_seconds", "claims"] == 0
    assert shown["workqueue_unfinished_work_seconds", "claims"] == 0


def test_informers_and_recorders() -> None:
    informer, recorder = InformerCounts(), RecorderCounts()
    informer.lists, informer.watches, informer.caught = 1, 2, 3
    recorder.written, recorder.over_budget, recorder.crowded_out, recorder.refused = 4, 5, 6, 7
    metrics = LoopMetrics()
    metrics.add_informer("persistentvolumes", informer)
    metrics.add_recorder("binder", recorder)
    shown = samples(metrics)
    assert shown["mooring_informer_lists_total", "persistentvolumes"] == 1
    assert shown["mooring_informer_watches_total", "persistentvolumes"] == 2
    assert shown["mooring_informer_resync_caught_total", "persistentvolumes"] == 3
    events = {key[2]: value for key, value in shown.items() if key[0].startswith("mooring_rec")}
    assert events == {"written": 4, "over_budget": 5, "crowded_out": 6, "refused": 7}
