"""Durable creates by one, two and four API server processes on one etcd, which syncs to the disk.

The same number of connections in all, each to one of the servers. On a machine with few cores the
processor time of a create says more than the rate.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import uvloop

from bench.client import request, send_all
from bench.process import Process
from bench.server import Server, served
from bench.volumes import volume
from mooring.apiserver.lifecycle.shared_keys import SHARED
from tests.conformance.obtain import ETCD, Missing, find
from tests.conformance.peers import LOOPBACK, free_port

Row = tuple[str, str, str]

SERVERS = (1, 2, 4)
CONNECTIONS = 64
WARMED_UP = 2_000  # creates
CREATES = 8_000
LIMIT = 240.0  # seconds for each number of servers


class Measured(msgspec.Struct, frozen=True):
    rate: float  # creates a second
    servers: float  # processor seconds of a create, in all servers
    etcd: float


@asynccontextmanager
async def etcd_alone(program: Path, directory: Path) -> AsyncIterator[tuple[str, Process]]:
    client, peer = (f"http://{LOOPBACK}:{free_port()}" for _ in range(2))
    process = await asyncio.create_subprocess_exec(
        program,
        *("--name=bench", f"--data-dir={directory}", "--log-level=fatal"),
        *(f"--listen-client-urls={client}", f"--advertise-client-urls={client}"),
        *(f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"),
        f"--initial-cluster=bench={peer}",
    )
    try:
        yield client, Process(process.pid)
    finally:
        process.terminate()
        await process.wait()


async def _creates(servers: list[Server], first: int, last: int) -> float:
    """Seconds until all are answered."""
    share = (last - first) // len(servers)

    async def one(number: int, server: Server) -> float:
        names = (f"pv-{first + number * share + each:06}" for each in range(share))
        posts = [request(server, "POST", "/api/v1/persistentvolumes", volume(n)) for n in names]
        return await send_all(server, iter(posts), CONNECTIONS // len(servers))

    return max(await asyncio.gather(*(one(*each) for each in enumerate(servers))))


def _share_keys(first: Path, other: Path) -> None:
    """Servers on one etcd take one another's tokens and certificates."""
    for name in SHARED:
        (other / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy2(first / name, other / name)


async def _measured(program: Path, count: int) -> Measured:
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mooring-bench-")))
        url, etcd = await stack.enter_async_context(etcd_alone(program, directory / "etcd"))
        servers: list[Server] = []
        for number in range(count):
            place = directory / f"server-{number}"
            if number:
                _share_keys(directory / "server-0", place)
            starting = served(place, "apiserver", "--etcd-servers", url)
            servers.append(await stack.enter_async_context(starting))
        await _creates(servers, 0, WARMED_UP)
        before = sum(server.cpu_seconds() for server in servers), etcd.cpu_seconds()
        seconds = await _creates(servers, WARMED_UP, WARMED_UP + CREATES)
        spent = sum(server.cpu_seconds() for server in servers) - before[0]
        return Measured(
            CREATES / seconds, spent / CREATES, (etcd.cpu_seconds() - before[1]) / CREATES
        )


async def _measure() -> list[Row]:
    try:
        program = await asyncio.to_thread(find, ETCD)
    except Missing as reason:
        print(f"  no etcd: {reason}")
        return []
    rows: list[Row] = []
    for count in SERVERS:
        async with asyncio.timeout(LIMIT):
            found = await _measured(program, count)
        cpu = f"{found.servers * 1e6:.0f} us of a create in the servers, {found.etcd * 1e6:.0f}"
        rows.append(
            (
                f"durable creates, {CONNECTIONS} connections, servers on one etcd: {count}",
                f"{found.rate:,.0f}/s",
                f"{cpu} in etcd; {os.cpu_count()} cores",
            )
        )
    return rows


def run() -> list[Row]:
    return uvloop.run(_measure())
