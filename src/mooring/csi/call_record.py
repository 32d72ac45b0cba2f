"""CSI calls as they are shown: the JSON of `/mooring/v1/csi-calls` (docs/csi-tools.md)."""

from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from mooring.csi.cause import Ref


class Process(msgspec.Struct, frozen=True):
    """Whose calls they are; a node of `mooring up` and its API server are one process."""

    id: str
    host: str
    pid: int


class CsiCall(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One call, as it is shown."""

    id: int  # unique in its process
    service: str
    method: str
    started: Annotated[datetime, msgspec.Meta(tz=True)]
    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e9)]  # until its end; in flight: until now
    driver: str = ""
    volume: str = ""
    code: str = ""  # of gRPC; empty: in flight
    in_flight: bool = False
    asked_by: str = ""
    because: Ref | None = None

    @property
    def ended(self) -> datetime:
        """In flight: now."""
        return self.started + timedelta(seconds=self.seconds)


class CsiCalls(msgspec.Struct, frozen=True, rename="camel"):
    """The calls of one process: those in flight first, then the finished, newest first."""

    process: Process
    calls: tuple[CsiCall, ...]
    dropped: int = 0  # finished ones that are no longer kept


class CsiCallEvent(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One line of a stream."""

    type: str  # STARTED, FINISHED, LOST
    process: Process
    call: CsiCall | None = None
    lost: int = 0  # of LOST: calls that ended and went before they could be sent
