"""What the controller looks at: one node, for how long it has been silent, and its pods."""

import msgspec

from mooring.model.condition import find_condition
from mooring.model.node import Node
from mooring.model.pod import Pod

READY = "Ready"
LEASE_NAMESPACE = "kube-node-lease"

GRACE_SECONDS = 40.0
STARTUP_SECONDS = 60.0
OUT_OF_SERVICE_SECONDS = 15.0  # one heartbeat is missing, and somebody vouches that it is off
BETWEEN_ASKING_SECONDS = 15.0  # longer than a node takes to renew its lease after an outage


class Monitoring(msgspec.Struct, frozen=True):
    """After how many seconds of silence a node counts as lost."""

    grace: float = GRACE_SECONDS
    startup: float = STARTUP_SECONDS  # of a node that has never said whether it is ready


class Silence(msgspec.Struct, frozen=True):
    """Since when nothing was heard of a node, and when the API was asked for its Lease meanwhile.

    All by the monotonic clock.
    """

    since: float
    first_asked: float | None = None
    last_asked: float | None = None


class NodeView(msgspec.Struct, frozen=True):
    node: Node
    silence: Silence
    ready_pods: tuple[Pod, ...]  # on the node; those that say so
    monitoring: Monitoring
    has_ready_nodes: bool  # the cluster, this node or others
    may_evict: bool  # it is the node's turn in its zone
    now: float  # monotonic
    wall: str  # as the API writes times

    @property
    def ready(self) -> str:
        """The status of its Ready condition; empty: it has none."""
        found = find_condition(self.node.status.conditions, READY)
        return "" if found is None else found.status

    @property
    def grace(self) -> float:
        usual = self.monitoring.grace if self.ready else self.monitoring.startup
        return min(usual, OUT_OF_SERVICE_SECONDS) if self.node.is_out_of_service else usual

    @property
    def between_asking(self) -> float:
        return min(BETWEEN_ASKING_SECONDS, self.grace / 2)

    @property
    def silent_for(self) -> float:
        return self.now - self.silence.since
