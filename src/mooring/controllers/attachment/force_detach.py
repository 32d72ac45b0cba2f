"""Whether a volume that no pod wants on a node may be detached from it.

While the node is ready and reports the volume in use, the detach waits without limit. From a node
that is not ready it is detached when the wait is over, and so from one whose Node was deleted:
deleting the object does not stop the machine. A volume that the node last reported as not in use is
detached at once, and every volume when the node has the out-of-service taint.
"""

from enum import Enum

import msgspec

from mooring.controllers.attachment.view import Policy, VolumeOnNodeView
from mooring.model.node import Node


class Force(Enum):
    """Why a volume is taken from a node that says it uses it; as metrics call it."""

    TIMEOUT = "timeout"
    OUT_OF_SERVICE = "out-of-service"


class Free(msgspec.Struct, frozen=True):
    """Nothing speaks against it, as far as is known here."""


class Held(msgspec.Struct, frozen=True):
    """Not now. `until` (monotonic): then it is taken by force; None: no such time is known."""

    node: Node | None  # None: it was deleted
    until: float | None


Gate = Free | Force | Held


def decide_gate(on_node: VolumeOnNodeView, policy: Policy, now: float) -> Gate:
    if not on_node.is_in_use:
        return Free()
    node = on_node.node
    since = now if on_node.memory.leaving_since is None else on_node.memory.leaving_since
    if on_node.departure is not None:  # until then it may have been a healthy node
        since = max(since, on_node.departure.since)
    due = since + policy.max_wait
    may_be_forced = policy.forces_on_timeout and (node is None or not node.is_ready)
    if may_be_forced and now >= due:
        return Force.TIMEOUT
    if node is not None and node.is_out_of_service:
        return Force.OUT_OF_SERVICE
    return Held(node, due if may_be_forced else None)
