"""The steps that a plan of the expand controller may hold, in the order of their writes.

Steps say what is to be recorded of the claim or the volume; each builds on what those before it
have written.
"""

import msgspec

from mooring.model.quantity import Quantity


class TellExternal(msgspec.Struct, frozen=True):
    """Say on the claim that somebody outside grows it."""

    message: str


class NameResizer(msgspec.Struct, frozen=True):
    """Say in the claim's annotation who is to grow it."""

    resizer: str


class Start(msgspec.Struct, frozen=True):
    """Record that growing to this size has begun, and by whom."""

    size: Quantity
    resizer: str


class GrowVolume(msgspec.Struct, frozen=True):
    """Record the volume's new size and, for a file system to follow, the one it still has."""

    size: Quantity
    before: str | None


class AwaitNode(msgspec.Struct, frozen=True):
    """Record that a node has to finish."""


class Finish(msgspec.Struct, frozen=True):
    """Record that all is done, and tell."""

    size: Quantity


class ForgetBefore(msgspec.Struct, frozen=True):
    """The file system has followed: drop what the volume remembers."""


Step = TellExternal | NameResizer | Start | GrowVolume | AwaitNode | Finish | ForgetBefore


class Plan(msgspec.Struct, frozen=True):
    because: str
    steps: tuple[Step, ...] = ()
    problem: str = ""  # something is not as it should be: look again later


def plan(because: str, *steps: Step) -> Plan:
    return Plan(because, steps)
