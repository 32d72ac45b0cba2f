"""ReplicaSet: the desired and the actual number of pods of a template."""

from typing import ClassVar

import msgspec

from mooring.model.meta import Resource
from mooring.model.pod_owner import PodOwner, Template
from mooring.model.replica_status import ReplicaStatus
from mooring.model.selector import LabelSelector, SelectorDocument, of_pods
from mooring.model.wire import Wire


class ReplicaSetSpec(Wire, frozen=True):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: SelectorDocument = SelectorDocument()
    template: Template = msgspec.field(default_factory=dict)


class ReplicaSet(PodOwner, frozen=True):
    resource: ClassVar = Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaStatus = ReplicaStatus()

    def selector(self) -> LabelSelector:
        return of_pods(self.spec.selector)
