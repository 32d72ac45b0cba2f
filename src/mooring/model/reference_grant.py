"""ReferenceGrant: objects of one namespace that those of another may refer to (Gateway API)."""

from typing import ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire


class GrantFrom(Wire, frozen=True):
    """Who may refer."""

    group: str
    kind: str
    namespace: str


class GrantTo(Wire, frozen=True):
    """What may be referred to, in the grant's own namespace."""

    group: str
    kind: str
    name: str | None = None  # None or empty: all of the kind


class GrantSpec(Wire, frozen=True):
    origins: tuple[GrantFrom, ...] = msgspec.field(name="from", default=())
    to: tuple[GrantTo, ...] = ()


class ReferenceGrant(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "gateway.networking.k8s.io", "v1beta1", "ReferenceGrant", "referencegrants", namespaced=True
    )

    spec: GrantSpec = GrantSpec()

    def allows(self, origin: GrantFrom, target: GrantTo) -> bool:
        return origin in self.spec.origins and any(
            (one.group, one.kind) == (target.group, target.kind)
            and (not one.name or one.name == target.name)
            for one in self.spec.to
        )
