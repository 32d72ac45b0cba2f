"""What to do about one volume: take it from where nobody wants it, bring it to where somebody does.

Attaching: the object is created, and its status waited for. Detaching goes in this order, so that
a node never uses what is being taken away: the node is told not to count on the volume; what it
says at that moment of its use decides; then the object is deleted, and its end waited for.
"""

from collections.abc import Iterator
from typing import assert_never

from msgspec.structs import replace

from mooring.controllers.attachment.actual import (
    BLANK,
    Act,
    Attempt,
    Failure,
    Memory,
    State,
    Told,
)
from mooring.controllers.attachment.force_detach import Force, Held, decide_gate
from mooring.controllers.attachment.multi_attach import (
    find_holders,
    find_wait,
    is_first,
    is_told,
    refusal,
    users_of,
)
from mooring.controllers.attachment.plan import (
    DETACH_FAILED,
    FAILED,
    SUCCEEDED,
    WAITING,
    CountForced,
    Create,
    Delete,
    Ended,
    Forget,
    LookAgain,
    Plan,
    Remember,
    Report,
    Step,
    Unreport,
    Withdraw,
)
from mooring.controllers.attachment.view import Place, VolumeView
from mooring.model.attachment import Attachment
from mooring.model.event import EventType
from mooring.model.meta import ApiObject
from mooring.model.steps import Emit, plan
from mooring.plugins.csi.attachment_wait import (
    BEING_DELETED,
    DELETED,
    WAIT_SECONDS,
    Failed,
    NotYet,
    Outcome,
    attach_timed_out,
    detach_timed_out,
    judge_attach,
    judge_detach,
)

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 122.0  # seconds between failed attempts; each is twice the last
TELL_AGAIN_SECONDS = 300.0  # a wait that goes on is told of again

Steps = Iterator[Step]


def decide(view: VolumeView) -> Plan:
    unwanted = [place for place in view.places if not place.pods]
    wanted = [place for place in view.places if place.pods]
    steps = [step for place in unwanted for step in _decide_unwanted(view, place)]
    steps += [step for place in wanted for step in _decide_wanted(view, place)]
    return plan(f"{len(wanted)} node(s) want it", *steps)


# where pods want it


def _decide_wanted(view: VolumeView, place: Place) -> Steps:
    attachment = place.attachment
    if attachment is None:
        yield from _bring(view, place)
    elif attachment.is_deleting:
        yield from _await_end(view, place, attachment)
    elif attachment.is_attached:
        yield from _confirm(view, place)
    else:
        yield from _await_attach(view, place, attachment)


def _bring(view: VolumeView, place: Place) -> Steps:
    """Nothing attaches it there yet."""
    memory = place.memory
    yield from _ended_well(view, place, Act.DETACH)
    if place.is_reported:
        yield Unreport(place.spot)
    if not place.is_managed or view.wanted is None:
        return
    if memory.attempt is not None and memory.attempt.act is Act.ATTACH:
        yield from decide_failure(view, place, Act.ATTACH, DELETED.message)
        return
    if holders := find_holders(view, place):
        yield from _refuse(view, place, holders)
        return
    if (pause := _pause(view, memory, Act.ATTACH)) > 0:
        yield LookAgain(pause)
        return
    if not is_first(view, place):
        return
    attempt = Attempt(Act.ATTACH, view.now)
    yield Remember(place.spot, Memory(attempt=attempt, failure=_of(memory, Act.ATTACH)))
    yield Create(place.spot, view.wanted)
    yield LookAgain(WAIT_SECONDS)


def _confirm(view: VolumeView, place: Place) -> Steps:
    """It is there."""
    yield from _ended_well(view, place, Act.ATTACH)
    if place.memory != BLANK:
        yield Remember(place.spot, BLANK)
    if place.is_managed and not place.is_reported:
        if not place.memory.is_withdrawn:
            words = f'AttachVolume.Attach succeeded for volume "{view.label}" '
            for pod in place.pods:
                yield Emit(pod, EventType.NORMAL, SUCCEEDED, words)
        yield Report(place.spot)


def _await_attach(view: VolumeView, place: Place, attachment: Attachment) -> Steps:
    """It was asked for; the driver's attacher has not said that it is there."""
    memory = place.memory
    if place.is_reported:
        yield Unreport(place.spot)
    if (pause := _pause(view, memory, Act.ATTACH)) > 0:
        yield LookAgain(pause)
        return
    attempt = _attempt(view, memory, Act.ATTACH)
    memory = Memory(attempt=attempt, failure=_of(memory, Act.ATTACH))
    late = attach_timed_out(view.csi.driver, view.csi.handle)
    yield from _await_answer(view, place, memory, judge_attach(attachment), late)


