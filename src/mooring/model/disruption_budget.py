"""PodDisruptionBudget: how many pods of an application evictions must leave running."""

from collections.abc import Mapping
from typing import ClassVar, Final

import msgspec

from mooring.model.condition import Condition
from mooring.model.meta import ApiObject, Resource
from mooring.model.pod import Pod
from mooring.model.selector import SelectorDocument
from mooring.model.wire import Wire

DISRUPTION_ALLOWED: Final = "DisruptionAllowed"
SYNC_FAILED: Final = "SyncFailed"


class DisruptionBudgetSpec(Wire, frozen=True):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: SelectorDocument | None = None
    unhealthy_pod_eviction_policy: str | None = None


class DisruptionBudgetStatus(Wire, frozen=True):
    observed_generation: int = 0
    disrupted_pods: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    """Whose eviction was granted: since when, by name."""
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: tuple[Condition, ...] = ()


class DisruptionBudget(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True
    )

    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()

    def covers(self, pod: Pod) -> bool:
        """Whether the pod is one of its application; without a selector, none is."""
        if self.spec.selector is None or self.namespace != pod.namespace:
            return False
        try:
            return self.spec.selector.selector().matches(pod.metadata.labels)
        except ValueError:
            return False
