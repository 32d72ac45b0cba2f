import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from mooring.apiserver.api.metrics import Load, Metrics, Target

CREATE = Target("POST", "", "v1", "pods", "", "resource")
WATCH = Target("WATCH", "storage.k8s.io", "v1", "storageclasses", "", "cluster")
LABELS = CREATE._asdict()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(revision=lambda: 42, objects=lambda: {"pods": 3, "secrets": 0})


def read(metrics: Metrics, family: str) -> Metric:
    text = metrics.render().decode()
    return next(f for f in text_string_to_metric_families(text) if f.name == family)


def values(metrics: Metrics, family: str) -> list[tuple[dict[str, str], float]]:
    return [(sample.labels, sample.value) for sample in read(metrics, family).samples]


def test_requests_are_counted_by_target_and_code(metrics: Metrics) -> None:
    for code in (201, 201, 409):
        metrics.started(Load.MUTATING)
        metrics.finished(Load.MUTATING, CREATE, code, 0.001)
    counted = {
        sample.labels["code"]: sample
        for sample in read(metrics, "apiserver_request").samples
        if sample.name == "apiserver_request_total"
    }
    assert {code: sample.value for code, sample in counted.items()} == {"201": 2, "409": 1}
    assert counted["409"].labels == {**LABELS, "code": "409"}


def test_durations_fall_into_cumulative_buckets(metrics: Metrics) -> None:
    for seconds in (0.001, 0.005, 0.3, 100.0):
        metrics.started(Load.MUTATING)
        metrics.finished(Load.MUTATING, CREATE, 201, seconds)
    samples = read(metrics, "apiserver_request_duration_seconds").samples
    buckets = {s.labels["le"]: s.value for s in samples if s.name.endswith("_bucket")}
    assert [buckets[le] for le in ("0.005", "0.025", "0.2", "0.4", "60.0", "+Inf")] == [
        2,
        2,
        2,
        3,
        3,
        4,
    ]
    assert [s.value for s in samples if s.name.endswith("_count")] == [4]
    assert [s.value for s in samples if s.name.endswith("_sum")] == [pytest.approx(100.306)]


@given(durations=st.lists(st.floats(0, 1000), min_size=1, max_size=20))
def test_every_duration_is_counted_at_and_above_its_own_size(durations: list[float]) -> None:
    metrics = Metrics(revision=lambda: 0, objects=dict)
    for seconds in durations:
        metrics.started(Load.READ_ONLY)
        metrics.finished(Load.READ_ONLY, CREATE, 200, seconds)
    samples = [
        (float(sample.labels["le"]), sample.value)
        for sample in read(metrics, "apiserver_request_duration_seconds").samples
        if sample.name.endswith("_bucket")
    ]
    assert all(low <= high for (_, low), (_, high) in pairwise(samples))
    assert samples == [(le, sum(d <= le for d in durations)) for le, _ in samples]
    assert samples[-1][0] == math.inf


def test_what_is_being_served_now(metrics: Metrics) -> None:
    metrics.started(Load.MUTATING)
    metrics.started(Load.READ_ONLY)
    metrics.started(Load.READ_ONLY)
    metrics.finished(Load.READ_ONLY, CREATE, 200, 0.1)
    inflight = values(metrics, "apiserver_current_inflight_requests")
    assert inflight == [({"request_kind": "readOnly"}, 1), ({"request_kind": "mutating"}, 1)]


def test_open_streams(metrics: Metrics) -> None:
    metrics.stream_opened(WATCH)
    metrics.stream_opened(WATCH)
    metrics.stream_closed(WATCH)
    assert values(metrics, "apiserver_longrunning_requests") == [(WATCH._asdict(), 1)]


def test_events_sent(metrics: Metrics) -> None:
    metrics.events_sent("", "v1", "pods", 2)
    metrics.events_sent("", "v1", "pods", 3)
    pods = {"group": "", "version": "v1", "resource": "pods"}
    assert values(metrics, "apiserver_watch_events") == [(pods, 5)]


def test_the_store_is_asked_when_metrics_are_read() -> None:
    revisions = iter((7, 8))
    metrics = Metrics(revision=lambda: next(revisions), objects=lambda: {"pods": 3})
    assert values(metrics, "mooring_store_revision") == [({}, 7)]
    assert values(metrics, "mooring_store_revision") == [({}, 8)]


def test_objects_in_the_store(metrics: Metrics) -> None:
    stored = values(metrics, "apiserver_storage_objects")
    assert stored == [({"resource": "pods"}, 3), ({"resource": "secrets"}, 0)]


def test_the_process_is_measured_too(metrics: Metrics) -> None:
    assert read(metrics, "process_open_fds").samples[0].value > 0


def test_two_servers_in_one_process_do_not_share_counts(metrics: Metrics) -> None:
    other = Metrics(revision=lambda: 1, objects=dict)
    metrics.events_sent("", "v1", "pods", 2)
    assert values(other, "apiserver_watch_events") == []
