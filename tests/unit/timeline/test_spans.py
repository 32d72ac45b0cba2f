"""Timelines and calls as spans: the same ids each time, and calls in the trace of their object."""

import msgspec

from mooring.csi.call_record import Process
from mooring.timeline.decide import decide_timeline
from mooring.timeline.spans import span_of_call, spans_of_timeline
from tests.unit.timeline.pictures import ALL_CALLS, POD_UID, a_call, a_picture, a_pod, at

PROCESS = Process("p1", "vm", 7)


def test_a_timeline_is_one_span_over_a_span_for_each_step() -> None:
    timeline = decide_timeline(a_picture())
    root, *steps = spans_of_timeline(timeline)
    assert (root.name, root.began, root.ended) == ("start pod/web", at(0), at(5.125))
    assert [step.name for step in steps] == [step.name.value for step in timeline.steps]
    assert {step.parent_id for step in steps} == {root.span_id}
    assert {step.trace_id for step in steps} == {root.trace_id}
    assert len({step.span_id for step in steps}) == len(steps)
    assert all(root.began <= step.began <= step.ended for step in steps)


def test_sent_twice_it_is_the_same() -> None:
    first = list(spans_of_timeline(decide_timeline(a_picture())))
    assert first == list(spans_of_timeline(decide_timeline(a_picture())))


def test_steps_that_are_not_done_are_no_spans() -> None:
    picture = a_picture(pod=a_pod(started=None, ready=None), calls=(), events=())
    names = {span.name for span in spans_of_timeline(decide_timeline(picture))}
    assert not names & {"staged", "published", "container started", "ready"}
    empty = decide_timeline(a_picture(claims=(), pod=None, events=(), calls=()))
    assert list(spans_of_timeline(empty)) == []


def test_the_calls_of_a_pod_are_in_the_trace_of_its_timeline() -> None:
    root, *_ = spans_of_timeline(decide_timeline(a_picture()))
    call = span_of_call(ALL_CALLS[-1], PROCESS)
    assert (call.trace_id, call.parent_id) == (root.trace_id, root.span_id)
    assert call.name == "csi.v1.Node/NodePublishVolume"
    assert call.attributes["rpc.grpc.status_code"] == 0
    assert call.attributes["k8s.object.name"] == "web"
    assert call.error == ""


def test_a_call_that_failed_and_one_without_a_cause() -> None:
    failed = span_of_call(a_call("NodeStageVolume", 1, 2, POD_UID, "Aborted"), PROCESS)
    assert (failed.error, failed.attributes["rpc.grpc.status_code"]) == ("Aborted", 10)
    alone = msgspec.structs.replace(a_call("Probe", 1, 2), because=None, volume="")
    span = span_of_call(alone, PROCESS)
    assert span.parent_id == 0
    assert "csi.volume" not in span.attributes
    assert span_of_call(alone, Process("p2", "vm", 8)).span_id != span.span_id


def test_the_span_of_a_pod_begins_with_the_pod_and_has_none_of_an_older_claim() -> None:
    young = a_pod(created=601, scheduled=602, started=604, ready=604)
    picture = a_picture(now=at(660), pod=young, events=(), calls=())
    root, *steps = spans_of_timeline(decide_timeline(picture))
    assert (root.began, root.ended) == (at(601), at(604))
    assert [one.name for one in steps] == ["scheduled", "container started", "ready"]
