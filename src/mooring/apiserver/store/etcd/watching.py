"""The one watch that feeds the state in memory, on whichever member answers.

It begins behind the newest revision that is known, so a stream that broke is gone on with and no
change is missed. Where etcd has forgotten the changes in between, everything is read anew.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from mooring import log as logs
from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.kine import Holes, is_kine
from mooring.apiserver.store.etcd.member import WatchStream
from mooring.apiserver.store.etcd.newest_revision import read_newest
from mooring.apiserver.store.etcd.proto.etcd_pb2 import Event as WireEvent
from mooring.apiserver.store.etcd.proto.etcd_pb2 import ResponseHeader, WatchResponse
from mooring.apiserver.store.etcd.wire import PROGRESS, follow, follow_all
from mooring.clock import Clock
from mooring.errors import EtcdError

_log = logs.get("mooring.etcd")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0  # seconds after a stream has ended


class Following(Protocol):
    """What the watch feeds."""

    @property
    def revision(self) -> int:
        """Everything up to it has been taken in."""
        ...

    def take_changes(self, events: Sequence[WireEvent]) -> None: ...

    def advance(self, revision: int) -> None: ...

    def check_header(self, header: ResponseHeader, known: int) -> bool:
        """Whether this is the etcd that was known when revision `known` was; False: reload.

        Raises: EtcdError when it has gone back.
        """
        ...

    async def check_past(self) -> None:
        """Raises: Failed; EtcdError when etcd holds other writes than those that were followed."""
        ...

    async def reload(self) -> None:
        """Read everything anew. Raises: EtcdError."""
        ...


class Watching:
    def __init__(self, cluster: Cluster, prefix: bytes, following: Following, clock: Clock) -> None:
        self._cluster = cluster
        self._prefix = prefix
        self._following = following
        self._clock = clock
        self._wanted = asyncio.Event()  # a note how far the stream has come
        self._stream: WatchStream | None = None
        self._held: list[WireEvent] = []  # of the last revision that came: more of it may follow
        self._holes = Holes(clock)

    async def run(self) -> None:
        """Follow until cancelled."""
        pause = _FIRST_PAUSE
        while True:
            before = self._following.revision
            try:
                await self._follow()
            except (Failed, EtcdError) as error:
                _log.info("watch interrupted", why=error)
                self._cluster.leave(str(error))
            if self._following.revision > before:
                pause = _FIRST_PAUSE
            await self._clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def ask_progress(self) -> None:
        """Have etcd say up to which revision all has been sent."""
        self._wanted.set()

    def begin_anew(self) -> None:
        """The stream is silent: use another member."""
        if self._stream is not None:
            self._stream.close()

    async def _follow(self) -> None:
        known = self._following.revision
        newest = await read_newest(self._cluster)
        if self._following.check_header(newest, known):
            await self._following.check_past()
        else:
            await self._following.reload()
        stream = self._stream = self._cluster.watch()
        self._held.clear()
        try:
            if is_kine(newest):
                await self._follow_kine(stream)
            else:
                await self._follow_etcd(stream)
        finally:
            self._stream = None
            stream.close()

    async def _follow_etcd(self, stream: WatchStream) -> None:
        await stream.send(follow(self._prefix, self._following.revision + 1))
        asking: asyncio.Task[None] | None = None
        try:
            while True:
                response = await self._receive(stream)
                if response.events:
                    self._take_whole(response)
                elif not response.created:
                    self._following.advance(response.header.revision)
                elif asking is None:  # before, there is nothing whose progress could be told
                    asking = asyncio.create_task(self._ask(stream))
        finally:
            if asking is not None:
                asking.cancel()

    async def _follow_kine(self, stream: WatchStream) -> None:
        start = self._following.revision + 1
        await stream.send(follow_all(start))
        while not (first := (await self._receive(stream)).events):
            pass
        whole = self._holes.before(first, start)
        if whole:
            self._following.take_changes(whole)
        if len(whole) < len(first):
            raise EtcdError(f"kine does not show revision {self._following.revision + 1} yet")
        while True:
            response = await self._receive(stream)
            if response.events:
                self._following.take_changes(response.events)

    async def _receive(self, stream: WatchStream) -> WatchResponse:
        """Raises: Failed; EtcdError when it was cancelled."""
        response = await stream.receive()
        if response.canceled or response.compact_revision:
            if response.compact_revision:
                _log.warning("changes were compacted before they came: everything is read anew")
                await self._following.reload()
            raise EtcdError(response.cancel_reason or "etcd has cancelled the watch")
        return response

    def _take_whole(self, response: WatchResponse) -> None:
        """A large answer comes in fragments; what one revision changed is taken in at once."""
        events = [*self._held, *response.events]
        last = events[-1].kv.mod_revision
        whole = len(events)
        while response.fragment and whole and events[whole - 1].kv.mod_revision == last:
            whole -= 1
        self._held = events[whole:]
        if whole:
            self._following.take_changes(events[:whole])

    async def _ask(self, stream: WatchStream) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await stream.send(PROGRESS)
            except Failed:
                return
