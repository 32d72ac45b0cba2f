"""The last CSI calls of this process, and those under way: a ring with a budget.

Only fields that are named here are copied out of a request: `VOLUME_FIELDS` says which. Secrets,
contexts, parameters, paths and the texts of failures are never kept.
"""

import os
import socket
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from mooring.csi.call_record import Process
from mooring.csi.cause import cause

MOST_CALLS = 4096  # finished ones that are kept
MOST_BYTES = 2 << 20  # of their texts, and what their records cost
MOST_IN_FLIGHT = 2048  # that are shown; of more, only those that end are
LONGEST_FIELD = 256  # characters of one field
RECORD_BYTES = 600  # of a record without its texts

VOLUME_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "CreateVolume": "name",
        "DeleteVolume": "volume_id",
        "ControllerPublishVolume": "volume_id",
        "ControllerUnpublishVolume": "volume_id",
        "ValidateVolumeCapabilities": "volume_id",
        "ControllerGetVolume": "volume_id",
        "ControllerExpandVolume": "volume_id",
        "ControllerModifyVolume": "volume_id",
        "ControllerGetVolumeHealth": "volume_id",
        "CreateSnapshot": "source_volume_id",
        "DeleteSnapshot": "snapshot_id",
        "GetSnapshot": "snapshot_id",
        "ListSnapshots": "snapshot_id",
        "CreateVolumeGroupSnapshot": "name",
        "DeleteVolumeGroupSnapshot": "group_snapshot_id",
        "GetVolumeGroupSnapshot": "group_snapshot_id",
        "GetMetadataAllocated": "snapshot_id",
        "GetMetadataDelta": "target_snapshot_id",
        "NodeStageVolume": "volume_id",
        "NodeUnstageVolume": "volume_id",
        "NodePublishVolume": "volume_id",
        "NodeUnpublishVolume": "volume_id",
        "NodeGetVolumeStats": "volume_id",
        "NodeExpandVolume": "volume_id",
        "NodeGetVolumeHealth": "volume_id",
    }
)
"""By method, the field that says which volume or snapshot it is about."""


class TracedCall:
    """One call; filled in as it goes on."""

    __slots__ = (
        "began",
        "cause",
        "code",
        "driver",
        "id",
        "method",
        "number",
        "seconds",
        "started",
        "volume",
    )

    def __init__(self, id: int, driver: str, method: str, started: datetime, began: float) -> None:
        self.id = id
        self.driver = driver
        self.method = method  # its full path
        self.started = started
        self.began = began  # on the monotonic clock
        self.cause = cause()
        self.volume = ""
        self.seconds = 0.0
        self.code = ""  # empty: in flight
        self.number = 0  # of finished calls; 0: in flight

    @property
    def size(self) -> int:
        ref = self.cause.because
        because = 0 if ref is None else len(ref.name) + len(ref.namespace) + len(ref.uid)
        return RECORD_BYTES + len(self.driver) + len(self.volume) + because


class CallLog:
    """Belongs to one event loop. `begin`, then `end`, for each call."""

    def __init__(self, most_calls: int = MOST_CALLS, most_bytes: int = MOST_BYTES) -> None:
        self.process = Process(uuid.uuid4().hex, socket.gethostname(), os.getpid())
        self._most_calls = most_calls
        self._most_bytes = most_bytes
        self._done: deque[TracedCall] = deque()
        self._bytes = 0
        self._in_flight: dict[int, TracedCall] = {}
        self._listeners: dict[object, Callable[[], None]] = {}
        self._last_id = 0
        self._finished = 0

    @property
    def finished(self) -> int:
        """How many calls have ended, those that are no longer kept included."""
        return self._finished

    @property
    def last_id(self) -> int:
        return self._last_id

    @property
    def dropped(self) -> int:
        return self._finished - len(self._done)

    def begin(self, driver: str, method: str, started: datetime, began: float) -> TracedCall:
        self._last_id += 1
        call = TracedCall(self._last_id, driver[:LONGEST_FIELD], method, started, began)
        if len(self._in_flight) < MOST_IN_FLIGHT:
            self._in_flight[call.id] = call
        return call

    def named(self, call: TracedCall, volume: str) -> None:
        """It is known by now what the call is about."""
        call.volume = volume[:LONGEST_FIELD]
        if self._listeners:
            self._tell()

    def end(self, call: TracedCall, code: str, seconds: float) -> None:
        self._in_flight.pop(call.id, None)
        self._finished += 1
        call.code, call.seconds, call.number = code, seconds, self._finished
        self._done.append(call)
        self._bytes += call.size
        while len(self._done) > self._most_calls or self._bytes > self._most_bytes:
            self._bytes -= self._done.popleft().size
        if self._listeners:
            self._tell()

    def done(self, after: int = 0) -> list[TracedCall]:
        """The finished calls that are kept, oldest first; only those with a higher number."""
        skipped = max(0, after - self.dropped)
        return list(self._done)[skipped:]

    def in_flight(self) -> list[TracedCall]:
        return list(self._in_flight.values())

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """`listener` is called when there is news; call what is returned to end that."""
        token = object()
        self._listeners[token] = listener

        def forget() -> None:
            self._listeners.pop(token, None)

        return forget

    def _tell(self) -> None:
        for listener in list(self._listeners.values()):
            listener()


CALLS: Final = CallLog()
"""Of this process."""
