"""What became of a call: `Done`, `Refused`, or `Uncertain`; and the words for it."""

from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Code(IntEnum):
    """The status codes of gRPC. The numbers are also the `errorCode` of a VolumeAttachment."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16

    @property
    def label(self) -> str:
        """The name that events and metrics of Kubernetes use: `DeadlineExceeded`."""
        match self:
            case Code.OK:
                return "OK"
            case Code.CANCELLED:
                return "Canceled"
            case _:
                return self.name.title().replace("_", "")


class Done(msgspec.Struct, Generic[T], frozen=True):
    """It is so, and this is what the driver said."""

    value: T


class _Failure(msgspec.Struct, frozen=True):
    """What the driver, or the way to it, said. Free of secrets."""

    code: Code | None  # None: there was an answer, but it made no sense
    message: str

    @property
    def text(self) -> str:
        """As Kubernetes' own components write a failed call into events and conditions."""
        if self.code is None:
            return self.message
        return f"rpc error: code = {self.code.label} desc = {self.message}"


class Refused(_Failure, frozen=True):
    """Certainly not, and nothing is left running."""


class Uncertain(_Failure, frozen=True):
    """Maybe: it may still be running. Ask again with the same words; never undo on a guess."""


Outcome = Done[T] | Refused | Uncertain


class Verdict(Enum):
    REFUSED = "refused"
    UNCERTAIN = "uncertain"


class Row(msgspec.Struct, frozen=True):
    """How one code is to be taken, and the rule that says so."""

    verdict: Verdict
    because: str


Table = Mapping[Code, Row]
"""One row for every code but OK."""


def judge(table: Table, code: Code, message: str) -> Refused | Uncertain:
    """A failed call as its outcome; `message` is already free of secrets."""
    match table[code].verdict:
        case Verdict.REFUSED:
            return Refused(code, message)
        case Verdict.UNCERTAIN:
            return Uncertain(code, message)


# ---- one table per RPC ----
#
# "spec" is the CSI specification 1.13, "upstream" what the callers in Kubernetes 1.35 do. A row of
# an RPC stands before the general ones. Where a repeated call is cheap and a wrong "certainly not"
# would lose a volume or a mount, the doubtful code counts as uncertain.


def _refused(because: str) -> Row:
    return Row(Verdict.REFUSED, because)


def _uncertain(because: str) -> Row:
    return Row(Verdict.UNCERTAIN, because)


_GENERAL: Table = {
    Code.CANCELLED: _uncertain("spec, timeouts: a cancelled call may go on in the driver"),
    Code.DEADLINE_EXCEEDED: _uncertain("spec, timeouts: the driver may go on after the deadline"),
    Code.UNAVAILABLE: _uncertain("spec, timeouts: the connection was lost, the work perhaps not"),
    Code.ABORTED: _uncertain("spec, general: another operation on it is running"),
    Code.INVALID_ARGUMENT: _refused("spec, general: the request is not acceptable as it is"),
    Code.PERMISSION_DENIED: _refused("spec, general: the secrets do not allow it"),
    Code.UNIMPLEMENTED: _refused("spec, general: the driver does not do this at all"),
    Code.UNAUTHENTICATED: _refused("spec, general: the secrets are missing or not valid"),
}

_ANSWERED = _refused("upstream: every code but those of a lost call is a final answer")

_ASKING: Table = {
    **dict.fromkeys((code for code in Code if code is not Code.OK), _ANSWERED),
    **_GENERAL,
    Code.RESOURCE_EXHAUSTED: _uncertain("transport: a reply over the size limit ends so too"),
}
"""RPCs that change nothing: uncertain means that there was no answer."""

_MAKING: Table = {
    **_ASKING,
    Code.RESOURCE_EXHAUSTED: _uncertain("upstream: the driver may be over a limit and still at it"),
}
"""RPCs that make something; a wrong "certainly not" leaks it."""

_AT_IT = _uncertain("upstream: any error of an undoing call is tried again, nothing is assumed")

_UNDOING: Table = {
    **dict.fromkeys((code for code in Code if code is not Code.OK), _AT_IT),
    **_GENERAL,
}
"""RPCs that undo; a wrong "certainly not" would claim that all is still in place."""

_SPEC_UNKNOWN_VOLUME = _refused("spec: the volume does not exist")
_SPEC_BAD_TOKEN = _refused("spec: starting_token is not valid; list again from the beginning")
_METADATA: Table = {
    **_ASKING,
    Code.NOT_FOUND: _refused("spec: the snapshot does not exist"),
    Code.OUT_OF_RANGE: _refused("spec: starting_offset is negative or behind the end"),
}

