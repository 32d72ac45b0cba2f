"""What a timeline makes of records: which moment, from where, and in which state a step is."""

import msgspec
import pytest

from mooring.timeline.decide import decide_timeline
from mooring.timeline.picture import Bound, Picture
from mooring.timeline.show import document, lines, rows
from mooring.timeline.spans import spans_of_timeline
from mooring.timeline.steps import Step, StepName, StepState, Timeline
from tests.unit.timeline.pictures import (
    ALL_CALLS,
    CLAIM_UID,
    NOON,
    a_call,
    a_claim,
    a_picture,
    a_pod,
    a_volume,
    an_attachment,
    an_ended_pod,
    an_event,
    at,
)

S = StepName


def step(timeline: Timeline, name: StepName) -> Step:
    (found,) = [one for one in timeline.steps if one.name is name]
    return found


def ends(timeline: Timeline) -> dict[StepName, float]:
    return {
        one.name: (one.ended.at - NOON).total_seconds()
        for one in timeline.steps
        if one.ended is not None
    }


def test_every_step_of_a_pod_that_runs_has_its_moment() -> None:
    timeline = decide_timeline(a_picture())
    assert timeline.subject == "pod/web"
    assert ends(timeline) == {
        S.CLAIM_CREATED: 0.0,
        S.PROVISIONED: 0.4,
        S.BOUND: 1.0,
        S.SCHEDULED: 2.25,
        S.ATTACHED: 2.7,
        S.STAGED: 3.5,
        S.PUBLISHED: 3.7,
        S.CONTAINER_STARTED: 5.125,
        S.READY: 5.125,  # the condition says 5: within that second, and after the start
    }
    assert {one.state for one in timeline.steps} == {StepState.DONE}
    assert timeline.end == at(5.125)
    assert step(timeline, S.STAGED).seconds == pytest.approx(0.5)
    assert step(timeline, S.STAGED).is_exact
    assert not step(timeline, S.BOUND).is_exact


def test_without_calls_and_events_the_objects_tell_what_they_know() -> None:
    timeline = decide_timeline(a_picture(calls=(), events=()))
    assert ends(timeline) == {
        S.CLAIM_CREATED: 0.0,
        S.PROVISIONED: 1.0,
        S.BOUND: 1.0,
        S.SCHEDULED: 2.0,
        S.ATTACHED: 3.0,
        S.CONTAINER_STARTED: 5.0,
        S.READY: 5.0,
    }
    assert step(timeline, S.STAGED).state is StepState.NOT_RECORDED
    assert step(timeline, S.PUBLISHED).state is StepState.NOT_RECORDED
    assert timeline.end is not None


WAITING: dict[str, tuple[Picture, StepName, StepState]] = {
    "an unbound claim": (
        a_picture(claims=(Bound(a_claim(bound=None)),), pod=None, calls=()),
        S.BOUND,
        StepState.WAITING,
    ),
    "a pod without a node": (
        a_picture(pod=a_pod(scheduled=None, started=None, ready=None), calls=(), events=()),
        S.SCHEDULED,
        StepState.WAITING,
    ),
    "its container comes later": (
        a_picture(pod=a_pod(scheduled=None, started=None, ready=None), calls=(), events=()),
        S.CONTAINER_STARTED,
        StepState.NOT_YET,
    ),
    "an attachment that is not attached": (
        a_picture(
            claims=(Bound(a_claim(), a_volume(), an_attachment(attached=None)),),
            pod=a_pod(started=None, ready=None),
            calls=(),
            events=(),
        ),
        S.ATTACHED,
        StepState.WAITING,
    ),
    "a driver that hangs": (
        a_picture(
            pod=a_pod(started=None, ready=None),
            calls=(*ALL_CALLS[:3], a_call("NodePublishVolume", 3.6, None)),
            events=(),
        ),
        S.PUBLISHED,
        StepState.IN_FLIGHT,
    ),
    "a driver that fails": (
        a_picture(
            pod=a_pod(started=None, ready=None),
            calls=(a_call("NodeStageVolume", 3.0, 3.1, code="Internal"),),
            events=(),
        ),
        S.STAGED,
        StepState.FAILING,
    ),
    "a container that is not ready": (a_picture(pod=a_pod(ready=None)), S.READY, StepState.WAITING),
}


