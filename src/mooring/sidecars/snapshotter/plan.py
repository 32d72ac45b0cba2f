"""The steps that a plan of the snapshotter may hold, and the reasons of its events."""

from typing import Final, TypeAlias

import msgspec

from mooring.csi.requests import CreateGroupSnapshot, CreateSnapshot, GroupMembers
from mooring.model import steps
from mooring.model.group_snapshot import GroupSnapshotContent
from mooring.model.reference import SecretReference
from mooring.model.snapshot import SnapshotContent
from mooring.sidecars.snapshotter.request import SnapshotRequest

CREATION_FAILED: Final = "SnapshotCreationFailed"
UPDATE_FAILED: Final = "SnapshotContentCheckandUpdateFailed"
DELETE_FAILED: Final = "SnapshotDeleteError"
GROUP_CREATION_FAILED: Final = "GroupSnapshotCreationFailed"
GROUP_UPDATE_FAILED: Final = "GroupSnapshotContentCheckandUpdateFailed"
GROUP_DELETE_FAILED: Final = "GroupSnapshotDeleteError"


# of any content


class Close(msgspec.Struct, frozen=True):
    """Nothing is being created any more."""


class Release(msgspec.Struct, frozen=True):
    """There is nothing, or nothing more, to delete: the object may go."""


class CreateFails(msgspec.Struct, frozen=True):
    """Write the error into the status, and try again later."""

    message: str


class DeleteFails(msgspec.Struct, frozen=True):
    message: str


# of a VolumeSnapshotContent


class Create(msgspec.Struct, frozen=True):
    request: CreateSnapshot  # without secrets: they are read when it is sent
    secret: SecretReference | None
    record: SnapshotRequest | None  # to be written down before it is sent; None: it is on record
    is_repeated: bool  # until it is ready, as the driver tells so in no other way


class LookUp(msgspec.Struct, frozen=True):
    """Ask the driver about a snapshot that exists."""

    handle: str
    secret: SecretReference | None


class MarkReady(msgspec.Struct, frozen=True):
    """The driver cannot be asked about a snapshot that an administrator says exists."""

    handle: str


class Delete(msgspec.Struct, frozen=True):
    handle: str
    secret: SecretReference | None


# of a VolumeGroupSnapshotContent


class CreateGroup(msgspec.Struct, frozen=True):
    request: CreateGroupSnapshot  # without secrets
    secret: SecretReference | None
    record: SnapshotRequest | None  # to be written down before it is sent; None: it is on record


class LookUpGroup(msgspec.Struct, frozen=True):
    group: GroupMembers
    secret: SecretReference | None


class DeleteGroup(msgspec.Struct, frozen=True):
    group: GroupMembers
    secret: SecretReference | None


Common = Close | Release | CreateFails | DeleteFails
Step = Common | Create | LookUp | MarkReady | Delete
GroupStep = Common | CreateGroup | LookUpGroup | DeleteGroup
Plan: TypeAlias = steps.Plan[Step]
GroupPlan: TypeAlias = steps.Plan[GroupStep]
Content: TypeAlias = SnapshotContent | GroupSnapshotContent
