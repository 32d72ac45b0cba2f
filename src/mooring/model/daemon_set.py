"""DaemonSet: a pod of a template on every node that fits."""

from typing import ClassVar

import msgspec

from mooring.model.meta import Resource
from mooring.model.pod import PodSpec
from mooring.model.pod_owner import PodOwner, Template
from mooring.model.selector import LabelSelector, SelectorDocument, of_pods
from mooring.model.wire import Wire, Word, read_document


class UpdateType(Word):
    ROLLING_UPDATE = "RollingUpdate"
    ON_DELETE = "OnDelete"


class RollingUpdate(Wire, frozen=True):
    max_unavailable: int | str = 1
    max_surge: int | str = 0


class UpdateStrategy(Wire, frozen=True):
    type: UpdateType = UpdateType.ROLLING_UPDATE
    rolling_update: RollingUpdate | None = None


class DaemonSetSpec(Wire, frozen=True):
    selector: SelectorDocument = SelectorDocument()
    template: Template = msgspec.field(default_factory=dict)
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10


class DaemonSetStatus(Wire, frozen=True):
    current_number_scheduled: int = 0
    number_misscheduled: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    observed_generation: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    collision_count: int | None = None


class DaemonSet(PodOwner, frozen=True):
    resource: ClassVar = Resource("apps", "v1", "DaemonSet", "daemonsets", namespaced=True)

    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()

    def selector(self) -> LabelSelector:
        return of_pods(self.spec.selector)

    def pod_spec(self) -> PodSpec:
        """The spec of the template. Raises: msgspec.ValidationError."""
        return read_document(self.spec.template.get("spec") or {}, PodSpec)