@pytest.mark.parametrize("case", WAITING)
def test_what_is_waited_for_is_said(case: str) -> None:
    picture, name, state = WAITING[case]
    timeline = decide_timeline(picture)
    assert step(timeline, name).state is state
    assert timeline.end is None
    assert timeline.seconds == 60


ENDED = {"Succeeded": ("Succeeded", ""), "Failed": ("Failed", ""), "Evicted": ("Failed", "Evicted")}


@pytest.mark.parametrize("how", ENDED)
def test_a_pod_that_has_ended_is_not_waited_for(how: str) -> None:
    timeline = decide_timeline(a_picture(now=at(3600), pod=an_ended_pod(*ENDED[how])))
    ready = step(timeline, S.READY)
    assert (ready.state, ready.code) == (StepState.ENDED, how)
    assert (timeline.end, timeline.seconds) == (at(30), 30.0)
    row = next(row for row in rows(timeline) if row[0] == "ready")
    assert row[2:5] == (f"ended ({how})", "12:00:30", "~30s")
    assert not any("so far" in line for line in lines(timeline))


def test_a_pod_whose_containers_are_being_killed_ended_when_it_was_given_up() -> None:
    pod = a_pod(ready=20)
    given_up = [
        msgspec.structs.replace(one, status="False", reason="PodFailed")
        if one.type == "Ready"
        else one
        for one in pod.status.conditions
    ]
    status = msgspec.structs.replace(
        pod.status, phase="Failed", reason="Evicted", conditions=tuple(given_up)
    )
    evicted = msgspec.structs.replace(pod, status=status)
    assert decide_timeline(a_picture(pod=evicted)).seconds == 20.0


def test_a_pod_that_ended_before_it_ran_waits_for_nothing() -> None:
    pod = a_pod(started=None, ready=None)
    status = msgspec.structs.replace(pod.status, phase="Failed", reason="Evicted")
    over = msgspec.structs.replace(pod, status=status)
    timeline = decide_timeline(a_picture(pod=over, calls=ALL_CALLS[:2], events=()))
    assert step(timeline, S.CONTAINER_STARTED).state is StepState.ENDED
    assert step(timeline, S.STAGED).state is StepState.ENDED
    assert timeline.end == at(2.7)


def test_a_call_that_was_repeated_counts_its_tries_until_the_first_success() -> None:
    calls = (
        a_call("NodePublishVolume", 3.0, 3.1, code="Aborted"),
        a_call("NodePublishVolume", 3.5, 3.6, code="Unavailable"),
        a_call("NodePublishVolume", 4.0, 4.25),
        a_call("NodePublishVolume", 30.0, 30.5),  # the same again, for fresh tokens
    )
    published = step(decide_timeline(a_picture(calls=calls)), S.PUBLISHED)
    assert (published.tries, published.code, published.seconds) == (3, "", 1.25)


def test_a_failing_call_tells_its_code() -> None:
    calls = (a_call("CreateVolume", 0.2, 0.4, CLAIM_UID, "ResourceExhausted"),)
    picture = a_picture(claims=(Bound(a_claim(bound=None)),), pod=None, calls=calls, events=())
    provisioned = step(decide_timeline(picture), S.PROVISIONED)
    assert (provisioned.state, provisioned.code) == (StepState.FAILING, "ResourceExhausted")


def test_calls_of_other_objects_volumes_and_times_are_not_its_own() -> None:
    others = (
        a_call("CreateVolume", 0.1, 0.2, "another claim"),
        a_call("NodePublishVolume", 3.0, 3.1, "another pod"),
        a_call("NodeStageVolume", 3.0, 3.1, volume="another volume"),
        a_call("NodeStageVolume", -9.0, -8.0),  # before there was this pod
    )
    assert ends(decide_timeline(a_picture(calls=(*others, *ALL_CALLS)))) == ends(
        decide_timeline(a_picture())
    )


