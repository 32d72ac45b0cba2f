"""The steps that a plan of the AttachDetach controller may hold, in the order they are taken."""

from typing import TypeAlias

import msgspec

from mooring.controllers.attachment.actual import Act, Memory, Spot
from mooring.controllers.attachment.force_detach import Force
from mooring.controllers.attachment.resolve import CsiVolume
from mooring.model import steps
from mooring.model.attachment import Attachment
from mooring.model.steps import Emit

SUCCEEDED = "SuccessfulAttachVolume"
FAILED = "FailedAttachVolume"
DETACH_FAILED = "FailedDetachVolume"
WAITING = "WaitingForDetach"


class Remember(msgspec.Struct, frozen=True):
    """Before anything is asked for: what was, even if the answer never comes."""

    spot: Spot
    memory: Memory


class Forget(msgspec.Struct, frozen=True):
    spot: Spot


class Create(msgspec.Struct, frozen=True):
    """Ask for the volume to be attached."""

    spot: Spot
    volume: CsiVolume


class Withdraw(msgspec.Struct, frozen=True):
    """Tell the node not to count on the volume any longer, and ask whether it uses it.

    The rest is decided by what it says.
    """

    spot: Spot


class Delete(msgspec.Struct, frozen=True):
    """Ask for the volume to be detached."""

    spot: Spot
    attachment: Attachment


class Report(msgspec.Struct, frozen=True):
    """Tell the node that the volume is there."""

    spot: Spot


class Unreport(msgspec.Struct, frozen=True):
    """Tell the node that it is not."""

    spot: Spot


class Ended(msgspec.Struct, frozen=True):
    """An attempt is over, for those who count."""

    act: Act
    seconds: float
    is_success: bool


class CountForced(msgspec.Struct, frozen=True):
    """A volume is taken away from a node that says it uses it."""

    spot: Spot
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
Plan: TypeAlias = steps.Plan[Step]
