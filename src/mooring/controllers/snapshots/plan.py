"""The steps that a plan about snapshots, contents, groups and their claims may hold."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.document import Doc
from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotContent
from mooring.model.meta import ApiObject
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.steps import Emit

Owner: TypeAlias = Snapshot | GroupSnapshot
Content: TypeAlias = SnapshotContent | GroupSnapshotContent


class AskServer(msgspec.Struct, frozen=True):
    """The cache lacks what the decision rests on: read it from the server and decide again."""


class Change(msgspec.Struct, frozen=True):
    """Write parts of an object, but not its status; each annotation is a key of its own."""

    of: ApiObject
    adds: tuple[str, ...] = ()  # finalizers
    removes: tuple[str, ...] = ()  # finalizers
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    spec: Doc = msgspec.field(default_factory=dict)
    owner: ApiObject | None = None  # becomes an owner of the object


class ChangeStatus(msgspec.Struct, frozen=True):
    of: ApiObject
    status: Doc


class Create(msgspec.Struct, frozen=True):
    """Make an object that people asked for with `owner`, who learns about a refusal."""

    kind: type[ApiObject]
    doc: Doc
    owner: Owner


class DeleteContent(msgspec.Struct, frozen=True):
    """The driver will delete what is behind it: only if the live objects still say so."""

    content: Content
    owner: Owner


class DeleteMember(msgspec.Struct, frozen=True):
    """Delete a snapshot that a group had made."""

    snapshot: Snapshot


Write = Change | ChangeStatus | Create | DeleteContent | DeleteMember
Step = Write | AskServer | Emit
Plan: TypeAlias = steps.Plan[Step]


class Reason:
    """Upstream's, as `kubectl describe` shows them."""

    CREATING = "CreatingSnapshot"
    CREATED = "SnapshotCreated"
    READY = "SnapshotReady"
    CLASS_MISSING = "GetSnapshotClassFailed"
    NO_DEFAULT = "SetDefaultSnapshotClassFailed"
    INVALID = "SnapshotValidationError"
    NOT_CREATED = "SnapshotContentCreationFailed"
    NOT_POSTED = "CreateSnapshotContentFailed"
    CONTENT_MISSING = "SnapshotContentMissing"
    CONTENT_MISMATCH = "SnapshotContentMismatch"
    CONTENT_MISBOUND = "SnapshotContentMisbound"
    MISBOUND = "SnapshotMisbound"
    BIND_FAILED = "SnapshotBindFailed"
    STATUS_FAILED = "SnapshotStatusUpdateFailed"
    FINALIZER_FAILED = "SnapshotFinalizerError"
    CLAIM_FAILED = "ErrorPVCFinalizer"
    DELETE_PENDING = "SnapshotDeletePending"
    DELETE_FAILED = "SnapshotContentObjectDeleteError"
    CONTENT_INVALID = "ContentValidationError"


class GroupReason:
    CREATING = "CreatingGroupSnapshot"
    CREATED = "GroupSnapshotCreated"
    READY = "GroupSnapshotReady"
    CLASS_MISSING = "GetGroupSnapshotClassFailed"
    NO_DEFAULT = "SetDefaultGroupSnapshotClassFailed"
    INVALID = "GroupSnapshotValidationError"
    NOT_CREATED = "GroupSnapshotContentCreationFailed"
    NOT_POSTED = "CreateGroupSnapshotContentFailed"
    CONTENT_MISSING = "GroupSnapshotContentMissing"
    CONTENT_MISMATCH = "GroupSnapshotContentMismatch"
    CONTENT_MISBOUND = "GroupSnapshotContentMisbound"
    MISBOUND = "GroupSnapshotMisbound"
    BIND_FAILED = "GroupSnapshotBindFailed"
    STATUS_FAILED = "GroupSnapshotStatusUpdateFailed"
    FINALIZER_FAILED = "GroupSnapshotFinalizerError"
    DELETE_FAILED = "GroupSnapshotContentObjectDeleteError"
    CONTENT_INVALID = "GroupContentValidationError"
