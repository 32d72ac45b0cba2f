"""The API server under load: durable creates, a big list, many watchers, memory, start."""

import asyncio
import statistics
from functools import partial

import uvloop

from bench.client import Watcher, request, send_all
from bench.peers import as_server, kubernetes
from bench.server import Server, server
from bench.volumes import volume

Row = tuple[str, str, str]

CONNECTIONS = 64
VOLUMES = 20_000
WATCHERS = 1_000
WRITES = 1_000
TURNS = 5
TURN_CREATES = 3_000
PEER = "kube-apiserver 1.35 + etcd"


async def _rate(target: Server, first: int, last: int) -> float:
    """Creates a second, durable, over many connections."""
    bodies = [volume(f"pv-{i:06}") for i in range(first, last)]
    requests = iter([request(target, "POST", "/api/v1/persistentvolumes", b) for b in bodies])
    return (last - first) / await send_all(target, requests, CONNECTIONS)


async def _creates(target: Server) -> Row:
    rate = await _rate(target, 0, VOLUMES)
    return (
        f"durable creates, {CONNECTIONS} connections, TLS",
        f"{rate:,.0f}/s",
        f"target 6,000/s; {PEER}: 1,940/s",
    )


async def _beside_kubernetes() -> list[Row]:
    """Creates here and there in turns, since the machine is not the same from minute to minute."""
    async with kubernetes("none") as cluster, server("apiserver") as ours:
        if cluster is None:
            return []
        theirs = as_server(cluster)
        ratios, rates = [], []
        for turn in range(TURNS):
            first = turn * TURN_CREATES
            here = await _rate(ours, first, first + TURN_CREATES)
            there = await _rate(theirs, first, first + TURN_CREATES)
            ratios.append(here / there)
            rates.append(f"{here:,.0f} and {there:,.0f}")
    return [
        (
            f"the same beside {PEER}, median of {TURNS} turns",
            f"{statistics.median(ratios):.1f}x",
            f"target 4x; {'; '.join(rates)} a second",
        )
    ]


async def _list(target: Server) -> Row:
    best = 60.0
    for _ in range(5):
        requests = iter([request(target, "GET", "/api/v1/persistentvolumes")])
        best = min(best, await send_all(target, requests, 1))
    return (
        f"LIST of {VOLUMES:,} volumes (best of 5)",
        f"{best:.3f} s",
        f"target 0.1 s; {PEER}: 0.21-0.6 s",
    )


async def _watch(target: Server) -> Row:
    loop = asyncio.get_running_loop()
    opening = request(target, "GET", "/api/v1/configmaps?watch=1&resourceVersion=0")
    opened: list[tuple[Watcher, asyncio.Future[float]]] = []
    existing = 4  # the root CA of each first namespace
    for _ in range(WATCHERS):
        done: asyncio.Future[float] = loop.create_future()
        _, watcher = await loop.create_connection(
            partial(Watcher, opening, WRITES + existing, done),
            target.host,
            target.port,
            ssl=target.tls,
        )
        opened.append((watcher, done))
    for watcher, _ in opened:
        await watcher.started
    path = "/api/v1/namespaces/default/configmaps"
    bodies = (b'{"metadata":{"name":"cm-%d"},"data":{"a":"b"}}' % i for i in range(WRITES))
    began = loop.time()
    await send_all(target, (request(target, "POST", path, b) for b in bodies), 16)
    wrote = loop.time()
    last = max([await done for _, done in opened])
    for watcher, _ in opened:
        watcher.transport.close()
    return (
        f"{WATCHERS:,} watchers x {WRITES:,} writes: last event after last write",
        f"{last - wrote:.2f} s",
        f"target 1 s; all writes took {wrote - began:.1f} s",
    )


async def _measure() -> list[Row]:
    rows: list[Row] = []
    async with server("apiserver") as target:
        rows.append(
            ("ready after start", f"{target.ready_seconds:.2f} s", f"target 1 s; {PEER}: 1-2 s")
        )
        empty = target.resident_bytes()
        rows.append(await _creates(target))
        full = target.resident_bytes()
        rows.append(
            (
                f"resident with {VOLUMES:,} volumes",
                f"{full / 1e6:.0f} MB",
                f"target 150 MB; {PEER}: 845 MB; empty {empty / 1e6:.0f} MB",
            )
        )
        rows.append(await _list(target))
        rows.append(await _watch(target))
        rows.append(("resident after all of it", f"{target.resident_bytes() / 1e6:.0f} MB", ""))
    return [*rows, *await _beside_kubernetes()]


def run() -> list[Row]:
    return uvloop.run(_measure())
