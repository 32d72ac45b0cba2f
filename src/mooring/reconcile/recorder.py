"""Tell people what happened to an object: core Events, written in the background.

`record` takes no time and never fails; one task writes, and while the API server is away a bounded
number of events waits for it. What becomes of repetitions is decided in `event_correlator.py`; the
count of an Event that is written already may wait for a second, and those that wait are written
together: however often something fails, it costs one write a second.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from uuid import UUID

import msgspec

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    ConnectionLost,
    MooringError,
    NotFound,
    ServerTimeout,
    TooManyRequests,
)
from mooring.model.document import Doc
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.names import dns_subdomain
from mooring.model.reference import ObjectReference
from mooring.model.timestamp import to_seconds
from mooring.reconcile.event_correlator import CorrelatedEvent, EventCorrelator, Occurrence
from mooring.reconcile.metrics import RecorderCounts
from mooring.reconcile.turn import Turn
from mooring.reconcile.worker import lasting

_log = log.get("mooring.recorder")

MOST_WAITING = 1000
TRIES = 12
PAUSE_SECONDS = 10.0
REPEAT_SECONDS = 1.0  # so long a new count waits for others
REPEATS_AT_ONCE = 64
JUDGED_AT_ONCE = 50  # of a full queue, before other tasks run

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def reference_to(regarding: ApiObject) -> ObjectReference:
    """How an event points at an object."""
    return ObjectReference.to(regarding)


class Recorder:
    """The events of one component."""

    def __init__(
        self, client: Client, clock: Clock, rng: Random, component: str, host: str = ""
    ) -> None:
        self.counts = RecorderCounts()
        self._client = client
        self._clock = clock
        self._rng = rng
        self._component = component
        self._host = host
        self._correlator = EventCorrelator()
        self._waiting: asyncio.Queue[Occurrence] = asyncio.Queue(MOST_WAITING)
        self._repeats: dict[int, CorrelatedEvent] = {}  # to be written, by identity
        self._has_repeats = asyncio.Event()
        self._last_stamp = 0

    def record(self, reference: ObjectReference, type: str, reason: str, message: str) -> None:
        """Record an event, with the present time; `type` is Normal or Warning."""
        try:
            self._waiting.put_nowait(
                Occurrence(reference, type, reason, message, self._clock.now())
            )
        except asyncio.QueueFull:
            self.counts.crowded_out += 1

    async def run(self) -> None:
        """Write events until cancelled; one that meets a bug is lost."""
        loops = {"recorder": self._write_new, "recorder of repeats": self._write_repeats}
        async with asyncio.TaskGroup() as tasks:
            for name, run in loops.items():
                tasks.create_task(lasting(name, self._clock, run, self._component))

    async def _write_new(self) -> None:
        for number in count(1):
            occurrence = await self._waiting.get()  # without a pause while there are any
            event = self._correlator.judge(occurrence, self._clock.monotonic())
            if event is None:
                self.counts.over_budget += 1
            elif event.written is None:
                await self._write(event)
            else:
                self._repeats[id(event)] = event
                self._has_repeats.set()
            if number % JUDGED_AT_ONCE == 0:
                await Turn()

    async def _write_repeats(self) -> None:
        while True:
            await self._has_repeats.wait()
            await self._clock.sleep(REPEAT_SECONDS)
            self._has_repeats.clear()
            repeats, self._repeats = list(self._repeats.values()), {}
            for start in range(0, len(repeats), REPEATS_AT_ONCE):
                several = repeats[start : start + REPEATS_AT_ONCE]
                for ended in await asyncio.gather(
                    *map(self._write, several), return_exceptions=True
                ):
                    if ended is not None:
                        raise ended  # a bug: the others are written

    async def _write(self, event: CorrelatedEvent) -> None:
        trouble: MooringError | None = None
        for attempt in range(TRIES):
            if attempt:  # the first pause varies: others lost the API server at the same moment
                luck = self._rng.random() if attempt == 1 else 1.0
                await self._clock.sleep(PAUSE_SECONDS * luck)
            try:
                written = await self._tell(event)
            except (ConnectionLost, TooManyRequests, ServerTimeout) as error:
                trouble = error
            except ApiError as error:  # it would be refused again
                trouble = error
                break
            else:
                self.counts.written += 1
                event.written = Event(metadata=written.metadata)  # all that a patch looks at
                return
        self.counts.refused += 1
        _log.warning("event not written", about=event.latest.about.key, because=trouble)

    async def _tell(self, event: CorrelatedEvent) -> Event:
        if event.written is not None:
            try:
                return await self._patch(event.written, event)
            except NotFound:
                pass  # events do not live for long: write it anew
        if not event.name:
            event.name = self._new_name(event)
        try:
            return await self._client.create(Event, self._document(event))
        except AlreadyExists:
            return await self._tell_beside(event)

    async def _tell_beside(self, event: CorrelatedEvent) -> Event:
        """The name is taken: by this very event when an answer got lost, else by another's."""
        found = await self._client.get(Event, self._key(event))
        latest = event.latest
        if (
            (found.source.component, found.message) == (self._component, event.message)
            and (found.type, found.reason) == (latest.type, latest.reason)
            and found.involved_object.uid == latest.about.uid
        ):
            return await self._patch(found, event)
        event.name = self._new_name(event)
        return await self._client.create(Event, self._document(event))

    async def _patch(self, seen: Event, event: CorrelatedEvent) -> Event:
        change = {
            "count": event.count,
            "lastTimestamp": to_seconds(event.latest.at),
            "message": event.message,
        }
        try:
            return await self._client.patch(seen, change)
        except Conflict:  # an earlier patch, the answer to which got lost
            newest = await self._client.get(Event, seen.key)
            return await self._client.patch(newest, change)

    def _document(self, event: CorrelatedEvent) -> Doc:
        latest, key = event.latest, self._key(event)
        source = {"component": self._component}
        if self._host:
            source["host"] = self._host
        return {
            "apiVersion": Event.resource.api_version,
            "kind": Event.resource.kind,
            "metadata": {"name": key.name, "namespace": key.namespace},
            "involvedObject": msgspec.to_builtins(latest.about),
            "type": latest.type,
            "reason": latest.reason,
            "message": event.message,
            "source": source,
            "firstTimestamp": to_seconds(event.first),
            "lastTimestamp": to_seconds(latest.at),
            "count": event.count,
            "reportingComponent": self._component,
            "reportingInstance": self._host,
        }

    def _key(self, event: CorrelatedEvent) -> Key:
        """Events about objects of the whole cluster live in the namespace `default`."""
        return Key(event.latest.about.namespace or "default", event.name)

    def _new_name(self, event: CorrelatedEvent) -> str:
        """The object's name and the time in nanoseconds, of which no two are the same."""
        stamp = (event.latest.at - _EPOCH) // _MICROSECOND * 1000
        self._last_stamp = max(stamp, self._last_stamp + 1)
        name = f"{event.latest.about.name}.{self._last_stamp:x}"
        if list(dns_subdomain(name)):
            return str(UUID(int=self._rng.getrandbits(128), version=4))
        return name
