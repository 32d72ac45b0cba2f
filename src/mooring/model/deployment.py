"""Deployment: pods of a template, and how those of an older template are replaced."""

from typing import ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource
from mooring.model.pod_owner import Template
from mooring.model.selector import LabelSelector, SelectorDocument, of_pods
from mooring.model.wire import Wire, Word

NO_DEADLINE = 2**31 - 1  # `progressDeadlineSeconds` of a deployment that waits for ever


class StrategyType(Word):
    ROLLING_UPDATE = "RollingUpdate"
    RECREATE = "Recreate"


class RollingUpdate(Wire, frozen=True):
    max_unavailable: int | str = "25%"
    max_surge: int | str = "25%"


class Strategy(Wire, frozen=True):
    type: StrategyType = StrategyType.ROLLING_UPDATE
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Wire, frozen=True):
    replicas: int = 1
    selector: SelectorDocument = SelectorDocument()
    template: Template = msgspec.field(default_factory=dict)
    strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    paused: bool = False
    progress_deadline_seconds: int = 600


class DeploymentCondition(Wire, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_update_time: str | None = None
    last_transition_time: str | None = None


class DeploymentStatus(Wire, frozen=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    conditions: tuple[DeploymentCondition, ...] = ()
    collision_count: int | None = None

    def find_condition(self, kind: str) -> DeploymentCondition | None:
        return next((each for each in self.conditions if each.type == kind), None)


class Deployment(ApiObject, frozen=True):
    resource: ClassVar = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    def selector(self) -> LabelSelector:
        """What its replica sets match; an empty selector matches none."""
        return of_pods(self.spec.selector)