def _await_end(view: VolumeView, place: Place, attachment: Attachment) -> Steps:
    """It is wanted again while it is being taken away: there is no way back but through the end."""
    if place.is_reported:
        yield Unreport(place.spot)
    memory = place.memory
    if (pause := _pause(view, memory, Act.ATTACH)) > 0:
        yield LookAgain(pause)
        return
    attempt = memory.attempt
    if attempt is None or attempt.act is not Act.DETACH:
        yield from decide_failure(view, place, Act.ATTACH, BEING_DELETED.message)
        return
    left = attempt.since + WAIT_SECONDS - view.now
    if left > 0 and isinstance(judge_detach(attachment), NotYet):
        yield LookAgain(left)
    else:
        yield from decide_failure(view, place, Act.ATTACH, BEING_DELETED.message)


def _refuse(view: VolumeView, place: Place, holders: tuple[Place, ...]) -> Steps:
    """Another node has it. Each pod is told once, and then again at long intervals."""
    told = [holder for holder in holders if is_told(holder)]
    memory = place.memory
    if told:
        users = users_of(told)
        for pod in place.pods:
            if _is_news(memory.refused, "", pod.uid, view.now):
                words = refusal(view.label, pod, users)
                yield Emit(pod, EventType.WARNING, FAILED, words)
        memory = replace(memory, refused=_heard(memory.refused, "", place, view.now))
    waits = [wait for holder in holders if (wait := find_wait(view, holder)) is not None]
    for wait in waits[:1]:
        for pod in place.pods:
            if _is_news(memory.waits, wait.topic, pod.uid, view.now):
                yield Emit(pod, EventType.NORMAL, WAITING, wait.words)
        memory = replace(memory, waits=_heard(memory.waits, wait.topic, place, view.now))
    if memory != place.memory:
        yield Remember(place.spot, memory)
    for heard in (memory.refused if told else None, memory.waits if waits else None):
        if heard is not None:
            yield LookAgain(heard.at + TELL_AGAIN_SECONDS - view.now)


def _is_news(told: Told | None, topic: str, uid: str, now: float) -> bool:
    return told is None or uid not in told.pods or not _lasts(told, topic, now)


def _heard(told: Told | None, topic: str, place: Place, now: float) -> Told:
    pods = frozenset(pod.uid for pod in place.pods)
    return Told(topic, pods, told.at if told is not None and _lasts(told, topic, now) else now)


def _lasts(told: Told, topic: str, now: float) -> bool:
    return told.topic == topic and now - told.at < TELL_AGAIN_SECONDS


# where nobody wants it


def _decide_unwanted(view: VolumeView, place: Place) -> Steps:
    attachment = place.attachment
    if attachment is None:
        yield from _clear_up(view, place)
    elif not place.is_ours:
        if place.memory != BLANK:
            yield Remember(place.spot, BLANK)  # whoever made it has its own reasons
    elif attachment.is_deleting:
        yield from _await_detach(view, place, attachment)
    else:
        yield from _take_away(view, place, attachment)


def _clear_up(view: VolumeView, place: Place) -> Steps:
    """It is not attached, whatever the node was told."""
    yield from _ended_well(view, place, Act.DETACH)
    if place.is_reported and place.is_in_use and place.node is not None:
        return  # nothing is there to be detached, but the node is not to be startled either
    if place.is_reported:
        yield Unreport(place.spot)
    yield Forget(place.spot)


def _await_detach(view: VolumeView, place: Place, attachment: Attachment) -> Steps:
    """Its object is on its way out."""
    memory = place.memory
    if place.is_reported:
        yield Unreport(place.spot)
    if (pause := _pause(view, memory, Act.DETACH)) > 0:
        yield LookAgain(pause)
        return
    attempt = _attempt(view, memory, Act.DETACH)
    memory = replace(memory, attempt=attempt, failure=_of(memory, Act.DETACH))
    late = detach_timed_out(view.csi.driver, view.csi.handle)
    yield from _await_answer(view, place, memory, judge_detach(attachment), late)


