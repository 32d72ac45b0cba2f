"""The steps that a plan of the resizer may hold, and the reasons of its events."""

from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from mooring.csi.requests import ExpandVolume
from mooring.model import steps
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.quantity import Quantity
from mooring.model.reference import SecretReference
from mooring.model.steps import Emit, Fail
from mooring.model.volume import Volume

RESIZING: Final = "Resizing"
RESIZED: Final = "VolumeResizeSuccessful"
RESIZE_FAILED: Final = "VolumeResizeFailed"
NODE_REQUIRED: Final = "FileSystemResizeRequired"
MODIFYING: Final = "VolumeModify"
MODIFIED: Final = "VolumeModifySuccessful"
MODIFY_FAILED: Final = "VolumeModifyFailed"
MODIFY_CANCELED: Final = "VolumeModifyCanceled"


class Later(msgspec.Struct, frozen=True):
    """Look again in so many seconds."""

    seconds: float


# growing


class Expand(msgspec.Struct, frozen=True):
    """Record that it begins, have the driver grow the volume, and record what became of it."""

    claim: Claim
    volume: Volume
    size: Quantity
    request: ExpandVolume | None  # without secrets; None: only the node has something to do
    secret: SecretReference | None
    lowers: bool = False  # the volume's size is a promise that no node could keep


class GrowVolume(msgspec.Struct, frozen=True):
    """Record the volume's size and, if the node has to follow, the claim's before that."""

    volume: Volume
    size: Quantity
    before: str | None


class AwaitNode(msgspec.Struct, frozen=True):
    claim: Claim
    size: Quantity  # that the node has to reach: a driver may have given more than asked for


class Finish(msgspec.Struct, frozen=True):
    claim: Claim
    size: Quantity


class MarkResizeFailed(msgspec.Struct, frozen=True):
    """A final answer: whatever is asked for next may be another size."""

    claim: Claim
    error: str
    is_in_use: bool = False  # it would grow if no pod used it


class MarkResizeInfeasible(msgspec.Struct, frozen=True):
    claim: Claim
    error: str
    size: Quantity


class ForgetBefore(msgspec.Struct, frozen=True):
    """The node has followed: drop what the volume remembers."""

    volume: Volume


# changing the attributes class


class Modify(msgspec.Struct, frozen=True):
    """Record that it begins, have the driver change the volume, and record what became of it."""

    claim: Claim
    volume: Volume
    attributes: AttributesClass
    handle: str
    parameters: Mapping[str, str]
    secret: SecretReference | None


class MarkPending(msgspec.Struct, frozen=True):
    claim: Claim


class Cancel(msgspec.Struct, frozen=True):
    claim: Claim


class NameClass(msgspec.Struct, frozen=True):
    """Record the volume's class."""

    volume: Volume
    name: str


class Complete(msgspec.Struct, frozen=True):
    claim: Claim
    name: str


class MarkModifyFailed(msgspec.Struct, frozen=True):
    claim: Claim
    code: str
    message: str
    is_final: bool


class RejectClass(msgspec.Struct, frozen=True):
    """The class is another driver's."""

    claim: Claim
    name: str
    message: str


class MarkModifyInfeasible(msgspec.Struct, frozen=True):
    claim: Claim
    code: str
    message: str
    class_uid: str


ResizeStep = (
    Expand
    | GrowVolume
    | AwaitNode
    | Finish
    | MarkResizeFailed
    | MarkResizeInfeasible
    | ForgetBefore
    | Later
    | Emit
    | Fail
)
ResizePlan: TypeAlias = steps.Plan[ResizeStep]
ModifyStep = (
    Modify
    | MarkPending
    | Cancel
    | NameClass
    | Complete
    | MarkModifyFailed
    | RejectClass
    | MarkModifyInfeasible
    | Later
    | Emit
    | Fail
)
ModifyPlan: TypeAlias = steps.Plan[ModifyStep]
