"""Claims that become Bound: the workload of kubernetes/kubernetes#133352, and a burst.

Paced: pairs of a volume that names its claim, then the claim, at 100 pairs a second; the latency is
from the claim's create to Bound on a watch. Burst: volumes and claims as fast as they are taken,
so that the controller has to match them.
"""

import asyncio
import json
import statistics
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import cast

import httptools
import msgspec
import uvloop

from bench.client import open_pool, request, send_all
from bench.peers import as_server, kubernetes
from bench.process import Process
from bench.server import Server, server

Row = tuple[str, str, str]

PAIRS = 1_000
PACE = 100.0  # pairs a second
CONNECTIONS = 32
PATIENCE = 60.0  # seconds for a burst or a paced run to end after its last create
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"


def volume_document(name: str, claim: str | None, claim_uid: str = "") -> bytes:
    spec: dict[str, object] = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "bench",
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": f"/tmp/{name}"},  # noqa: S108  never looked at
    }
    if claim is not None:
        spec["claimRef"] = {"namespace": "default", "name": claim, "uid": claim_uid}
    document = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}}
    return json.dumps({**document, "spec": spec}).encode()


def claim_document(name: str) -> bytes:
    spec: dict[str, object] = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "bench",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    document = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}}
    return json.dumps({**document, "spec": spec}).encode()


class _Seen(msgspec.Struct):
    type: str
    object: "_SeenClaim"


class _SeenClaim(msgspec.Struct):
    metadata: "_SeenName"
    status: "_SeenPhase"


class _SeenName(msgspec.Struct):
    name: str = ""


class _SeenPhase(msgspec.Struct):
    phase: str = ""


class Bindings:
    """When each claim was first seen Bound."""

    def __init__(self, wanted: int, prefix: str) -> None:
        loop = asyncio.get_running_loop()
        self._now = loop.time
        self._wanted = wanted
        self._prefix = prefix
        self._decode = msgspec.json.Decoder(_Seen).decode
        self.all_bound: asyncio.Future[None] = loop.create_future()
        self.bound: dict[str, float] = {}

    def told(self, lines: Iterable[bytes]) -> None:
        now = self._now()
        for line in lines:
            if b'"phase":"Bound"' in line:
                claim = self._decode(line).object
                if claim.status.phase == "Bound" and claim.metadata.name.startswith(self._prefix):
                    self.bound.setdefault(claim.metadata.name, now)
        if len(self.bound) >= self._wanted and not self.all_bound.done():
            self.all_bound.set_result(None)


