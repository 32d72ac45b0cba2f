"""The steps that a plan of the expand controller may hold, in the order of their writes.

Steps say what is to be recorded of the claim or the volume; what is recorded of the claim builds on
what the steps before have written.
"""

from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.quantity import Quantity
from mooring.model.steps import Emit, Fail
from mooring.model.volume import Volume

EXTERNAL = "ExternalExpanding"
SUCCEEDED = "VolumeResizeSuccessful"
FAILED = "VolumeResizeFailed"


class NameResizer(msgspec.Struct, frozen=True):
    """Name the resizer in the claim's annotation."""

    resizer: str


class Start(msgspec.Struct, frozen=True):
    """Record that expansion to this size has begun, with its resizer."""

    size: Quantity
    resizer: str


class GrowVolume(msgspec.Struct, frozen=True):
    """Record the volume's new size and, for a file system to follow, the one it still has."""

    volume: Volume
    size: Quantity
    before: str | None


class GrowBackEnd(msgspec.Struct, frozen=True):
    """Have its FlexVolume driver, if that is on this machine, or our plugin grow it."""

    volume: Volume
    size: Quantity
    before: Quantity


class AwaitNode(msgspec.Struct, frozen=True):
    """Record that a node has to finish."""


class Finish(msgspec.Struct, frozen=True):
    """Record that all is done."""

    size: Quantity


class ForgetBefore(msgspec.Struct, frozen=True):
    """The file system has followed: drop what the volume remembers."""

    volume: Volume


Write = NameResizer | Start | GrowBackEnd | GrowVolume | AwaitNode | Finish | ForgetBefore
Step = Write | Emit | Fail
Plan: TypeAlias = steps.Plan[Step]
