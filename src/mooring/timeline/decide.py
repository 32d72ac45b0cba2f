"""A picture becomes a timeline: each step with its begin, its end, and what says so. Pure."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from mooring.csi.call_record import CsiCall
from mooring.timeline.moments import Moment, best, first_event, not_before, whole, written
from mooring.timeline.picture import Bound, Picture, Pod
from mooring.timeline.steps import Step, StepName, StepState, Timeline

_OVER_REASONS = frozenset({"PodFailed", "PodCompleted"})  # of a pod that is not ready
_POD_CREATED = "pod creationTimestamp"


def decide_timeline(picture: Picture) -> Timeline:
    steps = [step for bound in picture.claims for step in _claim_steps(picture, bound)]
    pod = picture.pod
    if pod is not None:
        steps.append(_scheduled(picture, pod))
    for bound in picture.claims:
        steps += _volume_steps(picture, bound)
    if pod is not None:
        steps += _container_steps(picture, pod, steps)
        steps = [_over(step, pod) for step in steps]
    subject, uid = "", ""
    if pod is not None:
        subject, uid = f"pod/{pod.metadata.name}", pod.metadata.uid
    elif picture.claims:
        meta = picture.claims[0].claim.metadata
        subject, uid = f"pvc/{meta.name}", meta.uid
    birth = None if pod is None else whole(pod.metadata.creation_timestamp, _POD_CREATED)
    ordered = _from(birth, _in_order(steps))
    born = None if birth is None else birth.at
    return Timeline(subject, tuple(ordered), picture.now, picture.unseen, uid, born)


def _from(birth: Moment | None, steps: Iterable[Step]) -> Iterator[Step]:
    """What began before the pod, and ended with it there, took the pod no more than the rest."""
    for step in steps:
        began, ended = step.began, step.ended
        if birth is not None and began is not None and began.at < birth.at:
            is_over = began == ended or (ended is not None and ended.at < birth.at)
            yield step if is_over else msgspec.structs.replace(step, began=birth)
        else:
            yield step


def _in_order(steps: Iterable[Step]) -> list[Step]:
    """Steps of one second are moved behind the exact ones that come before them in the chain."""
    placed: list[Step] = []
    for step in steps:
        floor = _latest(one.ended for one in placed if one.object == step.object)
        if step.began is not None or step.ended is not None:
            began = not_before(step.began, floor)
            ended = not_before(not_before(step.ended, began), floor)
            step = msgspec.structs.replace(step, began=began, ended=ended)  # noqa: PLW2901
        placed.append(step)
    return placed


def _latest(moments: Iterable[Moment | None]) -> Moment | None:
    return max((one for one in moments if one is not None), key=lambda one: one.at, default=None)


# a claim


def _claim_steps(picture: Picture, bound: Bound) -> Iterator[Step]:
    claim = bound.claim
    meta, thing = claim.metadata, f"pvc/{claim.metadata.name}"
    created = whole(meta.creation_timestamp, "claim creationTimestamp")
    yield Step(StepName.CLAIM_CREATED, thing, StepState.DONE, created, created)
    yield from _provisioned(picture, bound, thing)
    if claim.status.phase != "Bound":
        yield Step(StepName.BOUND, thing, StepState.WAITING, created)
        return
    ended = written(meta.managed_fields, "claim", "spec", "volumeName")
    yield Step(StepName.BOUND, thing, _done(ended), created if ended else None, ended)


def _provisioned(picture: Picture, bound: Bound, thing: str) -> Iterator[Step]:
    """Nothing for a volume that somebody made by hand."""
    uid = bound.claim.metadata.uid
    calls = _calls(picture, "CreateVolume", uid=uid)
    began = best(
        _begin(calls),
        first_event(picture.events, uid, "Provisioning"),
    )
    volume = bound.volume
    succeeded = first_event(picture.events, uid, "ProvisioningSucceeded")
    annotations = {} if volume is None else volume.metadata.annotations
    is_provisioned = "pv.kubernetes.io/provisioned-by" in annotations
    if not (calls or began or succeeded or is_provisioned):
        return
    made = None
    if volume is not None:
        made = whole(volume.metadata.creation_timestamp, "volume creationTimestamp")
    ended = best(_end(calls), succeeded, made)
    if began is None:
        began = whole(bound.claim.metadata.creation_timestamp, "claim creationTimestamp")
    yield _called(StepName.PROVISIONED, thing, calls, began, ended)


# the volume of a claim, on the pod's node


def _volume_steps(picture: Picture, bound: Bound) -> Iterator[Step]:
    volume = bound.volume
    if volume is None or volume.spec.csi is None:
        return
    thing, handle = f"pv/{volume.metadata.name}", volume.spec.csi.volume_handle
    driver = volume.spec.csi.driver
    yield from _attached(picture, bound, thing)
    pod = picture.pod
    if pod is None or not pod.spec.node_name:
        return
    since = pod.metadata.creation_timestamp
    for name, method in (
        (StepName.STAGED, "NodeStageVolume"),
        (StepName.PUBLISHED, "NodePublishVolume"),
    ):
        uid = pod.metadata.uid if name is StepName.PUBLISHED else ""
        calls = _calls(picture, method, uid=uid, volume=handle, driver=driver)
        calls = [one for one in calls if since is None or one.started >= since]
        if calls:
            yield _called(name, thing, calls, _begin(calls), _end(calls))
        elif _has_started(pod) and name is StepName.STAGED:
            yield Step(name, thing, StepState.NOT_RECORDED)  # or staged before, for another pod
        else:
            state = StepState.NOT_RECORDED if _has_started(pod) else StepState.WAITING
            yield Step(name, thing, state)


def _attached(picture: Picture, bound: Bound, thing: str) -> Iterator[Step]:
    """Nothing for a driver that attaches nothing."""
    attachment, pod = bound.attachment, picture.pod
    if attachment is None:
        return
    meta = attachment.metadata
    calls = _calls(picture, "ControllerPublishVolume", uid=meta.uid)
    began = whole(meta.creation_timestamp, "attachment creationTimestamp")
    events = None
    if pod is not None and bound.volume is not None:
        name = bound.volume.metadata.name
        reason = "SuccessfulAttachVolume"
        events = first_event(picture.events, pod.metadata.uid, reason, f'"{name}"')
    ended = None
    if attachment.status.attached:
        wrote = written(meta.managed_fields, "attachment", "status", "attached")
        ended = best(_end(calls), wrote, events)
    step = _called(StepName.ATTACHED, thing, calls, best(_begin(calls), began), ended)
    state = step.state
    if attachment.status.attached:
        state = StepState.DONE
    yield msgspec.structs.replace(step, state=state)


# the pod


def _scheduled(picture: Picture, pod: Pod) -> Step:
    meta, thing = pod.metadata, f"pod/{pod.metadata.name}"
    created = whole(meta.creation_timestamp, _POD_CREATED)
    if not pod.spec.node_name:
        return Step(StepName.SCHEDULED, thing, StepState.WAITING, created)
    ended = best(
        first_event(picture.events, meta.uid, "Scheduled"), _condition(pod, "PodScheduled")
    )
    return Step(StepName.SCHEDULED, thing, _done(ended), created, ended)


def _container_steps(picture: Picture, pod: Pod, before: Sequence[Step]) -> Iterator[Step]:
    thing = f"pod/{pod.metadata.name}"
    began = _latest(step.ended for step in before)
    started = best(first_event(picture.events, pod.metadata.uid, "Started"), _first_started(pod))
    if started is None:
        state = StepState.WAITING if pod.spec.node_name else StepState.NOT_YET
        yield Step(StepName.CONTAINER_STARTED, thing, state, began)
        return
    began = not_later(began, started)
    yield Step(StepName.CONTAINER_STARTED, thing, StepState.DONE, began, started)
    ready = _condition(pod, "Ready")
    state = StepState.WAITING if ready is None else StepState.DONE
    yield Step(StepName.READY, thing, state, started, ready)


def _over(step: Step, pod: Pod) -> Step:
    """Of a pod that has ended nothing is waited for."""
    how = pod.how_ended
    if not how or step.state in {StepState.DONE, StepState.NOT_RECORDED}:
        return step
    ended = _finished(pod) if step.name is StepName.READY else None
    return msgspec.structs.replace(step, state=StepState.ENDED, ended=ended, code=how)


def _finished(pod: Pod) -> Moment | None:
    """When its last container ended; of one that is being killed, when the pod was given up."""
    runs = [status.state.terminated for status in pod.status.container_statuses]
    times = [run.finished_at for run in runs if run is not None and run.finished_at is not None]
    if times and len(times) == len(runs):
        return whole(max(times), "pod container finishedAt")
    for one in pod.status.conditions:
        if one.type == "Ready" and one.reason in _OVER_REASONS:
            return whole(one.last_transition_time, "pod condition Ready")
    return None


def not_later(began: Moment | None, ended: Moment) -> Moment | None:
    """A begin that is known only from other steps: none, where these came after the end."""
    return None if began is not None and began.at > ended.at else began


def _condition(pod: Pod, kind: str) -> Moment | None:
    for one in pod.status.conditions:
        if one.type == kind and one.status == "True":
            return whole(one.last_transition_time, f"pod condition {kind}")
    return None


def _first_started(pod: Pod) -> Moment | None:
    """Of the first run of a container that is on record."""
    runs = [
        run.started_at
        for status in pod.status.container_statuses
        for state in (status.last_state, status.state)
        for run in (state.running, state.terminated)
        if run is not None and run.started_at is not None
    ]
    return whole(min(runs, default=None), "pod container startedAt")


def _has_started(pod: Pod) -> bool:
    return _first_started(pod) is not None


# calls


def _calls(
    picture: Picture, method: str, *, uid: str = "", volume: str = "", driver: str = ""
) -> list[CsiCall]:
    """In the order of their begin, those of other drivers, volumes and objects left out."""
    found = [
        one
        for one in picture.calls
        if one.method == method
        and (not uid or (one.because is not None and one.because.uid == uid))
        and (not volume or one.volume == volume)
        and (not driver or one.driver == driver)
    ]
    return sorted(found, key=lambda one: one.started)


def _begin(calls: Sequence[CsiCall]) -> Moment | None:
    return Moment(calls[0].started, f"call {calls[0].method}") if calls else None


def _end(calls: Sequence[CsiCall]) -> Moment | None:
    """Of the first that succeeded: repetitions change nothing."""
    for one in calls:
        if one.code == "OK":
            return Moment(one.ended, f"call {one.method}")
    return None


def _called(
    name: StepName,
    thing: str,
    calls: Sequence[CsiCall],
    began: Moment | None,
    ended: Moment | None,
) -> Step:
    """Calls until the first that succeeded are tries; the last of them says why it is not done."""
    tries = 0
    code = ""
    for one in calls:
        tries, code = tries + 1, one.code
        if one.code == "OK":
            break
    if ended is not None:
        state = StepState.DONE
    elif calls and calls[-1].in_flight:
        state = StepState.IN_FLIGHT
    elif calls:
        state = StepState.FAILING
    else:
        state = StepState.WAITING
    return Step(name, thing, state, began, ended, tries, "" if code == "OK" else code)


def _done(ended: Moment | None) -> StepState:
    return StepState.NOT_RECORDED if ended is None else StepState.DONE
