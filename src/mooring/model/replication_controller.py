"""ReplicationController: the desired and the actual number of pods of a template."""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire

Template = Mapping[str, Any]
"""A PodTemplateSpec as JSON: pods get all of its fields, also those not typed here."""


class ReplicationControllerSpec(Wire, frozen=True):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: Mapping[str, str] = msgspec.field(default_factory=dict)
    template: Template = msgspec.field(default_factory=dict)


class ReplicationControllerStatus(Wire, frozen=True):
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    observed_generation: int = 0


class ReplicationController(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "", "v1", "ReplicationController", "replicationcontrollers", namespaced=True
    )

    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicationControllerStatus = ReplicationControllerStatus()

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether the selector matches; an empty one matches nothing."""
        wanted = self.spec.selector
        return bool(wanted) and wanted.items() <= labels.items()
