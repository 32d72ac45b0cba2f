"""A volume for one node at a time: which node gets it, and the events on the others' pods.

An uncertain attachment counts as one: until a detach has succeeded, the volume may be there.
"""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from mooring.controllers.attachment.actual import RecordedEvents, State
from mooring.controllers.attachment.force_detach import Held, decide_gate
from mooring.controllers.attachment.plan import (
    FAILED,
    WAITING,
    LookAgain,
    Remember,
    Steps,
)
from mooring.controllers.attachment.view import VolumeOnNodeView, VolumeView
from mooring.model.event import EventType
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.model.pod import Pod
from mooring.model.steps import Emit
from mooring.model.timestamp import to_seconds
from mooring.model.wellknown import TaintKey

RECORD_AGAIN_SECONDS = 300.0  # a wait that goes on is shown again


def find_holders(view: VolumeView, on_node: VolumeOnNodeView) -> tuple[VolumeOnNodeView, ...]:
    """The other nodes that have an exclusive volume, or may have it."""
    if view.wanted is None or not view.wanted.is_exclusive:
        return ()
    return tuple(one for one in view.on_nodes if one is not on_node and one.attachment is not None)


def is_first(view: VolumeView, on_node: VolumeOnNodeView) -> bool:
    """Of several nodes that want an exclusive volume, none of which has it: is it this one's turn?

    A node that uses it already comes before any other, then the one with the oldest pod.
    """
    if view.wanted is None or not view.wanted.is_exclusive:
        return True
    waiting = [one for one in view.on_nodes if one.pods and one.is_managed]
    return min(waiting, key=_turn) is on_node


def _turn(on_node: VolumeOnNodeView) -> tuple[bool, bool, str, str]:
    oldest = min(pod.metadata.creation_timestamp or "" for pod in on_node.pods)
    return (not on_node.is_in_use, not on_node.is_reported, oldest, on_node.where.node)


def refuse(
    view: VolumeView, on_node: VolumeOnNodeView, holders: tuple[VolumeOnNodeView, ...]
) -> Steps:
    """Another node has it. An event is recorded once for each pod, then again at long intervals."""
    memory = on_node.memory
    if shown := [holder for holder in holders if _is_worth_an_event(holder)]:
        users = [pod for holder in shown for pod in holder.pods]
        for pod in on_node.pods:
            if _is_news(memory.refused, "", pod.uid, view.now):
                yield Emit(
                    pod,
                    EventType.WARNING,
                    FAILED,
                    refusal(view.label, pod, users, view.policy.release),
                )
        memory = replace(memory, refused=_recorded(memory.refused, "", on_node, view.now))
    waits = [wait for holder in holders if (wait := find_wait(view, holder)) is not None]
    for wait in waits[:1]:
        for pod in on_node.pods:
            if _is_news(memory.waits, wait.topic, pod.uid, view.now):
                yield Emit(pod, EventType.NORMAL, WAITING, wait.words)
        memory = replace(memory, waits=_recorded(memory.waits, wait.topic, on_node, view.now))
    if memory != on_node.memory:
        yield Remember(on_node.where, memory)
    for events in (memory.refused if shown else None, memory.waits if waits else None):
        if events is not None:
            yield LookAgain(events.at + RECORD_AGAIN_SECONDS - view.now)


def _is_worth_an_event(holder: VolumeOnNodeView) -> bool:
    """No event for a detach in progress: it is over before a user reads the event."""
    return bool(holder.pods) or holder.state is State.ATTACHED


def _is_news(known: RecordedEvents | None, topic: str, uid: str, now: float) -> bool:
    return known is None or uid not in known.pods or not _lasts(known, topic, now)


def _recorded(
    known: RecordedEvents | None, topic: str, on_node: VolumeOnNodeView, now: float
) -> RecordedEvents:
    at = known.at if known is not None and _lasts(known, topic, now) else now
    return RecordedEvents(topic, frozenset(pod.uid for pod in on_node.pods), at)


def _lasts(known: RecordedEvents, topic: str, now: float) -> bool:
    return known.topic == topic and now - known.at < RECORD_AGAIN_SECONDS


def refusal(label: str, pod: Pod, users: Sequence[Pod], release: KubernetesVersion = NEWEST) -> str:
    """The event of a pod that cannot have the volume; names of other namespaces stay unsaid."""
    waits = release.waits_for_detach
    problem = "Waiting for detach" if waits else "Multi-Attach error"
    opening = f'{problem} for volume "{label}" Volume is already'
    if not users:
        alone = f"{opening} exclusively attached to one node"
        if waits:
            return f"{alone}, waiting on detach before it can be attached to another node"
        return f"{alone} and can't be attached to another"
    near = sorted(user.name for user in users if user.namespace == pod.namespace)
    far = len(users) - len(near)
    words = f"{opening} used by"
    if near:
        words += f" pod(s) {', '.join(near)}"
        if far:
            words += f" and {far} pod(s) in different namespaces"
    else:
        words += f" {far} pod(s) in different namespaces"
    return words


class Wait(msgspec.Struct, frozen=True):
    """What a pod waits for. One event for each `topic`, even if a clock was set meanwhile."""

    topic: str
    words: str


def find_wait(view: VolumeView, holder: VolumeOnNodeView) -> Wait | None:
    """What keeps the volume on its node, and until when; None when it is being detached."""
    node = holder.where.node
    opening = f'Waiting for volume "{view.label}" to be detached from node "{node}"'
    if holder.pods:
        words = f"{opening}: pods still use it there, and it stays until they are gone"
        if holder.node is None or holder.node.is_ready:
            return Wait(f"{node}: pods", words)
        words += f"; the node is not ready: the taint {TaintKey.OUT_OF_SERVICE} says that it is off"
        return Wait(f"{node}: pods, not ready", words)
    if not holder.is_ours:
        words = f"{opening}: somebody else attached it there, and it stays until they detach it"
        return Wait(f"{node}: somebody else", words)
    gate = decide_gate(holder, view.policy, view.now)
    if not isinstance(gate, Held):
        return None
    if gate.node is None:
        return _wait_for_deleted(view, node, opening, gate.until)
    if gate.node.is_ready:
        words = (
            f"{opening}: the node is ready and still uses it; "
            "it stays until the node reports that it does not, without a time limit"
        )
        return Wait(f"{node}: ready", words)
    opening = f"{opening}: the node is not ready and still uses it"
    by_hand = f"or until the node has the taint {TaintKey.OUT_OF_SERVICE}"
    if gate.until is None:
        words = (
            f"{opening}, and force detach on timeout is disabled; "
            f"it stays until the node reports that it does not, {by_hand}"
        )
        return Wait(f"{node}: not ready, no timeout", words)
    at = _time_of(view, gate.until)
    return Wait(f"{node}: not ready", f"{opening}; it is taken away by force at {at}, {by_hand}")


def _wait_for_deleted(view: VolumeView, node: str, opening: str, until: float | None) -> Wait:
    opening = f"{opening}: the node was deleted, and its machine may still use it"
    by_hand = (
        f"a node of that name that does not use it, or has the taint {TaintKey.OUT_OF_SERVICE}"
    )
    if until is None:
        words = (
            f"{opening}; force detach on timeout is disabled, so it stays until there is {by_hand}"
        )
        return Wait(f"{node}: deleted, no timeout", words)
    at = _time_of(view, until)
    words = f"{opening}; it is taken away by force at {at}, or as soon as there is {by_hand}"
    return Wait(f"{node}: deleted", words)


def _time_of(view: VolumeView, due: float) -> str:
    return to_seconds(view.wall + timedelta(seconds=due - view.now))
