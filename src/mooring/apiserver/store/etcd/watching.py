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
from mooring.apiserver.store.etcd.member import WatchStream
from mooring.apiserver.store.etcd.proto.etcd_pb2 import Event as WireEvent
from mooring.apiserver.store.etcd.proto.etcd_pb2 import ResponseHeader, WatchResponse
from mooring.apiserver.store.etcd.wire import NEWEST, PROGRESS, RANGE, follow
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
        newest = await self._cluster.read(RANGE, NEWEST)
        if not self._following.check_header(newest.header, known):
            await self._following.reload()
        stream = self._stream = self._cluster.watch()
        self._held.clear()
        asking: asyncio.Task[None] | None = None
        try:
            await stream.send(follow(self._prefix, self._following.revision + 1))
            while True:
                response = await stream.receive()
                if not response.created or response.canceled:
                    await self._take(response)
                elif asking is None:  # before, there is nothing whose progress could be told
                    asking = asyncio.create_task(self._ask(stream))
        finally:
            self._stream = None
            if asking is not None:
                asking.cancel()
            stream.close()

    async def _take(self, response: WatchResponse) -> None:
        if response.canceled or response.compact_revision:
            if response.compact_revision:
                _log.warning("changes were compacted before they came: everything is read anew")
                await self._following.reload()
            raise EtcdError(response.cancel_reason or "etcd has cancelled the watch")
        if response.events:
            self._take_whole(response)
        else:
            self._following.advance(response.header.revision)

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
