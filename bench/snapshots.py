"""Snapshots from the request until they are ready, with a driver that answers at once."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

from bench.attachment import following
from bench.client import open_pool, request, send_all
from bench.server import Server

Row = tuple[str, str, str]
Doc = dict[str, Any]

VERSION = "snapshot.storage.k8s.io/v1"
GROUP = f"/apis/{VERSION}"
SNAPSHOTS = f"{GROUP}/namespaces/default/volumesnapshots"
CLASSES = f"{GROUP}/volumesnapshotclasses"
ONE_BY_ONE, FEW, MANY = 50, 80, 500
CONNECTIONS = 32
PATIENCE = 60.0  # seconds


class Ready:
    """Snapshots that are ready, as the server tells."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.there: set[str] = set()
        self.changed: Callable[[], None] = lambda: None

    def told(self, kind: str, snapshot: Doc) -> None:
        name = snapshot["metadata"]["name"]
        if kind == "DELETED":
            self.names.discard(name)
            self.there.discard(name)
        else:
            self.there.add(name)
            if snapshot.get("status", {}).get("readyToUse"):
                self.names.add(name)
        self.changed()

    async def wait(self, condition: Callable[[], bool]) -> None:
        reached = asyncio.Event()
        self.changed = lambda: reached.set() if condition() else None
        self.changed()
        async with asyncio.timeout(PATIENCE):
            await reached.wait()


def _snapshot(name: str, claim: str) -> bytes:
    source = {"persistentVolumeClaimName": claim}
    spec = {"source": source, "volumeSnapshotClassName": "bench"}
    kind = {"apiVersion": VERSION, "kind": "VolumeSnapshot", "metadata": {"name": name}}
    return json.dumps({**kind, "spec": spec}).encode()


def class_of(driver: str) -> bytes:
    kind = {"apiVersion": VERSION, "kind": "VolumeSnapshotClass", "metadata": {"name": "bench"}}
    return json.dumps({**kind, "driver": driver, "deletionPolicy": "Delete"}).encode()


async def measure(target: Server, driver: str, claims: list[str]) -> list[Row]:
    """Of claims that are bound; the driver has no snapshot before, and none after."""
    await send_all(target, iter([request(target, "POST", CLASSES, class_of(driver))]), 1)
    ready = Ready()
    async with following(target, SNAPSHOTS, ready.told):
        took = sorted(await _one_by_one(target, ready, claims[0]))
        few = await at_once(target, ready, "few", FEW, claims)
        many = await at_once(target, ready, "many", MANY, claims)
        deleted = await _deleted(target, ready)
    count = ONE_BY_ONE + FEW + MANY
    median, last = took[len(took) // 2] * 1e3, took[int(len(took) * 0.99)] * 1e3
    return [
        (
            "snapshot create -> ready (median)",
            f"{median:.1f} ms",
            f"target 40 ms; p99 {last:.1f} ms",
        ),
        (f"{FEW} snapshots at once: all ready", f"{few:.2f} s", "target 1 s"),
        (f"{MANY} snapshots at once: all ready", f"{many:.2f} s", "target 6 s"),
        (f"{count} snapshots deleted: none left", f"{deleted:.2f} s", ""),
    ]


async def _one_by_one(target: Server, ready: Ready, claim: str) -> list[float]:
    """Seconds from create to ready, of snapshots that come when the one before is ready."""
    took = []
    async with open_pool(target, 1) as pool:
        for number in range(ONE_BY_ONE):
            name = f"single-{number}"
            began = time.perf_counter()
            await pool.send(request(target, "POST", SNAPSHOTS, _snapshot(name, claim)))
            await ready.wait(lambda name=name: name in ready.names)  # type: ignore[misc]  # bound now
            took.append(time.perf_counter() - began)
    return took


async def at_once(
    target: Server, ready: Ready, prefix: str, count: int, claims: list[str]
) -> float:
    names = {f"{prefix}-{number}" for number in range(count)}
    began = time.perf_counter()
    posts = (
        request(target, "POST", SNAPSHOTS, _snapshot(name, claims[i % len(claims)]))
        for i, name in enumerate(sorted(names))
    )
    await send_all(target, posts, CONNECTIONS)
    await ready.wait(lambda: names <= ready.names)
    return time.perf_counter() - began


async def _deleted(target: Server, ready: Ready) -> float:
    began = time.perf_counter()
    await send_all(target, iter([request(target, "DELETE", SNAPSHOTS)]), 1)
    await ready.wait(lambda: not ready.there)
    return time.perf_counter() - began
