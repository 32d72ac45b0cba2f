"""What the controller looks at: one pod, and the NoExecute taints of its node."""

from datetime import datetime, timedelta

import msgspec

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.taint import Taint, TaintEffect
from mooring.model.timestamp import to_seconds


class Timer(msgspec.Struct, frozen=True):
    """A pod that is to go unless its node, or the pod, changes."""

    uid: str  # of the pod
    since: float  # monotonic; when its taints were first seen
    due: float  # monotonic


class PodView(msgspec.Struct, frozen=True):
    pod: Pod
    taints: tuple[Taint, ...]  # of its node
    timer: Timer | None
    now: float  # monotonic
    wall: datetime

    def time_of(self, moment: float) -> str:
        """A moment of the monotonic clock, as the API writes times."""
        return to_seconds(self.wall + timedelta(seconds=moment - self.now))


def no_execute(node: Node | None) -> tuple[Taint, ...]:
    if node is None:
        return ()
    return tuple(each for each in node.spec.taints if each.effect == TaintEffect.NO_EXECUTE)
