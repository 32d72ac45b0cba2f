"""The status of replica sets and replication controllers: how many of their pods there are."""

from mooring.model.condition import Condition
from mooring.model.wire import Wire

REPLICA_FAILURE = "ReplicaFailure"
"""The condition that says why pods cannot be created or deleted."""


class ReplicaStatus(Wire, frozen=True):
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None  # of replica sets only
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
