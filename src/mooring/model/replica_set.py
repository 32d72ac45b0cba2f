"""ReplicaSet: the desired and the actual number of pods of a template."""

from typing import ClassVar

import msgspec

from mooring.model.condition import Condition
from mooring.model.meta import Resource
from mooring.model.pod_owner import PodOwner, Template
from mooring.model.selector import LabelSelector, SelectorDocument, of_pods
from mooring.model.wire import Wire

REPLICA_FAILURE = "ReplicaFailure"  # the condition of pods that cannot be created or deleted


class ReplicaSetSpec(Wire, frozen=True):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: SelectorDocument = SelectorDocument()
    template: Template = msgspec.field(default_factory=dict)


class ReplicaSetStatus(Wire, frozen=True):
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class ReplicaSet(PodOwner, frozen=True):
    resource: ClassVar = Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()

    def selector(self) -> LabelSelector:
        return of_pods(self.spec.selector)
