"""One process with all sidecars of twenty drivers, 5,000 volumes and 5,000 snapshots: memory, rest.

The drivers answer at once, over real sockets. Volumes and snapshots are made through the API, as
people make them: claims that are provisioned, and snapshots of them until all are ready. Then the
process is left alone, and what it still uses is its idle load.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import uvloop

from bench import snapshots
from bench.attachment import following
from bench.client import request, send_all
from bench.csi import CLAIMS, CLASSES, Bound, process
from bench.process import Process
from bench.server import Server, served
from mooring.csi.capability import PluginService
from tests.fakes.csi_driver import FakeCsiDriver

Row = tuple[str, str, str]

DRIVERS, COUNT = 20, 5000
CONNECTIONS = 16
PATIENCE = 900.0  # seconds
SETTLE_SECONDS, IDLE_SECONDS = 20.0, 60.0
MEMORY_TARGET, IDLE_TARGET = "target 250 MB", "target 1 % of a core"


def _name(driver: int) -> str:
    return f"d{driver}.csi.example.com"


@asynccontextmanager
async def _drivers(folder: Path) -> AsyncIterator[list[Path]]:
    """Their sockets."""
    sockets = [folder / f"{driver}.sock" for driver in range(DRIVERS)]
    async with AsyncExitStack() as stack:
        for driver, socket in enumerate(sockets):
            fake = FakeCsiDriver(socket)
            fake.state.name = _name(driver)
            fake.state.plugin -= {PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS}
            await stack.enter_async_context(fake)
        yield sockets


def _classes(target: Server) -> list[bytes]:
    asked = []
    for driver in range(DRIVERS):
        named = {"metadata": {"name": f"c{driver}"}}
        made = json.dumps({**named, "provisioner": _name(driver)}).encode()
        asked.append(request(target, "POST", CLASSES, made))
        kind = {"apiVersion": snapshots.VERSION, "kind": "VolumeSnapshotClass"}
        body = {"driver": _name(driver), "deletionPolicy": "Delete"}
        made = json.dumps({**kind, **named, **body}).encode()
        asked.append(request(target, "POST", snapshots.CLASSES, made))
    return asked


def _claim(number: int) -> bytes:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": f"c{number % DRIVERS}",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return json.dumps({"metadata": {"name": f"claim-{number}"}, "spec": spec}).encode()


def _snapshot(number: int) -> bytes:
    source = {"persistentVolumeClaimName": f"claim-{number}"}
    spec = {"source": source, "volumeSnapshotClassName": f"c{number % DRIVERS}"}
    kind = {"apiVersion": snapshots.VERSION, "kind": "VolumeSnapshot"}
    return json.dumps({**kind, "metadata": {"name": f"snap-{number}"}, "spec": spec}).encode()


async def _fill(target: Server) -> tuple[float, float]:
    """Seconds until all claims are bound, and until all snapshots are ready."""
    loop = asyncio.get_running_loop()
    await send_all(target, iter(_classes(target)), 1)
    bound, ready, began = Bound(), snapshots.Ready(), loop.time()
    async with following(target, CLAIMS, bound.told):
        claims = (request(target, "POST", CLAIMS, _claim(number)) for number in range(COUNT))
        await send_all(target, claims, CONNECTIONS)
        await bound.wait(lambda: len(bound.names) == COUNT, PATIENCE)
    all_bound = loop.time() - began
    began = loop.time()
    async with following(target, snapshots.SNAPSHOTS, ready.told), asyncio.timeout(PATIENCE):
        taken = (
            request(target, "POST", snapshots.SNAPSHOTS, _snapshot(number))
            for number in range(COUNT)
        )
        await send_all(target, taken, CONNECTIONS)
        reached = asyncio.Event()
        ready.changed = lambda: reached.set() if len(ready.names) == COUNT else None
        ready.changed()
        await reached.wait()
    return all_bound, loop.time() - began


async def _idle(sidecars: Process) -> float:
    """Which part of a core it uses while nothing happens."""
    await asyncio.sleep(SETTLE_SECONDS)
    before = sidecars.cpu_seconds()
    await asyncio.sleep(IDLE_SECONDS)
    return (sidecars.cpu_seconds() - before) / IDLE_SECONDS


async def _measure() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="one-process-") as name:
        folder = Path(name)
        async with (
            served(folder / "data", "up", "--no-node", "--log-level", "error") as target,
            _drivers(folder) as sockets,
        ):
            addresses = [word for socket in sockets for word in ("--csi-address", str(socket))]
            command = ("-m", "mooring", "sidecar", "all", *addresses, "--log-level", "error")
            flags = ("--kubeconfig", str(folder / "data" / "kubeconfig"), "--no-leader-elect")
            async with process(*command, *flags, until="is running") as sidecars:
                empty = sidecars.resident_bytes()
                bound, ready = await _fill(target)
                busy = sidecars.resident_bytes()
                idle = await _idle(sidecars)
                memory = sidecars.resident_bytes()
    what = f"all sidecars, {DRIVERS} drivers"
    return [
        (f"{what}: memory when they start", f"{empty / 1e6:.0f} MB", ""),
        (f"  with {COUNT} volumes and {COUNT} snapshots", f"{memory / 1e6:.0f} MB", MEMORY_TARGET),
        ("  right after they were made", f"{busy / 1e6:.0f} MB", MEMORY_TARGET),
        ("  idle", f"{idle * 100:.2f} %", IDLE_TARGET),
        (f"  {COUNT} claims at once: all Bound", f"{bound:.1f} s", f"{COUNT / bound:.0f} a second"),
        (f"  {COUNT} snapshots: all ready", f"{ready:.1f} s", f"{COUNT / ready:.0f} a second"),
    ]


def run() -> list[Row]:
    return uvloop.run(_measure())
