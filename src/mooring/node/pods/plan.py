"""What can be done for a pod's containers, one step at a time."""

import msgspec

from mooring.model.container import Container
from mooring.oci.contract import Found


class Pause(msgspec.Struct, frozen=True):
    """How long a container has to wait once it ends; doubled by every restart."""

    seconds: float
    since: float  # the restart that began it


class Start(msgspec.Struct, frozen=True):
    """Make a container and run it."""

    container: Container
    attempt: int
    leftovers: tuple[str, ...] = ()  # made for this attempt, never run: to be removed first
    pause: Pause | None = None  # what its next end will cost it


class Postpone(msgspec.Struct, frozen=True):
    """It has ended too often to be started again at once."""

    container: Container
    seconds: float  # how long it has to wait in all
    until: float


class Kill(msgspec.Struct, frozen=True):
    found: Found
    container: Container
    grace: int  # seconds
    message: str
    after: tuple[str, ...] = ()  # names of containers that end first, if there is time


class Discard(msgspec.Struct, frozen=True):
    """Remove a container that does not run, and its log."""

    found: Found


Step = Start | Postpone | Kill | Discard


class Plan(msgspec.Struct, frozen=True):
    because: str
    steps: tuple[Step, ...] = ()
    look_at: float | None = None  # when there may be something to do though nothing changed
    is_over: bool = False  # nothing of the pod runs, and nothing will
