"""Claims of a CSI driver whose calls return at once: how long until they are bound, and deleted.

The driver (tests/fakes/csi_driver.py) and the sidecars are processes of their own, beside
`mooring up`; time is counted from the request that creates a claim to the event that says Bound.
"""

import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop

from bench.attachment import following
from bench.client import open_pool, request, send_all
from bench.process import Process
from bench.server import Server, served

Row = tuple[str, str, str]
Doc = dict[str, Any]

ONE_BY_ONE, AT_ONCE, DRIVERS = 100, 500, 20
CONNECTIONS = 32
PATIENCE = 60.0  # seconds
DRIVER = "fake.csi.mooring.dev"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


@asynccontextmanager
async def process(*command: str, until: str = "") -> AsyncIterator[Process]:
    """A Python process that is told from its first line to be ready."""
    started = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=asyncio.subprocess.PIPE
    )
    assert started.stdout is not None
    try:
        if until:
            line = (await started.stdout.readline()).decode()
            assert until in line, line
        yield Process(started.pid)
    finally:
        started.terminate()
        await started.wait()


@asynccontextmanager
async def sidecars(directory: Path, drivers: int) -> AsyncIterator[Process]:
    """So many drivers, and one process with the sidecars of all of them."""
    sockets = [directory / f"csi-{number}.sock" for number in range(drivers)]
    addresses = [word for socket in sockets for word in ("--csi-address", str(socket))]
    async with AsyncExitStack() as stack:
        for socket in sockets:
            fake = ("-m", "tests.fakes.csi_driver", str(socket))
            await stack.enter_async_context(process(*fake))
        served_by = ("-m", "mooring", "sidecar", "provisioner", "attacher", *addresses)
        flags = ("--kubeconfig", str(directory / "kubeconfig"), "--no-leader-elect")
        quiet = ("--no-immediate-topology", "--log-level", "error")
        yield await stack.enter_async_context(
            process(*served_by, *flags, *quiet, until="is running")
        )


def _claim(name: str) -> bytes:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "bench",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return json.dumps({"metadata": {"name": name}, "spec": spec}).encode()


class Bound:
    """Claims that are bound, as the server tells."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.changed: Callable[[], None] = lambda: None

    def told(self, kind: str, claim: Doc) -> None:
        name = claim["metadata"]["name"]
        if kind == "DELETED":
            self.names.discard(name)
        elif claim.get("status", {}).get("phase") == "Bound":
            self.names.add(name)
        self.changed()

    async def wait(self, condition: Callable[[], bool]) -> None:
        reached = asyncio.Event()
        self.changed = lambda: reached.set() if condition() else None
        self.changed()
        async with asyncio.timeout(PATIENCE):
            await reached.wait()


async def _one_by_one(target: Server, bound: Bound) -> list[float]:
    """Seconds from create to Bound, of claims that come when the one before is bound."""
    loop = asyncio.get_running_loop()
    took = []
    async with open_pool(target, 1) as pool:
        for number in range(ONE_BY_ONE):
            name = f"single-{number}"
            began = loop.time()
            await pool.send(request(target, "POST", CLAIMS, _claim(name)))
            await bound.wait(lambda name=name: name in bound.names)  # type: ignore[misc]  # bound now
            took.append(loop.time() - began)
    return took


async def _at_once(target: Server, bound: Bound) -> float:
    loop = asyncio.get_running_loop()
    names = [f"crowd-{number:03}" for number in range(AT_ONCE)]
    began = loop.time()
    asked = (request(target, "POST", CLAIMS, _claim(name)) for name in names)
    await send_all(target, asked, CONNECTIONS)
    await bound.wait(lambda: bound.names.issuperset(names))
    return loop.time() - began


async def _deleted(target: Server, bound: Bound) -> float:
    """Until no volume is left."""
    loop = asyncio.get_running_loop()
    left: set[str] = set()
    gone = asyncio.Event()

    def told(kind: str, volume: Doc) -> None:
        name = volume["metadata"]["name"]
        (left.discard if kind == "DELETED" else left.add)(name)
        if not left and kind == "DELETED":
            gone.set()

    async with following(target, VOLUMES, told):
        began = loop.time()
        asked = (request(target, "DELETE", f"{CLAIMS}/{name}") for name in sorted(bound.names))
        await send_all(target, asked, CONNECTIONS)
        async with asyncio.timeout(PATIENCE):
            await gone.wait()
    return loop.time() - began


async def _measure() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as name:
        directory = Path(name)
        async with served(directory, "up", "--no-node") as target:
            parameters = {"metadata": {"name": "bench"}, "provisioner": DRIVER}
            body = json.dumps(parameters).encode()
            await send_all(target, iter([request(target, "POST", CLASSES, body)]), 1)
            bound = Bound()
            async with sidecars(directory, 1), following(target, CLAIMS, bound.told):
                took = sorted(await _one_by_one(target, bound))
                crowd = await _at_once(target, bound)
                deleted = await _deleted(target, bound)
            async with sidecars(directory, DRIVERS) as many:
                await asyncio.sleep(3)  # until it has met them all
                megabytes = many.resident_bytes() / 1e6
    median, worst = statistics.median(took) * 1000, took[int(len(took) * 0.99)] * 1000
    count = ONE_BY_ONE + AT_ONCE
    return [
        ("claim create -> Bound, p50", f"{median:.1f} ms", "target 30 ms"),
        ("claim create -> Bound, p99", f"{worst:.1f} ms", "target 30 ms"),
        (f"{AT_ONCE} claims at once, all Bound", f"{crowd:.2f} s", "target 20 s with pods"),
        (f"{count} claims deleted, all volumes gone", f"{deleted:.2f} s", ""),
        (f"one process, sidecars of {DRIVERS} drivers", f"{megabytes:.0f} MB", "target 200 MB"),
    ]


def run() -> list[Row]:
    return uvloop.run(_measure())
