"""VolumeGroupSnapshot, its content and its class: several volumes at the same moment."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource
from mooring.model.reference import ObjectReference
from mooring.model.selector import SelectorDocument
from mooring.model.snapshot import DeletionPolicy, SnapshotError
from mooring.model.wellknown import Annotation
from mooring.model.wire import Wire

_GROUP = "groupsnapshot.storage.k8s.io"


class GroupSnapshotSource(Wire, frozen=True):
    """The claims of the namespace that a selector chooses, or a content that exists already."""

    selector: SelectorDocument | None = None
    volume_group_snapshot_content_name: str | None = None


class GroupSnapshotSpec(Wire, frozen=True):
    source: GroupSnapshotSource
    volume_group_snapshot_class_name: str | None = None


class GroupSnapshotStatus(Wire, frozen=True):
    bound_volume_group_snapshot_content_name: str | None = None
    creation_time: str | None = None
    ready_to_use: bool | None = None
    error: SnapshotError | None = None


class GroupSnapshot(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        _GROUP, "v1", "VolumeGroupSnapshot", "volumegroupsnapshots", namespaced=True
    )

    spec: GroupSnapshotSpec
    status: GroupSnapshotStatus | None = None

    @property
    def is_ready(self) -> bool:
        return self.status is not None and bool(self.status.ready_to_use)

    @property
    def content_name(self) -> str:
        """The content it is bound to, empty before that."""
        return (self.status and self.status.bound_volume_group_snapshot_content_name) or ""


class GroupHandles(Wire, frozen=True):
    """A group snapshot that exists in the storage system, and its members."""

    volume_group_snapshot_handle: str
    volume_snapshot_handles: tuple[str, ...]


class GroupContentSource(Wire, frozen=True):
    volume_handles: tuple[str, ...] = ()
    group_snapshot_handles: GroupHandles | None = None


class GroupContentSpec(Wire, frozen=True):
    driver: str
    deletion_policy: DeletionPolicy
    volume_group_snapshot_ref: ObjectReference
    source: GroupContentSource
    volume_group_snapshot_class_name: str | None = None


class MemberSnapshot(Wire, frozen=True):
    """The driver's answer for one volume of the group."""

    volume_handle: str = ""
    snapshot_handle: str = ""
    creation_time: int | None = None  # nanoseconds since 1970
    ready_to_use: bool | None = None
    restore_size: int | None = None  # bytes


class GroupContentStatus(Wire, frozen=True):
    volume_group_snapshot_handle: str | None = None
    creation_time: str | None = None
    ready_to_use: bool | None = None
    error: SnapshotError | None = None
    volume_snapshot_info_list: tuple[MemberSnapshot, ...] = ()


class GroupSnapshotContent(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        _GROUP, "v1", "VolumeGroupSnapshotContent", "volumegroupsnapshotcontents", namespaced=False
    )

    spec: GroupContentSpec
    status: GroupContentStatus | None = None

    @property
    def is_ready(self) -> bool:
        return self.status is not None and bool(self.status.ready_to_use)

    @property
    def is_static(self) -> bool:
        """An administrator made it for a group snapshot that exists already."""
        return self.spec.source.group_snapshot_handles is not None

    @property
    def group_handle(self) -> str:
        """The driver's handle of the group snapshot, empty while there is none."""
        taken = self.status and self.status.volume_group_snapshot_handle
        given = self.spec.source.group_snapshot_handles
        return taken or (given.volume_group_snapshot_handle if given else "")

    @property
    def snapshot_handles(self) -> tuple[str, ...]:
        """The driver's handles of the members, as far as they are known."""
        told = self.status.volume_snapshot_info_list if self.status else ()
        if told:
            return tuple(each.snapshot_handle for each in told)
        given = self.spec.source.group_snapshot_handles
        return given.volume_snapshot_handles if given else ()

    @property
    def is_doomed(self) -> bool:
        """Deleted, and no VolumeGroupSnapshot needs it any more."""
        is_free = self.is_static and not self.spec.volume_group_snapshot_ref.uid
        return self.is_deleting and (self.is_being_deleted or is_free)

    @property
    def is_being_deleted(self) -> bool:
        """Its VolumeGroupSnapshot is being deleted."""
        return Annotation.GROUP_SNAPSHOT_BEING_DELETED in self.metadata.annotations

    @property
    def is_being_created(self) -> bool:
        """A create may be running in the driver, so nothing may be deleted yet."""
        return self.metadata.annotations.get(Annotation.GROUP_SNAPSHOT_BEING_CREATED) == "yes"


class GroupSnapshotClass(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        _GROUP, "v1", "VolumeGroupSnapshotClass", "volumegroupsnapshotclasses", namespaced=False
    )

    driver: str
    deletion_policy: DeletionPolicy
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def is_default(self) -> bool:
        return self.metadata.annotations.get(Annotation.DEFAULT_GROUP_SNAPSHOT_CLASS) == "true"