TABLES: Mapping[str, Table] = {
    # Identity
    "GetPluginInfo": _ASKING,
    "GetPluginCapabilities": _ASKING,
    "Probe": {
        **_ASKING,
        Code.FAILED_PRECONDITION: _refused("spec: the driver is not healthy"),
    },
    # Controller
    "CreateVolume": {
        **_MAKING,
        Code.INVALID_ARGUMENT: _refused("spec: unsupported parameters or content source"),
        Code.NOT_FOUND: _refused("spec: the content source does not exist"),
        Code.ALREADY_EXISTS: _refused("spec: the name exists with other properties"),
        Code.RESOURCE_EXHAUSTED: _refused("spec: no room in that topology; upstream: final"),
        Code.OUT_OF_RANGE: _refused("spec: the capacity range is not allowed"),
    },
    "DeleteVolume": {
        **_UNDOING,
        Code.FAILED_PRECONDITION: _refused("spec: the volume is in use or has snapshots"),
    },
    "ControllerPublishVolume": {
        **_MAKING,
        Code.NOT_FOUND: _refused("spec: the volume or the node does not exist"),
        Code.ALREADY_EXISTS: _refused("spec: published there with other properties"),
        Code.RESOURCE_EXHAUSTED: _uncertain(
            "spec: the node is full; upstream: perhaps still at it"
        ),
        Code.FAILED_PRECONDITION: _refused("spec: published to another node"),
    },
    "ControllerUnpublishVolume": {
        **_UNDOING,
        Code.NOT_FOUND: _uncertain("spec: the driver cannot be sure that it is unpublished"),
    },
    "ValidateVolumeCapabilities": {**_ASKING, Code.NOT_FOUND: _SPEC_UNKNOWN_VOLUME},
    "ListVolumes": {**_ASKING, Code.ABORTED: _SPEC_BAD_TOKEN},
    "GetCapacity": _ASKING,
    "ControllerGetCapabilities": _ASKING,
    "ControllerGetVolume": {**_ASKING, Code.NOT_FOUND: _SPEC_UNKNOWN_VOLUME},
    "ControllerExpandVolume": {
        **_MAKING,
        Code.INVALID_ARGUMENT: _refused("spec: the volume cannot be expanded so"),
        Code.NOT_FOUND: _SPEC_UNKNOWN_VOLUME,
        Code.FAILED_PRECONDITION: _refused("spec: in use, and only offline expansion works"),
        Code.OUT_OF_RANGE: _refused("spec: the capacity range is not allowed"),
    },
    "ControllerModifyVolume": {
        **_MAKING,
        Code.INVALID_ARGUMENT: _refused("spec: unsupported parameters, none was applied"),
        Code.NOT_FOUND: _SPEC_UNKNOWN_VOLUME,
    },
    "CreateSnapshot": {
        **_MAKING,
        Code.ALREADY_EXISTS: _refused("spec: the name exists for another source"),
        Code.RESOURCE_EXHAUSTED: _uncertain("spec: no room; upstream keeps the mark all the same"),
        Code.ABORTED: _uncertain("spec: an operation on this snapshot is pending"),
    },
    "DeleteSnapshot": {
        **_UNDOING,
        Code.INVALID_ARGUMENT: _refused("spec: it belongs to a group"),
        Code.FAILED_PRECONDITION: _refused("spec: the snapshot is in use"),
    },
    "ListSnapshots": {**_ASKING, Code.ABORTED: _SPEC_BAD_TOKEN},
    "GetSnapshot": {**_ASKING, Code.NOT_FOUND: _refused("spec: the snapshot does not exist")},
    # GroupController
    "GroupControllerGetCapabilities": _ASKING,
    "CreateVolumeGroupSnapshot": {
        **_MAKING,
        Code.ALREADY_EXISTS: _refused("spec: the name exists for other sources or parameters"),
        Code.RESOURCE_EXHAUSTED: _uncertain("spec: no room; upstream keeps the mark all the same"),
        Code.FAILED_PRECONDITION: _refused("spec: these volumes cannot be taken together"),
    },
    "DeleteVolumeGroupSnapshot": {
        **_UNDOING,
        Code.INVALID_ARGUMENT: _refused("spec: the list of snapshots is not that of the group"),
        Code.FAILED_PRECONDITION: _refused("spec: a snapshot of the group is in use"),
    },
    "GetVolumeGroupSnapshot": {
        **_ASKING,
        Code.INVALID_ARGUMENT: _refused("spec: the list of snapshots is not that of the group"),
        Code.NOT_FOUND: _refused("spec: the group snapshot does not exist"),
    },
    "ControllerListVolumeHealth": {**_ASKING, Code.ABORTED: _SPEC_BAD_TOKEN},
    "ControllerGetVolumeHealth": {**_ASKING, Code.NOT_FOUND: _SPEC_UNKNOWN_VOLUME},
    # SnapshotMetadata
    "GetMetadataAllocated": _METADATA,
    "GetMetadataDelta": _METADATA,
    # Node
    "NodeStageVolume": {
        **_MAKING,
        Code.NOT_FOUND: _SPEC_UNKNOWN_VOLUME,
        Code.ALREADY_EXISTS: _refused("spec: staged there with another capability"),
        Code.FAILED_PRECONDITION: _refused("spec: more capabilities than the volume has"),
    },
    "NodeUnstageVolume": _UNDOING,
    "NodePublishVolume": {
        **_MAKING,
        Code.NOT_FOUND: _SPEC_UNKNOWN_VOLUME,
        Code.ALREADY_EXISTS: _refused("spec: published there with other arguments"),
        Code.FAILED_PRECONDITION: _refused("spec: capability exceeded, or not staged"),
    },
    "NodeUnpublishVolume": _UNDOING,
    "NodeGetVolumeStats": {
        **_ASKING,
        Code.NOT_FOUND: _refused("spec: the volume is not at that path"),
    },
    "NodeExpandVolume": {
        **_MAKING,
        Code.INVALID_ARGUMENT: _refused("spec: the volume cannot be expanded so"),
        Code.NOT_FOUND: _SPEC_UNKNOWN_VOLUME,
        Code.FAILED_PRECONDITION: _refused("spec: in use, and cannot grow while it is"),
        Code.OUT_OF_RANGE: _refused("spec: the capacity range is not allowed"),
    },
    "NodeGetCapabilities": _ASKING,
    "NodeGetInfo": _ASKING,
    "NodeGetVolumeHealth": {**_ASKING, Code.NOT_FOUND: _SPEC_UNKNOWN_VOLUME},
    "NodeGetStorageHealth": _ASKING,
    # plugin registration
    "GetInfo": _ASKING,
    "NotifyRegistrationStatus": _ASKING,
}
"""By the last word of the method."""
