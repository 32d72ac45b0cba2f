"""What is scaled: the number of pods that an owner of pods wants, whatever its kind."""

from collections.abc import Mapping
from typing import ClassVar, Final

from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire


class ScaledSpec(Wire, frozen=True):
    replicas: int = 1


class Scaled(ApiObject, frozen=True, kw_only=True):
    spec: ScaledSpec = ScaledSpec()


class ScaledController(Scaled, frozen=True):
    resource: ClassVar = Resource(
        "", "v1", "ReplicationController", "replicationcontrollers", namespaced=True
    )


class ScaledReplicaSet(Scaled, frozen=True):
    resource: ClassVar = Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)


class ScaledDeployment(Scaled, frozen=True):
    resource: ClassVar = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)


class ScaledStatefulSet(Scaled, frozen=True):
    resource: ClassVar = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)


SCALED_KINDS: Final[Mapping[tuple[str, str], type[Scaled]]] = {
    (kind.resource.group, kind.resource.kind): kind
    for kind in (ScaledController, ScaledReplicaSet, ScaledDeployment, ScaledStatefulSet)
}
"""By group and kind, as owner references name them."""
