"""VolumeSnapshot, its content and its class: the state of a volume at one moment."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource
from mooring.model.reference import ObjectReference
from mooring.model.storage_terms import VolumeMode
from mooring.model.wellknown import Annotation
from mooring.model.wire import Wire, Word

_GROUP = "snapshot.storage.k8s.io"


class DeletionPolicy(Word):
    """What happens to the snapshot in the storage system when its object is deleted."""

    DELETE = "Delete"
    RETAIN = "Retain"


class SnapshotError(Wire, frozen=True):
    time: str | None = None
    message: str | None = None


class SnapshotSource(Wire, frozen=True):
    """A claim to take the snapshot of, or a content that exists already."""

    persistent_volume_claim_name: str | None = None
    volume_snapshot_content_name: str | None = None


class SnapshotSpec(Wire, frozen=True):
    source: SnapshotSource
    volume_snapshot_class_name: str | None = None


class SnapshotStatus(Wire, frozen=True):
    bound_volume_snapshot_content_name: str | None = None
    creation_time: str | None = None
    ready_to_use: bool | None = None
    restore_size: str | None = None
    error: SnapshotError | None = None
    volume_group_snapshot_name: str | None = None


class Snapshot(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        _GROUP, "v1", "VolumeSnapshot", "volumesnapshots", namespaced=True
    )

    spec: SnapshotSpec
    status: SnapshotStatus | None = None

    @property
    def is_ready(self) -> bool:
        return self.status is not None and bool(self.status.ready_to_use)

    @property
    def content_name(self) -> str:
        """The content it is bound to, empty before that."""
        return (self.status and self.status.bound_volume_snapshot_content_name) or ""


class ContentSource(Wire, frozen=True):
    """A volume to take the snapshot of, or a snapshot that exists already."""

    volume_handle: str | None = None
    snapshot_handle: str | None = None


class ContentSpec(Wire, frozen=True):
    driver: str
    deletion_policy: DeletionPolicy
    volume_snapshot_ref: ObjectReference
    source: ContentSource
    volume_snapshot_class_name: str | None = None
    source_volume_mode: VolumeMode | None = None


class ContentStatus(Wire, frozen=True):
    snapshot_handle: str | None = None
    creation_time: int | None = None  # nanoseconds since 1970
    restore_size: int | None = None  # bytes
    ready_to_use: bool | None = None
    error: SnapshotError | None = None
    volume_group_snapshot_handle: str | None = None


class SnapshotContent(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        _GROUP, "v1", "VolumeSnapshotContent", "volumesnapshotcontents", namespaced=False
    )

    spec: ContentSpec
    status: ContentStatus | None = None

    @property
    def is_ready(self) -> bool:
        return self.status is not None and bool(self.status.ready_to_use)

    @property
    def snapshot_handle(self) -> str:
        """The driver's handle of the snapshot, empty while there is none."""
        taken = self.status and self.status.snapshot_handle
        return taken or self.spec.source.snapshot_handle or ""

    @property
    def is_static(self) -> bool:
        """An administrator made it for a snapshot that exists already."""
        return self.spec.source.snapshot_handle is not None

    @property
    def is_member(self) -> bool:
        """Of a group snapshot, which is taken and deleted as a whole."""
        is_told = self.status is not None and bool(self.status.volume_group_snapshot_handle)
        return is_told or Annotation.GROUP_SNAPSHOT_HANDLE in self.metadata.annotations

    @property
    def is_doomed(self) -> bool:
        """Deleted, and no VolumeSnapshot needs it any more."""
        is_free = self.is_static and not self.spec.volume_snapshot_ref.uid
        return self.is_deleting and (self.is_being_deleted or is_free)

    @property
    def is_being_created(self) -> bool:
        """A create may be running in the driver, so nothing may be deleted yet."""
        return self.metadata.annotations.get(Annotation.SNAPSHOT_BEING_CREATED) == "yes"

    @property
    def is_being_deleted(self) -> bool:
        """Its VolumeSnapshot is being deleted."""
        return Annotation.SNAPSHOT_BEING_DELETED in self.metadata.annotations


class SnapshotClass(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        _GROUP, "v1", "VolumeSnapshotClass", "volumesnapshotclasses", namespaced=False
    )

    driver: str
    deletion_policy: DeletionPolicy
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def is_default(self) -> bool:
        return self.metadata.annotations.get(Annotation.DEFAULT_SNAPSHOT_CLASS) == "true"
