"""Binding among many volumes: what a bind costs, what memory it takes, and what it does at rest.

The controllers run in a process of their own, so that their memory is theirs alone. Half of the
volumes are Released: nobody may have them, and nobody should have to look at them.
"""

import asyncio
import statistics
import tempfile
from pathlib import Path

import uvloop

from bench.binding import (
    CLAIMS,
    VOLUMES,
    claim_document,
    controllers,
    volume_document,
    watching,
)
from bench.client import Pool, open_pool, request, send_all
from bench.process import Process
from bench.server import Server, served

Row = tuple[str, str, str]

FEW, MANY = 1_000, 100_000
PAIRS = 20_000
SAMPLES = 200
REST_SECONDS = 20.0
CONNECTIONS = 32
PATIENCE = 300.0


async def _add_volumes(target: Server, first: int, last: int) -> None:
    bodies = (
        volume_document(f"pv-{n:06}", f"gone-{n}" if n % 2 else None, "gone" if n % 2 else "")
        for n in range(first, last)
    )
    requests = (request(target, "POST", VOLUMES, body) for body in bodies)
    await send_all(target, requests, CONNECTIONS)


async def _bind_one_by_one(target: Server, pool: Pool, prefix: str) -> float:
    """The median of the seconds from a claim's create to Bound."""
    loop = asyncio.get_running_loop()
    seconds = []
    for number in range(SAMPLES):
        name = f"{prefix}-{number:03}"
        async with watching(target, 1, name) as watch:
            began = loop.time()
            await pool.send(request(target, "POST", CLAIMS, claim_document(name)))
            await asyncio.wait([watch.all_bound], timeout=PATIENCE)
            seconds.append(watch.bound[name] - began)
    return statistics.median(seconds)


async def _bind_many(target: Server) -> None:
    async with watching(target, PAIRS, "crowd") as watch:
        bodies = (claim_document(f"crowd-{number:05}") for number in range(PAIRS))
        requests = (request(target, "POST", CLAIMS, body) for body in bodies)
        await send_all(target, requests, CONNECTIONS)
        await asyncio.wait([watch.all_bound], timeout=PATIENCE)
        assert len(watch.bound) >= PAIRS, f"{len(watch.bound)} of {PAIRS} bound"


async def _at_rest(*processes: Process) -> float:
    """The share of a core that they use while nothing happens."""
    await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=5.0)
    before = sum(process.cpu_seconds() for process in processes)
    await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=REST_SECONDS)
    return (sum(process.cpu_seconds() for process in processes) - before) / REST_SECONDS


async def _measure() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as directory:
        async with (
            served(Path(directory), "apiserver") as target,
            controllers(Path(directory) / "kubeconfig") as working,
            open_pool(target, 1) as pool,
        ):
            await _add_volumes(target, 0, FEW)
            few = await _bind_one_by_one(target, pool, "few")
            await _add_volumes(target, FEW, MANY)
            await _at_rest(target, working)  # until the last is Available or Released
            many = await _bind_one_by_one(target, pool, "many")
            memory = working.resident_bytes()
            await _bind_many(target)
            idle = await _at_rest(target, working)
    return [
        (
            f"one bind, {MANY:,} volumes beside {FEW:,}",
            f"{many / few:.2f}x",
            f"target 1.5x; medians {many * 1000:.1f} and {few * 1000:.1f} ms, over HTTP",
        ),
        (f"controllers' memory, {MANY:,} volumes", f"{memory / 1e6:.0f} MB", "target 500 MB"),
        (
            f"at rest, {PAIRS:,} bound pairs among them",
            f"{idle * 100:.1f}% of a core",
            "target 1%; API server included",
        ),
    ]


def run() -> list[Row]:
    return uvloop.run(_measure())
