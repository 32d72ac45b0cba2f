"""How long one durable create takes, with few and many clients at once, on SQLite and on etcd.

Writes of many clients are committed together. Whoever writes alone must not wait for company.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import uvloop

from bench.client import Connection, request
from bench.server import Server, served
from bench.several_servers import etcd_alone
from bench.volumes import volume
from tests.conformance.obtain import ETCD, Missing, find

Row = tuple[str, str, str]

CREATES = {1: 600, 8: 2_400, 64: 9_600}
"""By the number of connections."""
WARMED_UP = 2_000
LIMIT = 240.0  # seconds for one engine


class _Timed:
    """Requests of one connection; notes how long each took."""

    def __init__(self, requests: list[bytes], seconds: list[float]) -> None:
        self._requests = iter(requests)
        self._seconds = seconds
        self._began = 0.0

    def __iter__(self) -> "_Timed":
        return self

    def __next__(self) -> bytes:
        now = time.perf_counter()
        if self._began:
            self._seconds.append(now - self._began)
        self._began = now
        return next(self._requests)


async def _times(server: Server, name: str, connections: int, creates: int) -> list[float]:
    """Seconds of each create, in order of length."""
    loop, seconds, share = asyncio.get_running_loop(), list[float](), creates // connections
    opened = []
    for number in range(connections):
        names = (f"{name}-{number}-{each}" for each in range(share))
        path = "/api/v1/persistentvolumes"
        posts = [request(server, "POST", path, volume(each)) for each in names]
        done: asyncio.Future[None] = loop.create_future()
        _, protocol = await loop.create_connection(
            partial(Connection, _Timed(posts, seconds), done),
            server.host,
            server.port,
            ssl=server.tls,
        )
        opened.append((protocol, done))
    for protocol, _ in opened:
        protocol.start()
    for protocol, done in opened:
        await done
        assert not protocol.refused, protocol.refused[0]
    return sorted(seconds)


async def _rows(engine: str, *flags: str) -> AsyncIterator[Row]:
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as directory:
        async with served(Path(directory), "apiserver", *flags) as server:
            await _times(server, "warm", 8, WARMED_UP)
            for connections, creates in CREATES.items():
                found = await _times(server, f"c{connections}", connections, creates)
                middle, late = (found[int(len(found) * part)] * 1000 for part in (0.5, 0.99))
                yield (
                    f"a durable create on {engine}, connections: {connections}",
                    f"{middle:.1f} ms",
                    f"half of them; 99 in 100 take {late:.1f} ms at most",
                )


async def _measure() -> list[Row]:
    rows: list[Row] = []
    async with asyncio.timeout(LIMIT):
        rows += [row async for row in _rows("SQLite")]
    try:
        program = await asyncio.to_thread(find, ETCD)
    except Missing as reason:
        print(f"  no etcd: {reason}", file=sys.stderr)
        return rows
    async with asyncio.timeout(LIMIT), AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mooring-bench-")))
        url, _ = await stack.enter_async_context(etcd_alone(program, directory / "etcd"))
        rows += [row async for row in _rows("etcd", "--etcd-servers", url)]
    return rows


def run() -> list[Row]:
    return uvloop.run(_measure())
