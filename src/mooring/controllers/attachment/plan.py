"""The steps that a plan of the AttachDetach controller may hold, in the order they are taken."""

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from mooring.controllers.attachment.actual import Act, Memory, VolumeOnNode
from mooring.controllers.attachment.force_detach import Force
from mooring.controllers.attachment.resolve import AttachableVolume
from mooring.model import steps
from mooring.model.attachment import Attachment
from mooring.model.steps import Emit

SUCCEEDED = "SuccessfulAttachVolume"
FAILED = "FailedAttachVolume"
DETACH_FAILED = "FailedDetachVolume"
WAITING = "WaitingForDetach"


class Remember(msgspec.Struct, frozen=True):
    """Before anything is asked for: what was, even if the answer never comes."""

    where: VolumeOnNode
    memory: Memory


class Forget(msgspec.Struct, frozen=True):
    where: VolumeOnNode


class Create(msgspec.Struct, frozen=True):
    """Ask for the volume to be attached."""

    where: VolumeOnNode
    volume: AttachableVolume


class Withdraw(msgspec.Struct, frozen=True):
    """Take the volume off the node's list, and read whether the node uses it.

    The rest is decided by what it says.
    """

    where: VolumeOnNode


class Delete(msgspec.Struct, frozen=True):
    """Ask for the volume to be detached."""

    where: VolumeOnNode
    attachment: Attachment


class Report(msgspec.Struct, frozen=True):
    """Put the volume on the node's list of attached volumes."""

    where: VolumeOnNode


class Unreport(msgspec.Struct, frozen=True):
    """Take it off."""

    where: VolumeOnNode


class Ended(msgspec.Struct, frozen=True):
    """An attempt is over; for the metrics."""

    act: Act
    seconds: float
    is_success: bool


class CountForced(msgspec.Struct, frozen=True):
    """A volume is detached from a node that reports it in use."""

    where: VolumeOnNode
    force: Force


class LookAgain(msgspec.Struct, frozen=True):
    """Even if nothing happens."""

    seconds: float


Step = (
    Remember
    | Forget
    | Create
    | Withdraw
    | Delete
    | Report
    | Unreport
    | Ended
    | CountForced
    | LookAgain
    | Emit
)
Steps: TypeAlias = Iterator[Step]
Plan: TypeAlias = steps.Plan[Step]