class BoundWatch(asyncio.Protocol):
    """One watch of all claims, which begins with those that there are."""

    def __init__(self, opening: bytes, seen: Bindings) -> None:
        self._opening = opening
        self._seen = seen
        self._parser = httptools.HttpResponseParser(self)
        self._rest = b""
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._opening)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, _: Exception | None) -> None:
        self.ended.set()
        if not self.started.done():
            self.started.set_result(None)

    def on_headers_complete(self) -> None:
        self.started.set_result(None)

    def on_message_complete(self) -> None:
        self.ended.set()

    def on_body(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._seen.told(lines)


@asynccontextmanager
async def watching(target: Server, wanted: int, prefix: str) -> AsyncIterator[Bindings]:
    """Until so many claims whose names begin so are Bound.

    kube-apiserver ends the watch of who falls behind: then another one begins.
    """
    loop = asyncio.get_running_loop()
    seen = Bindings(wanted, prefix)
    opening = request(target, "GET", f"{CLAIMS}?watch=1")

    async def open_watch() -> BoundWatch:
        _, watch = await loop.create_connection(
            partial(BoundWatch, opening, seen), target.host, target.port, ssl=target.tls
        )
        await watch.started
        return watch

    watch = await open_watch()

    async def keep() -> None:
        nonlocal watch
        while True:
            await watch.ended.wait()
            watch.transport.close()
            watch = await open_watch()

    keeping = asyncio.create_task(keep())
    try:
        yield seen
    finally:
        keeping.cancel()
        watch.transport.close()


class Paced(msgspec.Struct, frozen=True):
    bound: int
    median: float
    p99: float


class Burst(msgspec.Struct, frozen=True):
    bound: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.bound / self.seconds


async def awake(target: Server) -> None:
    """Returns once somebody binds: what a program does while it starts is not measured here."""
    async with watching(target, 1, "awake") as watch, open_pool(target, 1) as pool:
        await pool.send(request(target, "POST", VOLUMES, volume_document("awake", "awake")))
        await pool.send(request(target, "POST", CLAIMS, claim_document("awake")))
        await asyncio.wait([watch.all_bound], timeout=PATIENCE)


async def paced(target: Server, patience: float = PATIENCE) -> Paced:
    """Pairs at a steady pace, each volume naming its claim."""
    loop = asyncio.get_running_loop()
    created: dict[str, float] = {}
    async with (
        watching(target, PAIRS, "paced") as watch,
        open_pool(target, CONNECTIONS) as pool,
    ):
        began = loop.time()

        async def pair(name: str) -> None:
            await pool.send(request(target, "POST", VOLUMES, volume_document(name, name)))
            created[name] = loop.time()
            await pool.send(request(target, "POST", CLAIMS, claim_document(name)))

        async with asyncio.TaskGroup() as tasks:
            for number in range(PAIRS):
                await _until(began + number / PACE)
                tasks.create_task(pair(f"paced-{number:04}"))
        await asyncio.wait([watch.all_bound], timeout=patience)
        latencies = sorted(watch.bound[name] - created[name] for name in watch.bound)
    if not latencies:
        return Paced(0, float("inf"), float("inf"))
    worst = latencies[max(0, int(len(latencies) * 0.99) - 1)]
    return Paced(len(latencies), statistics.median(latencies), worst)


async def _until(moment: float) -> None:
    loop = asyncio.get_running_loop()
    if (left := moment - loop.time()) > 0:
        await asyncio.wait([loop.create_future()], timeout=left)


async def burst(target: Server, patience: float = PATIENCE) -> Burst:
    """Volumes and claims in turns, as fast as the server takes them; the controller matches."""
    loop = asyncio.get_running_loop()
    requests = []
    for number in range(PAIRS):
        requests.append(
            request(target, "POST", VOLUMES, volume_document(f"burst-{number:04}", None))
        )
        requests.append(request(target, "POST", CLAIMS, claim_document(f"burst-{number:04}")))
    async with watching(target, PAIRS, "burst") as watch:
        began = loop.time()
        await send_all(target, iter(requests), CONNECTIONS)
        await asyncio.wait([watch.all_bound], timeout=patience)
        last = max(watch.bound.values(), default=loop.time())
    return Burst(len(watch.bound), last - began)


@asynccontextmanager
async def controllers(kubeconfig: Path) -> AsyncIterator[Process]:
    """`mooring controllers` in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "mooring", "controllers", "--kubeconfig", str(kubeconfig)),
        *("--no-leader-elect", "--log-level", "warning"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    assert "running" in line, line
    try:
        yield Process(process.pid)
    finally:
        process.terminate()
        await process.wait()


def _told(run: Paced) -> str:
    return f"{run.p99 * 1000:,.0f} ms" if run.bound == PAIRS else f"{run.bound} of {PAIRS}"


async def _standalone() -> list[Row]:
    async with server("up", "--no-node") as target:
        await awake(target)
        steady = await paced(target)
    async with server("up", "--no-node") as target:
        await awake(target)
        quick = await burst(target)
    return [
        (
            f"standalone: p99 from claim to Bound, {PACE:.0f} pairs/s",
            _told(steady),
            f"target 50 ms; median {steady.median * 1000:,.1f} ms",
        ),
        (
            f"standalone: burst of {PAIRS:,} pairs",
            f"{quick.rate:,.0f} pairs/s",
            f"target 1,500 pairs/s; {quick.bound} bound after {quick.seconds:.2f} s",
        ),
    ]


async def _on_kubernetes() -> list[Row]:
    """Mooring's controllers and Kubernetes' own (limits lifted), each on an empty cluster."""
    async with kubernetes("none") as cluster:
        if cluster is None:
            return []
        async with controllers(cluster.kubeconfig):
            await awake(as_server(cluster))
            steady = await paced(as_server(cluster))
            quick = await burst(as_server(cluster))
    async with kubernetes("tuned") as cluster:
        if cluster is None:
            return []
        await awake(as_server(cluster))
        peer_steady = await paced(as_server(cluster))
        peer_quick = await burst(as_server(cluster))
    return [
        (
            f"on kube-apiserver: p99 from claim to Bound, {PACE:.0f} pairs/s",
            _told(steady),
            f"target 500 ms; kube-controller-manager, limits lifted: {_told(peer_steady)}",
        ),
        (
            f"on kube-apiserver: burst of {PAIRS:,} pairs",
            f"{quick.rate:,.0f} pairs/s",
            f"{quick.rate / peer_quick.rate:.1f}x of kube-controller-manager, limits lifted "
            f"({peer_quick.rate:,.0f} pairs/s); target 4x",
        ),
    ]


async def _measure() -> list[Row]:
    return [*await _standalone(), *await _on_kubernetes()]


def run() -> list[Row]:
    return uvloop.run(_measure())
