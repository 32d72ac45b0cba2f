"""References from one object to another."""

from typing import Self

from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.wire import Wire


class ObjectReference(Wire, frozen=True):
    """The most general reference; any part may be missing."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""

    @classmethod
    def to(cls, it: ApiObject) -> Self:
        """A reference to this object, with its uid and resourceVersion."""
        return cls(
            kind=it.resource.kind,
            api_version=it.resource.api_version,
            namespace=it.namespace,
            name=it.name,
            uid=it.uid,
            resource_version=it.metadata.resource_version,
        )

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class ClaimRef(ObjectReference, frozen=True):
    """A volume's reference to its claim. Without a uid it is a reservation by name."""

    def points_at(self, claim: Key, uid: str) -> bool:
        """Whether it refers to this claim, by uid or by a reservation of its name."""
        return self.key == claim and self.uid in {"", uid}


class SecretReference(Wire, frozen=True):
    name: str = ""
    namespace: str = ""


class LocalObjectReference(Wire, frozen=True):
    """A name in the namespace of the referring object."""

    name: str = ""


class TypedObjectReference(Wire, frozen=True):
    """A claim's data source. No group: the core group; no namespace: the claim's own."""

    kind: str
    name: str
    api_group: str | None = None
    namespace: str | None = None
