"""What the controller looks at: one pod and its node."""

from enum import Enum

import msgspec

from mooring.model.node import Node
from mooring.model.pod import Pod

QUARANTINE_SECONDS = 40.0  # so long a Node may be missing before its pods are taken for orphans
COLLECT_SECONDS = 20.0  # finished pods are counted at most so often


class Absence(Enum):
    """Of a Node that a pod names and no cache shows."""

    NONE = "it is there"
    NEW = "it may come back"
    CONFIRMED = "it was away for long enough, and the API has confirmed it"


class PodView(msgspec.Struct, frozen=True):
    pod: Pod
    node: Node | None  # None: it names none, or one that is not there
    absence: Absence
    is_told: bool  # what is waited for has been said before
    now: str  # as the API writes times
