"""A CSI driver whose calls return at once: claims bound, pods' volumes published, all of it gone.

Needs root. `mooring up` does all but the driver (tests/fakes/csi_driver.py), which runs in the
bench. Time is counted from the request that creates a claim, or a pod that is bound to the node,
to the event that says Bound, or the call that publishes. Memory is that of `mooring sidecar` alone.
"""

import asyncio
import itertools
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop

from bench import snapshots
from bench.attachment import following
from bench.client import open_pool, request, send_all
from bench.process import Process
from bench.server import NODE, Server, node_root, served, up_with_node
from mooring.csi.capability import NodeCapability
from mooring.csi.plugin_info import CSI_PLUGIN, OFFERED_VERSIONS, Plugin
from mooring.csi.registration import offering, registration_socket
from tests.fakes.csi_driver import FakeCsiDriver

Row = tuple[str, str, str]
Doc = dict[str, Any]

ONE_BY_ONE, AT_ONCE, DRIVERS = 100, 500, 20
SOURCES = 10  # claims that snapshots are taken of
CONNECTIONS = 32
PATIENCE = 60.0  # seconds
IDLE_SECONDS = 10.0
DRIVER = "fake.csi.mooring.dev"
WITHOUT_ROOT = ("claims and pods of a CSI driver", "not run", "mounting needs root")
PODS = "/api/v1/namespaces/default/pods"
DRIVER_OBJECTS = "/apis/storage.k8s.io/v1/csidrivers"
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
        served_by = ("-m", "mooring", "sidecar", "provisioner", "attacher", "resizer", *addresses)
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

    async def wait(self, condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
        reached = asyncio.Event()
        self.changed = lambda: reached.set() if condition() else None
        self.changed()
        async with asyncio.timeout(seconds):
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


async def deleted_all(target: Server, bound: Bound) -> float:
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


class Published:
    """What the driver was asked to publish, and for which pods' directories."""

    def __init__(self, driver: FakeCsiDriver) -> None:
        self._driver = driver

    async def wait(self, count: int) -> None:
        """Until so many volumes are."""
        async with asyncio.timeout(PATIENCE):
            await self._driver.arrived("NodePublishVolume", count)


def _pod(name: str, claim: str) -> bytes:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    container = {
        "name": "c",
        "image": "none",
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    spec = {
        "nodeName": NODE,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "volumes": [volume],
    }
    return json.dumps({"metadata": {"name": name}, "spec": spec}).encode()


async def _pods_one_by_one(target: Server, published: Published) -> list[float]:
    """Seconds from the request that creates a pod on the node to the call that publishes."""
    loop = asyncio.get_running_loop()
    took = []
    async with open_pool(target, 1) as pool:
        for number in range(ONE_BY_ONE):
            began = loop.time()
            await pool.send(request(target, "POST", PODS, _pod(f"p{number}", f"single-{number}")))
            await published.wait(number + 1)
            took.append(loop.time() - began)
    return took


async def _crowd(target: Server, bound: Bound, published: Published) -> tuple[float, float]:
    """Claims and pods at once: until all are bound, until all are published."""
    loop = asyncio.get_running_loop()
    names = [f"crowd-{number:03}" for number in range(AT_ONCE)]
    began = loop.time()
    claims = (request(target, "POST", CLAIMS, _claim(name)) for name in names)
    pods = (request(target, "POST", PODS, _pod(name, name)) for name in names)
    await send_all(target, itertools.chain(claims, pods), CONNECTIONS)
    await bound.wait(lambda: bound.names.issuperset(names))
    all_bound = loop.time() - began
    await published.wait(ONE_BY_ONE + AT_ONCE)
    return all_bound, loop.time() - began


@asynccontextmanager
async def registered(target: Server, data: Path) -> AsyncIterator[FakeCsiDriver]:
    """The driver, known to the node and to the sidecars of `up`."""
    socket = node_root(data) / "plugins" / "fake" / "csi.sock"
    socket.parent.mkdir(parents=True)
    known = asyncio.Event()
    plugin = Plugin(CSI_PLUGIN, DRIVER, str(socket), OFFERED_VERSIONS)
    offered = registration_socket(node_root(data) / "plugins_registry", DRIVER)
    fake = FakeCsiDriver(socket)
    fake.state.topology = {f"topology.{DRIVER}/node": NODE}
    async with fake as driver, offering(offered, plugin, lambda _: known.set()):
        async with asyncio.timeout(PATIENCE):
            await known.wait()
        yield driver


async def _life(data: Path) -> list[Row]:
    async with served(data, *up_with_node(data), "--no-host-rootfs") as target:
        made = {"metadata": {"name": "bench"}, "provisioner": DRIVER}
        about = {"metadata": {"name": DRIVER}, "spec": {"attachRequired": True}}
        for path, doc in ((CLASSES, made), (DRIVER_OBJECTS, about)):
            await send_all(
                target, iter([request(target, "POST", path, json.dumps(doc).encode())]), 1
            )
        bound = Bound()
        async with registered(target, data) as driver, following(target, CLAIMS, bound.told):
            published = Published(driver)
            took = sorted(await _one_by_one(target, bound))
            mounted = sorted(await _pods_one_by_one(target, published))
            all_bound, all_published = await _crowd(target, bound, published)
            await send_all(target, iter([request(target, "DELETE", PODS)]), 1)
            deleted = await deleted_all(target, bound)
            assert not driver.state.volumes, "a volume was left"
    count = ONE_BY_ONE + AT_ONCE
    return [
        ("claim create -> Bound (median)", _ms(took, 0.5), f"target 30 ms; p99 {_ms(took, 0.99)}"),
        (
            "pod on the node -> attached, staged, published (median)",
            _ms(mounted, 0.5),
            f"target 60 ms; p99 {_ms(mounted, 0.99)}",
        ),
        (f"{AT_ONCE} claims and pods at once: all Bound", f"{all_bound:.2f} s", ""),
        ("  all published", f"{all_published:.2f} s", "target 20 s"),
        (f"{count} pods and claims deleted: no volume left", f"{deleted:.2f} s", ""),
    ]


async def _snapshots(data: Path) -> list[Row]:
    async with served(data, *up_with_node(data), "--no-host-rootfs") as target:
        made = {"metadata": {"name": "bench"}, "provisioner": DRIVER}
        await send_all(
            target, iter([request(target, "POST", CLASSES, json.dumps(made).encode())]), 1
        )
        bound, names = Bound(), [f"source-{number}" for number in range(SOURCES)]
        async with registered(target, data) as driver, following(target, CLAIMS, bound.told):
            claims = (request(target, "POST", CLAIMS, _claim(name)) for name in names)
            await send_all(target, claims, CONNECTIONS)
            await bound.wait(lambda: len(bound.names) == SOURCES)
            rows = await snapshots.measure(target, DRIVER, names)
            assert not driver.state.snapshots, "a snapshot was left"
    return rows


def growing(target: Server, name: str) -> bytes:
    wanted = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    asked = request(target, "PATCH", f"{CLAIMS}/{name}", json.dumps(wanted).encode())
    return asked.replace(b"application/json", b"application/merge-patch+json", 1)


class Grown:
    """Claims that have what they asked for."""

    def __init__(self, count: int) -> None:
        self.all = asyncio.Event()
        self._count = count
        self._names: set[str] = set()

    def told(self, _: str, claim: Doc) -> None:
        if claim.get("status", {}).get("capacity", {}).get("storage") == "2Gi":
            self._names.add(claim["metadata"]["name"])
        if len(self._names) == self._count:
            self.all.set()


async def _growth(data: Path) -> list[Row]:
    """Claims without pods, of a driver that needs no node to grow its volumes."""
    loop = asyncio.get_running_loop()
    names = [f"grows-{number:03}" for number in range(AT_ONCE)]
    async with served(data, *up_with_node(data), "--no-host-rootfs") as target:
        made = {"metadata": {"name": "bench"}, "provisioner": DRIVER, "allowVolumeExpansion": True}
        body = json.dumps(made).encode()
        await send_all(target, iter([request(target, "POST", CLASSES, body)]), 1)
        bound, grown = Bound(), Grown(AT_ONCE)
        async with registered(target, data) as driver, following(target, CLAIMS, bound.told):
            driver.state.node = driver.state.node - {NodeCapability.EXPAND_VOLUME}
            claims = (request(target, "POST", CLAIMS, _claim(name)) for name in names)
            await send_all(target, claims, CONNECTIONS)
            await bound.wait(lambda: bound.names.issuperset(names))
            async with following(target, CLAIMS, grown.told):
                began = loop.time()
                asked = (growing(target, name) for name in names)
                await send_all(target, asked, CONNECTIONS)
                async with asyncio.timeout(PATIENCE):
                    await grown.all.wait()
                took = loop.time() - began
            await asyncio.sleep(3)  # until the last events are written
            used = target.cpu_seconds()
            await asyncio.sleep(IDLE_SECONDS)
            share = (target.cpu_seconds() - used) / IDLE_SECONDS
    return [
        (f"{AT_ONCE} claims grown at once", f"{took:.2f} s", "target 6 s"),
        (f"idle with {AT_ONCE} grown claims", f"{share:.2%}", "of a core, all roles; target 1%"),
    ]


def _ms(took: list[float], share: float) -> str:
    return f"{took[int(len(took) * share)] * 1e3:.1f} ms"


async def _memory(directory: Path) -> Row:
    async with served(directory, "up", "--no-node"), sidecars(directory, DRIVERS) as many:
        await asyncio.sleep(3)  # until it has met them all
        megabytes = many.resident_bytes() / 1e6
    return (f"one process, sidecars of {DRIVERS} drivers", f"{megabytes:.0f} MB", "target 200 MB")


async def _measure() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as name:
        rows = [WITHOUT_ROOT]
        if os.geteuid() == 0:
            rows = [
                *await _life(Path(name) / "a"),
                *await _growth(Path(name) / "c"),
                *await _snapshots(Path(name) / "d"),
            ]
        return [*rows, await _memory(Path(name) / "b")]


def run() -> list[Row]:
    return uvloop.run(_measure())