def test_a_volume_made_by_hand_is_not_provisioned_and_one_without_attachment_not_attached() -> None:
    bound = Bound(a_claim(), a_volume(provisioned=False))
    timeline = decide_timeline(a_picture(claims=(bound,), calls=ALL_CALLS[2:]))
    names = [one.name for one in timeline.steps]
    assert S.PROVISIONED not in names
    assert S.ATTACHED not in names


def test_a_claim_alone_has_its_own_steps() -> None:
    timeline = decide_timeline(a_picture(pod=None))
    assert timeline.subject == "pvc/data"
    assert [one.name for one in timeline.steps] == [
        *(S.CLAIM_CREATED, S.PROVISIONED, S.BOUND, S.ATTACHED),
    ]


def test_an_attachment_for_a_later_pod_is_no_part_of_a_claim() -> None:
    """That for its first pod is gone with it, and no record of it is left."""
    bound = Bound(a_claim(), a_volume(), an_attachment(314, 315))
    timeline = decide_timeline(a_picture(now=at(3600), claims=(bound,), pod=None, calls=()))
    attached = step(timeline, S.ATTACHED)
    assert (attached.seconds, timeline.counts(attached)) == (1.0, False)
    assert (timeline.end, timeline.seconds) == (at(1), 1.0)
    names = [span.name for span in spans_of_timeline(timeline)]
    assert "attached" not in names
    shown = {one["step"]: one["counts"] for one in document(timeline)["steps"]}
    assert shown == {"claim created": True, "provisioned": True, "bound": True, "attached": False}


def test_no_step_ends_before_it_begins() -> None:
    pictures = [
        a_picture(),
        a_picture(calls=()),
        a_picture(events=()),
        a_picture(calls=ALL_CALLS[2:]),
    ]
    pictures += [picture for picture, _, _ in WAITING.values()]
    for picture in pictures:
        for one in decide_timeline(picture).steps:
            if one.began is not None and one.ended is not None:
                assert one.began.at <= one.ended.at, one


def test_the_event_of_an_attachment_is_that_of_its_own_volume() -> None:
    events = (
        an_event("SuccessfulAttachVolume", 2.1, message='succeeded for volume "pv-2"'),
        an_event("SuccessfulAttachVolume", 2.9, message='succeeded for volume "pv-1"'),
    )
    attached = step(decide_timeline(a_picture(calls=(), events=events)), S.ATTACHED)
    assert attached.ended is not None
    assert attached.ended.at == at(2.9)


def test_the_claims_of_a_pod_are_those_of_its_volumes() -> None:
    assert a_pod().claim_names() == ("data", "web-scratch")


YOUNG = a_pod(created=601, scheduled=602, started=604, ready=604)


def test_the_timeline_of_a_pod_on_an_older_claim_begins_with_the_pod() -> None:
    timeline = decide_timeline(a_picture(now=at(660), pod=YOUNG, events=(), calls=ALL_CALLS[:2]))
    assert (timeline.start, timeline.seconds) == (at(601), 3.0)
    before = [one.name for one in timeline.steps if timeline.is_before(one)]
    assert before == [S.CLAIM_CREATED, S.PROVISIONED, S.BOUND, S.ATTACHED]


def test_a_claim_that_waited_for_the_pod_took_it_no_longer_than_the_pod_is_old() -> None:
    claims = (Bound(a_claim(bound=603), a_volume(), an_attachment(603, 603)),)
    timeline = decide_timeline(a_picture(now=at(660), claims=claims, pod=YOUNG, calls=()))
    bound = step(timeline, S.BOUND)
    assert bound.began is not None
    assert (bound.seconds, bound.began.source) == (2.0, "pod creationTimestamp")
    assert not timeline.is_before(bound)


def test_the_timeline_of_a_claim_begins_with_the_claim() -> None:
    timeline = decide_timeline(a_picture(pod=None))
    assert timeline.start == at(0)
    assert not any(timeline.is_before(one) for one in timeline.steps)