def _take_away(view: VolumeView, place: Place, attachment: Attachment) -> Steps:
    """It is there, or may be."""
    memory = place.memory
    if (left := _under_way(view, place, attachment)) > 0:
        yield LookAgain(left)
        return
    since = view.now if memory.leaving_since is None else memory.leaving_since
    memory = Memory(
        failure=_of(memory, Act.DETACH), leaving_since=since, is_withdrawn=memory.is_withdrawn
    )
    if (pause := _pause(view, memory, Act.DETACH)) > 0:
        yield LookAgain(pause)
        return
    match decide_gate(place, view.policy, view.now):
        case Held(_, until):
            yield from _hold(view, place, memory, until)
            return
        case Force() as force if place.is_read:
            yield CountForced(place.spot, force)
        case _ if not place.is_read:
            yield Remember(place.spot, replace(memory, is_withdrawn=True))
            yield Withdraw(place.spot)
            return
        case _:
            pass
    yield Remember(place.spot, replace(memory, attempt=Attempt(Act.DETACH, view.now)))
    yield Delete(place.spot, attachment)
    yield LookAgain(WAIT_SECONDS)


def _hold(view: VolumeView, place: Place, memory: Memory, until: float | None) -> Steps:
    """The node uses it. What it was told too early is taken back."""
    if place.state is State.ATTACHED and place.is_managed and not place.is_reported:
        yield Report(place.spot)
    yield Remember(place.spot, replace(memory, is_withdrawn=False))
    if until is not None:
        yield LookAgain(until - view.now)


def _under_way(view: VolumeView, place: Place, attachment: Attachment) -> float:
    """Seconds for which an attempt that has begun is left alone.

    An attach is not cut short: who asks for a detach in the middle of it may be answered first.
    """
    attempt = place.memory.attempt
    if attempt is None:
        return 0.0
    if attempt.act is Act.ATTACH and not isinstance(judge_attach(attachment), NotYet):
        return 0.0
    return attempt.since + WAIT_SECONDS - view.now


# what both have in common


def _attempt(view: VolumeView, memory: Memory, act: Act) -> Attempt:
    """The one that is under way; or, of one that somebody else began, from when on we watch it."""
    attempt = memory.attempt
    return attempt if attempt is not None and attempt.act is act else Attempt(act, view.now)


def _await_answer(
    view: VolumeView, place: Place, memory: Memory, outcome: Outcome, late: Failed
) -> Steps:
    """`memory` has the attempt that is waited for, `late` what to say when it takes too long."""
    attempt = memory.attempt
    if attempt is None:
        return
    left = attempt.since + WAIT_SECONDS - view.now
    failed = outcome if isinstance(outcome, Failed) else late if left <= 0 else None
    if failed is not None:
        known = replace(place, memory=memory)
        yield from decide_failure(view, known, attempt.act, failed.message)
        return
    if memory != place.memory:
        yield Remember(place.spot, memory)
    yield LookAgain(left)


def decide_failure(view: VolumeView, place: Place, act: Act, message: str) -> Steps:
    """An attempt came to nothing: people are told, and the next one has to wait."""
    memory = place.memory
    known = _of(memory, act)
    times = 1 if known is None else known.times + 1
    wait = min(FIRST_PAUSE * 2.0 ** min(times - 1, 16), LONGEST_PAUSE)
    attempt = memory.attempt
    if attempt is not None and attempt.act is act:
        yield Ended(act, view.now - attempt.since, is_success=False)
    kept = attempt if attempt is not None and attempt.act is not act else None
    failure = Failure(act, times, view.now + wait)
    yield Remember(place.spot, replace(memory, attempt=kept, failure=failure))
    match act:
        case Act.ATTACH:
            words = f'AttachVolume.Attach failed for volume "{view.label}" : {message}'
            for pod in place.pods:
                yield Emit(pod, EventType.WARNING, FAILED, words)
        case Act.DETACH:
            words = (
                f'DetachVolume.Detach failed for volume "{view.label}" '
                f'on node "{place.spot.node}" : {message}'
            )
            for subject in _concerned(view):
                yield Emit(subject, EventType.WARNING, DETACH_FAILED, words)
        case _:
            assert_never(act)
    yield LookAgain(wait)


def _concerned(view: VolumeView) -> list[ApiObject]:
    """Whom it matters to that a volume stays where it is: pods that want it, else itself."""
    pods = [pod for place in view.places for pod in place.pods]
    return [*pods] or ([] if view.volume is None else [view.volume])


def _ended_well(view: VolumeView, place: Place, act: Act) -> Steps:
    attempt = place.memory.attempt
    if attempt is not None and attempt.act is act:
        yield Ended(act, view.now - attempt.since, is_success=True)


def _pause(view: VolumeView, memory: Memory, act: Act) -> float:
    """Seconds before the next attempt; a failure of another kind is no reason to wait."""
    failure = _of(memory, act)
    return 0.0 if failure is None else failure.due - view.now


def _of(memory: Memory, act: Act) -> Failure | None:
    failure = memory.failure
    return failure if failure is not None and failure.act is act else None
