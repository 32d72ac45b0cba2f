"""StatefulSet: numbered pods of a template, each with claims that it keeps."""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from mooring.model.condition import Condition
from mooring.model.meta import Resource
from mooring.model.pod_owner import PodOwner, Template
from mooring.model.selector import LabelSelector, SelectorDocument, of_pods
from mooring.model.wellknown import Annotation
from mooring.model.wire import Wire, Word


class PodManagement(Word):
    ORDERED_READY = "OrderedReady"
    PARALLEL = "Parallel"


class UpdateType(Word):
    ROLLING_UPDATE = "RollingUpdate"
    ON_DELETE = "OnDelete"


class ClaimRetention(Word):
    RETAIN = "Retain"
    DELETE = "Delete"


class RollingUpdate(Wire, frozen=True):
    partition: int = 0
    max_unavailable: int | str | None = None


class UpdateStrategy(Wire, frozen=True):
    type: UpdateType = UpdateType.ROLLING_UPDATE
    rolling_update: RollingUpdate | None = None


class ClaimRetentionPolicy(Wire, frozen=True):
    when_deleted: ClaimRetention = ClaimRetention.RETAIN
    when_scaled: ClaimRetention = ClaimRetention.RETAIN


class Ordinals(Wire, frozen=True):
    start: int = 0


class StatefulSetSpec(Wire, frozen=True):
    replicas: int = 1
    selector: SelectorDocument = SelectorDocument()
    template: Template = msgspec.field(default_factory=dict)
    volume_claim_templates: tuple[Mapping[str, Any], ...] = ()  # as JSON, as the pod template is
    service_name: str = ""
    pod_management_policy: PodManagement = PodManagement.ORDERED_READY
    update_strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: int = 10
    min_ready_seconds: int = 0
    retention: ClaimRetentionPolicy = msgspec.field(
        name="persistentVolumeClaimRetentionPolicy", default=ClaimRetentionPolicy()
    )
    ordinals: Ordinals = Ordinals()


class StatefulSetStatus(Wire, frozen=True):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int | None = None
    conditions: tuple[Condition, ...] = ()


class StatefulSet(PodOwner, frozen=True):
    resource: ClassVar = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)

    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()

    def selector(self) -> LabelSelector:
        return of_pods(self.spec.selector)

    @property
    def ordinals(self) -> range:
        """The numbers of the pods that are wanted."""
        start = self.spec.ordinals.start
        return range(start, start + self.spec.replicas)

    @property
    def is_ordered(self) -> bool:
        """One pod after another, not all at once."""
        return self.spec.pod_management_policy is not PodManagement.PARALLEL

    @property
    def grows_claims(self) -> bool:
        """Whether its claims follow templates that ask for more storage."""
        return self.metadata.annotations.get(Annotation.GROW_CLAIMS) == "true"

    def pod_name(self, ordinal: int) -> str:
        return f"{self.name}-{ordinal}"

    def claim_name(self, template: str, ordinal: int) -> str:
        return f"{template}-{self.name}-{ordinal}"

    def find_ordinal(self, pod_name: str) -> int | None:
        """The number of one of its pods; None for a name that none of its pods can have."""
        number = pod_name.removeprefix(f"{self.name}-")
        if number == pod_name or not (number.isascii() and number.isdigit()) or len(number) > 10:
            return None
        return int(number) if self.pod_name(int(number)) == pod_name else None
