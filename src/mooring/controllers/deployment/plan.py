"""The steps that a plan for a deployment may hold."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from mooring.errors import ApiError
from mooring.model import steps
from mooring.model.deployment import Deployment, DeploymentStatus
from mooring.model.document import Doc
from mooring.model.replica_set import ReplicaSet


class AdoptSet(msgspec.Struct, frozen=True):
    """Adopt a replica set, if the deployment is still there and not being deleted."""

    deployment: Deployment
    set: ReplicaSet


class ReleaseSet(msgspec.Struct, frozen=True):
    deployment: Deployment
    set: ReplicaSet


class CreateSet(msgspec.Struct, frozen=True):
    """Create the replica set of the present template."""

    deployment: Deployment
    document: Doc

    @property
    def name(self) -> str:
        name: str = self.document["metadata"]["name"]
        return name

    @property
    def replicas(self) -> int:
        replicas: int = self.document["spec"]["replicas"]
        return replicas


class AnnotateSet(msgspec.Struct, frozen=True):
    """Write what a replica set has from its deployment beside its template."""

    set: ReplicaSet
    annotations: Mapping[str, str]
    min_ready_seconds: int


class ScaleSet(msgspec.Struct, frozen=True):
    """The annotations tell the next pass which size of the deployment this was made for."""

    deployment: Deployment
    set: ReplicaSet
    replicas: int
    annotations: Mapping[str, str]


class DeleteSet(msgspec.Struct, frozen=True):
    """Delete a replica set that has no pods, and is too old to go back to."""

    set: ReplicaSet


class SaveStatus(msgspec.Struct, frozen=True):
    deployment: Deployment
    status: DeploymentStatus
    revision: str  # written beside it, as an annotation; empty: stays as it is


Step = AdoptSet | ReleaseSet | CreateSet | AnnotateSet | ScaleSet | DeleteSet | SaveStatus
Plan: TypeAlias = steps.Plan[Step]


class Collided(msgspec.Struct, frozen=True):
    """The name of the new replica set is taken by another one."""


class NotCreated(msgspec.Struct, frozen=True):
    """The new replica set could not be created."""

    name: str
    error: ApiError


Outcome = Collided | NotCreated | None
