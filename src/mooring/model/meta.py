"""The common part of every object: its kind, its metadata, its owners."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model.keys import Key
from mooring.model.wire import Wire


class Resource(msgspec.Struct, frozen=True):
    """The group, version and resource name of a kind."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    orphans_by_default: bool = False  # a DELETE has to say that dependents go, too

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class OwnerReference(Wire, frozen=True):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire, frozen=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    def find_controller(self) -> OwnerReference | None:
        """The owner reference with `controller: true`, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class ApiObject(Wire, frozen=True, kw_only=True):
    """An object of the API. Each kind has its `resource`."""

    resource: ClassVar[Resource]

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def is_deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None
