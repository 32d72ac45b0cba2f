"""etcd's newest revision, asked for by many at once: one read serves all who asked before it."""

import asyncio
from collections.abc import Awaitable, Callable

from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.kine import is_kine
from mooring.apiserver.store.etcd.proto.etcd_pb2 import ResponseHeader
from mooring.apiserver.store.etcd.wire import COMPACT_KEY, NEWEST, RANGE, put_if_version


async def read_newest(cluster: Cluster) -> ResponseHeader:
    """Whose revision is the newest. Raises: Failed, EtcdError."""
    answer = await cluster.read(RANGE, NEWEST)
    if answer.kvs or not is_kine(answer.header):
        return answer.header
    # Only beside a key that is there kine tells what the database holds.
    return (await cluster.transact(put_if_version(COMPACT_KEY, 0, b"0"))).header


class NewestRevision:
    """`read` asks etcd, which answers with what all members agree on."""

    def __init__(self, read: Callable[[], Awaitable[int]]) -> None:
        self._read = read
        self._running: asyncio.Task[int] | None = None
        self._next: asyncio.Task[int] | None = None

    async def ask(self) -> int:
        """A revision no older than the newest when this was called.

        A read that is under way may have been answered before, so it does not count; unless it
        fails: then so does this. Raises: what `read` raises.
        """
        if self._next is None:
            self._next = asyncio.create_task(self._after(self._running))
        return await asyncio.shield(self._next)

    def close(self) -> None:
        for task in (self._running, self._next):
            if task is not None:
                task.cancel()

    async def _after(self, running: "asyncio.Task[int] | None") -> int:
        failure: BaseException | None = None
        if running is not None and not running.done():
            await asyncio.wait((running,))
            failure = None if running.cancelled() else running.exception()
        self._running, self._next = self._next, None
        if failure is not None:
            raise failure
        return await self._read()
