"""A volume for one node at a time: who may have it, and what the others are told.

An uncertain attachment counts as one: until a detach has succeeded, nobody knows that the volume
is not there.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

import msgspec

from mooring.clock import to_seconds
from mooring.controllers.attachment.actual import State
from mooring.controllers.attachment.force_detach import Held, decide_gate
from mooring.controllers.attachment.view import Place, VolumeView
from mooring.model.pod import Pod
from mooring.model.wellknown import TaintKey


def find_holders(view: VolumeView, place: Place) -> tuple[Place, ...]:
    """The other nodes that have an exclusive volume, or may have it."""
    if view.wanted is None or not view.wanted.is_exclusive:
        return ()
    return tuple(one for one in view.places if one is not place and one.attachment is not None)


def is_first(view: VolumeView, place: Place) -> bool:
    """Of several nodes that want an exclusive volume, none of which has it: is it this one's turn?

    A node that uses it already comes before any other, then the one with the oldest pod.
    """
    if view.wanted is None or not view.wanted.is_exclusive:
        return True
    waiting = [one for one in view.places if one.pods and one.is_managed]
    return min(waiting, key=_turn) is place


def _turn(place: Place) -> tuple[bool, bool, str, str]:
    oldest = min(pod.metadata.creation_timestamp or "" for pod in place.pods)
    return (not place.is_in_use, not place.is_reported, oldest, place.spot.node)


def refusal(label: str, pod: Pod, users: Sequence[Pod]) -> str:
    """What a pod is told that cannot have the volume; names of other namespaces stay unsaid."""
    opening = f'Multi-Attach error for volume "{label}" Volume is already'
    if not users:
        return f"{opening} exclusively attached to one node and can't be attached to another"
    near = sorted(user.name for user in users if user.namespace == pod.namespace)
    far = len(users) - len(near)
    told = f"{opening} used by"
    if near:
        told += f" pod(s) {', '.join(near)}"
        if far:
            told += f" and {far} pod(s) in different namespaces"
    else:
        told += f" {far} pod(s) in different namespaces"
    return told


def users_of(holders: Iterable[Place]) -> list[Pod]:
    return [pod for holder in holders for pod in holder.pods]


def is_told(holder: Place) -> bool:
    """Whether to speak of a holder: a detach that goes its way is over before anybody reads it."""
    return bool(holder.pods) or holder.state is State.ATTACHED


class Wait(msgspec.Struct, frozen=True):
    """What a pod waits for. Of one `topic` it is told once, even if a clock was set meanwhile."""

    topic: str
    words: str


def find_wait(view: VolumeView, holder: Place) -> Wait | None:
    """What keeps the volume where it is, and until when; None when it is on its way."""
    node = holder.spot.node
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
