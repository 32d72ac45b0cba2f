"""What to do about one volume: detach it from unwanted nodes, attach it to wanted ones.

Always true of a plan:

- An exclusive volume is attached to one node at most, and to none as long as there is an attachment
  for another, attached or not: until a detach has succeeded, the volume may be there.
- Nothing is attached to a node that attaches for itself, nor reported to it as attached.
- A request is remembered before it is made: Remember stands before Create, Withdraw and Delete.
- Delete follows the API server's answer to Withdraw (the volume is out of `volumesAttached`);
  `volumesInUse` as it is after that decides. (First the list, then the look, then the detach: so a
  node never uses a volume that is being detached.)
- Delete is for an attachment that no pod wants and that is ours; others' attachments stay.
- A volume in the node's `volumesInUse` is detached by force alone: the node is out of service, or
  it is not ready (or deleted) and the wait is over. Each time is counted.
- An attach is not cut short: it has a result, or is late, before the volume is detached.
- Report is for attached volumes. A volume that is not attached is removed from the node's list,
  unless no pod wants it there and the node says that it uses it.
- After a failure the same request is not repeated before its back-off, which doubles each time.
- Steps for nodes on which no pod wants the volume come first.
"""

from typing import assert_never

from msgspec.structs import replace

from mooring.controllers.attachment.actual import (
    BLANK,
    Act,
    AttachmentAttempt,
    Failure,
    Memory,
    State,
)
from mooring.controllers.attachment.force_detach import Force, Held, decide_gate
from mooring.controllers.attachment.in_tree import decide_in_tree
from mooring.controllers.attachment.multi_attach import find_holders, is_first, refuse
from mooring.controllers.attachment.plan import (
    DETACH_FAILED,
    FAILED,
    SUCCEEDED,
    CountForced,
    Create,
    Delete,
    Ended,
    Forget,
    LookAgain,
    Plan,
    Remember,
    Report,
    Steps,
    Unreport,
    Withdraw,
)
from mooring.controllers.attachment.view import VolumeOnNodeView, VolumeView
from mooring.model.attachment import Attachment
from mooring.model.backoff import OPERATION_BACKOFF
from mooring.model.event import EventType
from mooring.model.meta import ApiObject
from mooring.model.steps import Emit, plan
from mooring.plugins.csi.attachment_name import CsiName
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


def decide(view: VolumeView) -> Plan:
    if isinstance(view.csi, CsiName) and view.csi.is_in_tree:
        return decide_in_tree(view)
    unwanted = [on_node for on_node in view.on_nodes if not on_node.pods]
    wanted = [on_node for on_node in view.on_nodes if on_node.pods]
    steps = [step for on_node in unwanted for step in _decide_unwanted(view, on_node)]
    steps += [step for on_node in wanted for step in _decide_wanted(view, on_node)]
    return plan(f"{len(wanted)} node(s) want it", *steps)


# where pods want it


def _decide_wanted(view: VolumeView, on_node: VolumeOnNodeView) -> Steps:
    attachment = on_node.attachment
    if attachment is None:
        yield from _bring(view, on_node)
    elif attachment.is_deleting:
        yield from _await_end(view, on_node, attachment)
    elif attachment.is_attached:
        yield from _confirm(view, on_node)
    elif view.wanted is not None and view.wanted.flex is not None:
        yield from _attach_again(view, on_node)
    else:
        yield from _await_attach(view, on_node, attachment)


def _bring(view: VolumeView, on_node: VolumeOnNodeView) -> Steps:
    """Nothing attaches it there yet."""
    memory = on_node.memory
    yield from _ended_well(view, on_node, Act.DETACH)
    if on_node.is_reported:
        yield Unreport(on_node.where)
    if not on_node.is_managed or view.wanted is None:
        return
    if memory.attempt is not None and memory.attempt.act is Act.ATTACH:
        yield from decide_failure(view, on_node, Act.ATTACH, DELETED.message)
        return
    if holders := find_holders(view, on_node):
        yield from refuse(view, on_node, holders)
        return
    if (pause := _pause(view, memory, Act.ATTACH)) > 0:
        yield LookAgain(pause)
        return
    if not is_first(view, on_node):
        return
    attempt = AttachmentAttempt(Act.ATTACH, view.now)
    yield Remember(on_node.where, Memory(attempt=attempt, failure=_of(memory, Act.ATTACH)))
    yield Create(on_node.where, view.wanted)
    yield LookAgain(WAIT_SECONDS)


