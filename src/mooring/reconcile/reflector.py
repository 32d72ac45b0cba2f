"""A cache that keeps itself current: one list, then a watch, resumed for as long as it lasts.

A broken stream is resumed behind the last change that arrived; only when the server no longer has
that history is everything listed again, and handlers get what the list reveals as any other change.
A slow resync may be switched on as a net under the watch; what it catches is counted. An object
that cannot be read is set aside (`cache.py`); after any other trouble everything is listed again.
"""

import asyncio
from functools import partial
from random import Random

from mooring import log
from mooring.client.contract import Client, Scope, T
from mooring.clock import Clock
from mooring.errors import (
    ApiError,
    ConnectionLost,
    Expired,
    MooringError,
    ServerError,
    ServerTimeout,
    TooManyRequests,
)
from mooring.model.backoff import Backoff
from mooring.model.keys import Key
from mooring.reconcile.cache import Cache, Listener, version_of
from mooring.reconcile.metrics import InformerCounts
from mooring.reconcile.turn import Turn
from mooring.reconcile.worker import lasting

_log = log.get("mooring.informer")

PAUSES = Backoff(first=0.2, cap=10.0, jitter=0.5)
AT_ONCE = 200  # objects of a first list that are taken in, or told, before other tasks run
STEADY_SECONDS = 5.0  # a stream that lasted so long may be resumed at once
GRACE_SECONDS = 5.0  # how far a watch may be behind a list without having missed anything

_TEMPORARY = (ConnectionLost, TooManyRequests, ServerError, ServerTimeout)


class Reflector(Cache[T]):
    """`Informer` of one role; `synced` is set when handlers were called with the first list."""

    def __init__(
        self,
        client: Client,
        kind: type[T],
        scope: Scope,
        clock: Clock,
        rng: Random,
        resync_seconds: float | None = None,
    ) -> None:
        super().__init__()
        self.kind = kind
        self.synced = asyncio.Event()
        self.counts = InformerCounts()
        self._client = client
        self._scope = scope
        self._clock = clock
        self._rng = rng
        self._resync_seconds = resync_seconds
        self._is_listed = False  # False: the next thing to do is a list
        self._begun = 0  # lists, by number
        self._told = 0  # the newest of them that handlers were told of
        self._wanted = 0  # lists before this one are not enough
        self._list_told = asyncio.Event()
        self._stream: asyncio.Timeout | None = None  # the open watch, and the means to cut it

    async def run(self) -> None:
        """Keep the cache current until cancelled; trouble with the server is waited out."""
        name = f"reflector of {self.kind.resource.plural}"
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(lasting(name, self._clock, self._follow))
            if self._resync_seconds is not None:
                resync = partial(self._resync, self._resync_seconds)
                tasks.create_task(lasting(f"resync of {name}", self._clock, resync))

    async def relist(self) -> None:
        """List everything anew; returns when handlers know what was there when this was called."""
        self._wanted = wanted = self._begun + 1
        self._distrust()
        while self._told < wanted:
            self._list_told.clear()
            await self._list_told.wait()

    async def _follow(self) -> None:
        failures = 0
        self._is_listed = False
        while True:
            began, start, resumed = self._clock.monotonic(), self._seen, self._is_listed
            trouble: MooringError | None = None
            try:
                while not self._is_listed:
                    await self._list()
                    start = self._seen
                await self._watch()
                if not self._is_listed:
                    continue  # cut on purpose, to list again
            except Expired as error:
                self._is_listed = False
                if resumed:
                    continue  # we were away for too long; the list is the cure
                trouble = error
            except _TEMPORARY as error:
                trouble = error
            except MooringError as error:
                self._is_listed = False
                trouble = error
            if self._clock.monotonic() - began >= STEADY_SECONDS:
                failures = 0
            else:
                failures = 1 if self._seen > start else failures + 1
            await self._pause(failures, trouble)

    async def _pause(self, failures: int, trouble: MooringError | None) -> None:
        """Between two streams; the server may ask for more time than we would take."""
        seconds = PAUSES.delay(failures, self._rng.random()) if failures else 0.0
        if trouble is not None:
            asked = trouble.retry_after if isinstance(trouble, ApiError) else 0
            seconds = max(seconds, asked)
            _log.warning(
                "watch interrupted",
                resource=self.kind.resource.plural,
                because=trouble,
                again_in=round(seconds, 1),
            )
        if seconds:
            await self._clock.sleep(seconds)

    async def _list(self) -> None:
        self._begun = number = self._begun + 1
        listing = await self._client.list(self.kind, self._scope)
        self.counts.lists += 1
        self._is_listed = number >= self._wanted
        if self.seen or len(self) or len(listing.readable) <= AT_ONCE:
            self.replace(listing)
        else:
            for _ in self.fill(listing, AT_ONCE):
                await Turn()
        while self.tell_fresh(AT_ONCE):
            await Turn()
        self._told = number
        self._list_told.set()
        self.synced.set()

    async def seed(self, listener: Listener[T]) -> None:
        """Tell it of everything that it does not know yet, while others work."""
        while self.tell_some(listener, AT_ONCE):
            await Turn()

    async def _watch(self) -> None:
        """Follow one stream to its end."""
        self.counts.watches += 1
        limit = self._stream = asyncio.timeout(None)
        try:
            async with (
                limit,
                self._client.watch(self.kind, str(self._seen), self._scope) as changes,
            ):
                async for change in changes:
                    self.absorb(change)
        except TimeoutError:
            if not limit.expired():
                raise  # not ours
        finally:
            self._stream = None

    async def _resync(self, period: float) -> None:
        await self.synced.wait()
        while True:
            await self._clock.sleep(period * (1 + 0.1 * self._rng.random()))
            try:
                missing = await self._count_missed()
            except MooringError:
                continue  # the watch has the same trouble, and sees to it
            if missing:
                self.counts.caught += missing
                _log.warning(
                    "the watch missed changes",
                    resource=self.kind.resource.plural,
                    count=missing,
                )
                self._distrust()

    async def _count_missed(self) -> int:
        """Compare a list with what the watch has brought a while later."""
        deleted: set[Key] = set()

        def note(old: T | None, new: T | None) -> None:
            if old is not None and new is None:
                deleted.add(old.key)

        self._listeners = (*self._listeners, Listener(note))  # not of what is here already
        try:
            before = self._seen
            listing = await self._client.list(self.kind, self._scope)
            at = int(listing.version)
            versions = {listed.key: version_of(listed) for listed in listing.readable}
            del listing  # a second copy of everything: not for longer than needed
            await self._clock.sleep(GRACE_SECONDS)
        finally:
            self.remove_handler(note)
        return max(self.count_missing(versions, at, deleted), int(at < before))

    def _distrust(self) -> None:
        """List again, then open another stream."""
        self._is_listed = False
        if self._stream is not None:
            self._stream.reschedule(asyncio.get_running_loop().time())
