"""A cluster of k3s' kind, kine on SQLite below a kube-apiserver, beside Mooring: errors and lag.

Creates whose objects are deleted by somebody nobody waits for, lists meanwhile, then updates that
many watchers follow; each writer and each list has a connection of its own. Write errors and lost
events count, so whatever is refused is counted, not repeated.
"""

import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import uvloop

from bench.peers import as_server
from bench.server import Server, server
from mooring.apiserver.auth.pki import open_pki
from mooring.clock import RealClock
from tests.conformance.etcd.kines import kines, on_sqlite
from tests.conformance.obtain import KINE, KUBE_APISERVER, Missing, find
from tests.conformance.peers import LOOPBACK, kube_apiserver

Row = tuple[str, str, str]

MAPS = "/api/v1/namespaces/default/configmaps"
CREATES = 2_000
WORKERS = 50
LISTS = 100
WATCHERS = 20
CHURN_SECONDS = 10.0
REST_SECONDS = 20.0  # that events have to come after the last write
REQUEST_SECONDS = 30.0


class Load:
    """A client of one server, and what it saw."""

    def __init__(self, target: Server, session: aiohttp.ClientSession) -> None:
        self._url = f"https://{target.host}:{target.port}"
        self._tls = target.tls
        self._session = session
        self.took: list[float] = []
        self.errors = 0
        self.writes = 0
        self.lags: list[float] = []

    async def ask(self, method: str, path: str, doc: Any = None) -> bool:
        try:
            async with self._session.request(
                method, self._url + path, json=doc, ssl=self._tls
            ) as answer:
                await answer.read()
                return answer.status < 300
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def write(self, method: str, path: str, doc: Any) -> None:
        began = time.perf_counter()
        is_done = await self.ask(method, path, doc)
        self.writes += 1
        if is_done:
            self.took.append(time.perf_counter() - began)
        else:
            self.errors += 1

    async def follow(self, ready: asyncio.Event) -> None:
        path = f"{MAPS}?watch=true&labelSelector=churn"
        try:
            async with self._session.get(
                self._url + path, ssl=self._tls, timeout=aiohttp.ClientTimeout(total=None)
            ) as stream:
                ready.set()
                async for line in stream.content:
                    event = json.loads(line)
                    if event["type"] == "MODIFIED":
                        written = float(event["object"]["data"]["at"])
                        self.lags.append(time.perf_counter() - written)
        except (aiohttp.ClientError, TimeoutError, ValueError):
            ready.set()


def a_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"churn": "yes"}}, "data": data}


async def side_by_side(count: int, work: Callable[[int], Awaitable[None]]) -> float:
    """Seconds that it took WORKERS to do all of it."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await work(number)

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(WORKERS)))
    return time.perf_counter() - began


async def create_and_delete(load: Load) -> list[Row]:
    deleting: set[asyncio.Task[bool]] = set()

    async def create(number: int) -> None:
        name = f"load-{number:06d}"
        await load.write("POST", MAPS, {"metadata": {"name": name}, "data": {"i": str(number)}})
        deleting.add(asyncio.create_task(load.ask("DELETE", f"{MAPS}/{name}")))

    seconds = await side_by_side(CREATES, create)
    gone = await asyncio.gather(*deleting)
    failed = len(gone) - sum(gone)
    note = f"{load.errors} of {CREATES} creates failed, {failed} deletions; {spread(load.took)}"
    lists: list[float] = []

    async def list_all(_: int) -> None:
        began = time.perf_counter()
        if await load.ask("GET", MAPS):
            lists.append(time.perf_counter() - began)

    await side_by_side(LISTS, list_all)
    listed = f"{LISTS - len(lists)} of {LISTS} failed"
    return [
        ("creates", f"{len(load.took) / seconds:,.0f}/s", note),
        ("lists, median", f"{statistics.median(lists or [0]) * 1000:.0f} ms", listed),
    ]


async def churn(load: Load) -> Row:
    load.errors, load.writes = 0, 0
    load.took.clear()
    for number in range(WORKERS):
        await load.ask("POST", MAPS, a_map(f"churn-{number}", at="0"))
    ready = [asyncio.Event() for _ in range(WATCHERS)]
    watching = [asyncio.create_task(load.follow(event)) for event in ready]
    await asyncio.gather(*(event.wait() for event in ready))
    end = time.perf_counter() + CHURN_SECONDS

    async def writer(number: int) -> None:
        path = f"{MAPS}/churn-{number}"
        while time.perf_counter() < end:
            doc = a_map(f"churn-{number}", at=str(time.perf_counter()))
            await load.write("PUT", path, doc)

    await asyncio.gather(*(writer(number) for number in range(WORKERS)))
    expected = len(load.took) * WATCHERS
    give_up = time.perf_counter() + REST_SECONDS
    while len(load.lags) < expected and time.perf_counter() < give_up:
        await RealClock().sleep(0.2)
    for task in watching:
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)
    share = len(load.lags) / max(expected, 1)
    note = (
        f"{load.errors} of {load.writes} writes failed, {share:.1%} of {expected} events came, "
        f"{len(load.took) / CHURN_SECONDS:,.0f} writes/s"
    )
    lag = percentile(load.lags, 0.99)
    return (f"watch lag, p99, {WATCHERS} watchers", f"{lag:.2f} s", note)


def spread(took: list[float]) -> str:
    return f"p50 {percentile(took, 0.5) * 1000:.0f} ms, p99 {percentile(took, 0.99) * 1000:.0f} ms"


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))] if values else 0.0


async def measured(name: str, target: Server) -> list[Row]:
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Authorization": f"Bearer {target.token}"}
    patience = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, timeout=patience
    ) as session:
        load = Load(target, session)
        rows = [*await create_and_delete(load), await churn(load)]
    return [(f"{name}: {measure}", value, note) for measure, value, note in rows]


@asynccontextmanager
async def on_kine(directory: Path) -> AsyncIterator[str]:
    with ExitStack() as stack:
        started = kines(find(KINE), on_sqlite(directory), directory)
        (kine,) = await asyncio.to_thread(stack.enter_context, started)
        yield kine.client_url


async def _run() -> list[Row]:
    rows: list[Row] = []
    async with server("apiserver") as ours:
        rows += await measured("Mooring on SQLite", ours)
    with TemporaryDirectory(prefix="kine-bench-") as name:
        folder = Path(name)
        try:
            async with (
                on_kine(folder / "ours") as address,
                server("apiserver", "--etcd-servers", address) as ours,
            ):
                rows += await measured("Mooring on kine and SQLite", ours)
            async with on_kine(folder / "theirs") as address:
                pki = open_pki(folder / "pki", now=RealClock().now(), host_name=LOOPBACK)
                with ExitStack() as stack:
                    running = kube_apiserver(find(KUBE_APISERVER), pki, address, folder / "kube")
                    cluster = await asyncio.to_thread(stack.enter_context, running)
                    target = as_server(cluster)
                    rows += await measured("kube-apiserver on kine and SQLite", target)
        except Missing as reason:
            print(f"  no kine to compare with: {reason}")
    return rows


def run() -> list[Row]:
    return uvloop.run(_run())
