"""ReplicationController: the desired and the actual number of pods of a template."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model.meta import Resource
from mooring.model.pod_owner import PodOwner, Template
from mooring.model.replica_status import ReplicaStatus
from mooring.model.selector import LabelSelector, SelectorDocument, of_pods
from mooring.model.wire import Wire


class ReplicationControllerSpec(Wire, frozen=True):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: Mapping[str, str] = msgspec.field(default_factory=dict)
    template: Template = msgspec.field(default_factory=dict)


class ReplicationController(PodOwner, frozen=True):
    resource: ClassVar = Resource(
        "", "v1", "ReplicationController", "replicationcontrollers", namespaced=True
    )

    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicaStatus = ReplicaStatus()

    def selector(self) -> LabelSelector:
        return of_pods(SelectorDocument(match_labels=self.spec.selector))