def _attach_again(view: VolumeView, on_node: VolumeOnNodeView) -> Steps:
    """Whether a FlexVolume driver has attached it is uncertain: only asking it again can tell."""
    if on_node.is_reported:
        yield Unreport(on_node.where)
    memory = on_node.memory
    if not on_node.is_managed or view.wanted is None:
        return
    if (pause := _pause(view, memory, Act.ATTACH)) > 0:
        yield LookAgain(pause)
        return
    attempt = AttachmentAttempt(Act.ATTACH, view.now)
    yield Remember(on_node.where, Memory(attempt=attempt, failure=_of(memory, Act.ATTACH)))
    yield Create(on_node.where, view.wanted)


def _confirm(view: VolumeView, on_node: VolumeOnNodeView) -> Steps:
    """It is there."""
    yield from _ended_well(view, on_node, Act.ATTACH)
    if on_node.memory != BLANK:
        yield Remember(on_node.where, BLANK)
    if on_node.is_managed and not on_node.is_reported:
        if not on_node.memory.is_withdrawn:
            words = f'AttachVolume.Attach succeeded for volume "{view.label}" '
            for pod in on_node.pods:
                yield Emit(pod, EventType.NORMAL, SUCCEEDED, words)
        yield Report(on_node.where)


def _await_attach(view: VolumeView, on_node: VolumeOnNodeView, attachment: Attachment) -> Steps:
    """It was asked for; the driver's attacher has not said that it is there."""
    memory = on_node.memory
    if on_node.is_reported:
        yield Unreport(on_node.where)
    if (pause := _pause(view, memory, Act.ATTACH)) > 0:
        yield LookAgain(pause)
        return
    attempt = _attempt(view, memory, Act.ATTACH)
    memory = Memory(attempt=attempt, failure=_of(memory, Act.ATTACH))
    late = attach_timed_out(view.csi.driver, view.csi.handle)
    yield from _await_answer(view, on_node, memory, judge_attach(attachment), late)


def _await_end(view: VolumeView, on_node: VolumeOnNodeView, attachment: Attachment) -> Steps:
    """It is wanted again while it is being detached: wait for the end of the detach."""
    if on_node.is_reported:
        yield Unreport(on_node.where)
    memory = on_node.memory
    if (pause := _pause(view, memory, Act.ATTACH)) > 0:
        yield LookAgain(pause)
        return
    attempt = memory.attempt
    if attempt is None or attempt.act is not Act.DETACH:
        yield from decide_failure(view, on_node, Act.ATTACH, BEING_DELETED.message)
        return
    left = attempt.since + WAIT_SECONDS - view.now
    if left > 0 and isinstance(judge_detach(attachment), NotYet):
        yield LookAgain(left)
    else:
        yield from decide_failure(view, on_node, Act.ATTACH, BEING_DELETED.message)


# nodes on which no pod wants it


def _decide_unwanted(view: VolumeView, on_node: VolumeOnNodeView) -> Steps:
    attachment = on_node.attachment
    if attachment is None:
        yield from _clear_up(view, on_node)
    elif not on_node.is_ours:
        if on_node.memory != BLANK:
            yield Remember(on_node.where, BLANK)  # a backup tool's, say
    elif attachment.is_deleting:
        yield from _await_detach(view, on_node, attachment)
    else:
        yield from _take_away(view, on_node, attachment)


def _clear_up(view: VolumeView, on_node: VolumeOnNodeView) -> Steps:
    """It is not attached, whatever the node's list says."""
    yield from _ended_well(view, on_node, Act.DETACH)
    if on_node.is_reported and on_node.is_in_use and on_node.node is not None:
        return  # nothing is there to be detached, but the node is not to be startled either
    if on_node.is_reported:
        yield Unreport(on_node.where)
    yield Forget(on_node.where)


def _await_detach(view: VolumeView, on_node: VolumeOnNodeView, attachment: Attachment) -> Steps:
    """Its VolumeAttachment is being deleted."""
    memory = on_node.memory
    if on_node.is_reported:
        yield Unreport(on_node.where)
    if (pause := _pause(view, memory, Act.DETACH)) > 0:
        yield LookAgain(pause)
        return
    attempt = _attempt(view, memory, Act.DETACH)
    memory = replace(memory, attempt=attempt, failure=_of(memory, Act.DETACH))
    late = detach_timed_out(view.csi.driver, view.csi.handle)
    yield from _await_answer(view, on_node, memory, judge_detach(attachment), late)


