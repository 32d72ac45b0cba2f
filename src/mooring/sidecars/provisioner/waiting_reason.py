"""Why a volume cannot be asked for now, and what that means for the claim."""

from enum import Enum

from mooring.errors import MooringError


class Then(Enum):
    TRY_AGAIN = "try again"  # what was known about the driver stays as it was
    RESCHEDULE = "reschedule"  # another node may do: the scheduler shall look again


class WaitingReason(MooringError):
    """The driver was not asked. The text goes into an event."""

    def __init__(self, text: str, then: Then = Then.TRY_AGAIN) -> None:
        super().__init__(text)
        self.then = then