def _take_away(view: VolumeView, on_node: VolumeOnNodeView, attachment: Attachment) -> Steps:
    """It is there, or may be."""
    memory = on_node.memory
    if (left := _under_way(view, on_node, attachment)) > 0:
        yield LookAgain(left)
        return
    since = view.now if memory.leaving_since is None else memory.leaving_since
    memory = Memory(
        failure=_of(memory, Act.DETACH), leaving_since=since, is_withdrawn=memory.is_withdrawn
    )
    if (pause := _pause(view, memory, Act.DETACH)) > 0:
        yield LookAgain(pause)
        return
    match decide_gate(on_node, view.policy, view.now):
        case Held(_, until):
            yield from _hold(view, on_node, memory, until)
            return
        case Force() as force if on_node.is_read:
            yield CountForced(on_node.where, force)
        case _ if not on_node.is_read:
            yield Remember(on_node.where, replace(memory, is_withdrawn=True))
            yield Withdraw(on_node.where)
            return
        case _:
            pass
    yield Remember(on_node.where, replace(memory, attempt=AttachmentAttempt(Act.DETACH, view.now)))
    yield Delete(on_node.where, attachment)
    yield LookAgain(WAIT_SECONDS)


def _hold(
    view: VolumeView, on_node: VolumeOnNodeView, memory: Memory, until: float | None
) -> Steps:
    """The node uses it: if it was taken off the node's list too early, it is put back."""
    if on_node.state is State.ATTACHED and on_node.is_managed and not on_node.is_reported:
        yield Report(on_node.where)
    yield Remember(on_node.where, replace(memory, is_withdrawn=False))
    if until is not None:
        yield LookAgain(until - view.now)


def _under_way(view: VolumeView, on_node: VolumeOnNodeView, attachment: Attachment) -> float:
    """Seconds for which an attempt that has begun is left alone.

    An attach is not cut short: a detach requested in the middle of it may be answered first.
    """
    attempt = on_node.memory.attempt
    if attempt is None:
        return 0.0
    if attempt.act is Act.ATTACH and not isinstance(judge_attach(attachment), NotYet):
        return 0.0
    return attempt.since + WAIT_SECONDS - view.now


# what both have in common


def _attempt(view: VolumeView, memory: Memory, act: Act) -> AttachmentAttempt:
    """The attempt in progress; if another controller began it, since we have seen it."""
    attempt = memory.attempt
    if attempt is not None and attempt.act is act:
        return attempt
    return AttachmentAttempt(act, view.now)


def _await_answer(
    view: VolumeView, on_node: VolumeOnNodeView, memory: Memory, outcome: Outcome, late: Failed
) -> Steps:
    """`memory` has the attempt that is waited for, `late` what to say when it takes too long."""
    attempt = memory.attempt
    if attempt is None:
        return
    left = attempt.since + WAIT_SECONDS - view.now
    failed = outcome if isinstance(outcome, Failed) else late if left <= 0 else None
    if failed is not None:
        known = replace(on_node, memory=memory)
        yield from decide_failure(view, known, attempt.act, failed.message)
        return
    if memory != on_node.memory:
        yield Remember(on_node.where, memory)
    yield LookAgain(left)


def decide_failure(view: VolumeView, on_node: VolumeOnNodeView, act: Act, message: str) -> Steps:
    """An attempt came to nothing: an event says so, and the next one has to wait."""
    memory = on_node.memory
    known = _of(memory, act)
    times = 1 if known is None else known.times + 1
    wait = OPERATION_BACKOFF.delay(times)
    attempt = memory.attempt
    if attempt is not None and attempt.act is act:
        yield Ended(act, view.now - attempt.since, is_success=False)
    kept = attempt if attempt is not None and attempt.act is not act else None
    failure = Failure(act, times, view.now + wait)
    yield Remember(on_node.where, replace(memory, attempt=kept, failure=failure))
    match act:
        case Act.ATTACH:
            words = f'AttachVolume.Attach failed for volume "{view.label}" : {message}'
            for pod in on_node.pods:
                yield Emit(pod, EventType.WARNING, FAILED, words)
        case Act.DETACH:
            words = (
                f'DetachVolume.Detach failed for volume "{view.label}" '
                f'on node "{on_node.where.node}" : {message}'
            )
            for subject in _concerned(view):
                yield Emit(subject, EventType.WARNING, DETACH_FAILED, words)
        case _:
            assert_never(act)
    yield LookAgain(wait)


def _concerned(view: VolumeView) -> list[ApiObject]:
    """The objects that get the event: pods that want the volume, else the volume itself."""
    pods = [pod for on_node in view.on_nodes for pod in on_node.pods]
    return [*pods] or ([] if view.volume is None else [view.volume])


def _ended_well(view: VolumeView, on_node: VolumeOnNodeView, act: Act) -> Steps:
    attempt = on_node.memory.attempt
    if attempt is not None and attempt.act is act:
        yield Ended(act, view.now - attempt.since, is_success=True)


def _pause(view: VolumeView, memory: Memory, act: Act) -> float:
    """Seconds before the next attempt; a failure of another kind is no reason to wait."""
    failure = _of(memory, act)
    return 0.0 if failure is None else failure.due - view.now


def _of(memory: Memory, act: Act) -> Failure | None:
    failure = memory.failure
    return failure if failure is not None and failure.act is act else None
