"""A node with many pods: their volumes mounted, gone, found again after `kill -9`, and idle.

Needs root. Every pod has an emptyDir, a projected and a local volume; what is there is looked up on
disk and in the mount table, from another process. The node runs within `mooring up`, so its figures
include API server, controllers and whatever they write.
"""

import asyncio
import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.client import Pool, open_pool, request, send_all
from bench.server import NODE, Server, node_root, served, up_with_node
from mooring.host.mountinfo import read_table

Row = tuple[str, str, str]
Doc = dict[str, Any]

PODS = 200
SINGLE = 40  # pods that come one by one
CONNECTIONS = 16
PATIENCE = 60.0  # seconds
IDLE = 90.0  # their images are missing: three rounds of back-off, with events, fall into it
CORE = "/api/v1"
HERE = f"{CORE}/namespaces/default"
MOUNTS_EACH = 2  # the projected volume is a tmpfs, the local one a bind


class Bench:
    """One data directory, with the disks that local volumes are on."""

    def __init__(self, directory: Path) -> None:
        self.data = directory / "data"
        self.disks = directory / "disks"
        self.pods = node_root(self.data) / "pods"
        # Volumes alone: no image, no container.
        self.up = (*up_with_node(self.data), "--no-host-rootfs")

    def volume(self, name: str) -> Doc:
        disk = self.disks / name
        disk.mkdir(parents=True, exist_ok=True)
        (disk / "marker").touch()
        expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
        terms = [{"matchExpressions": [expression]}]
        return {
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "bench",
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "default", "name": name},
                "local": {"path": str(disk)},
                "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            },
        }

    def mounts(self) -> dict[str, int]:
        """What is mounted for pods, with the number that the kernel gave each mount."""
        return {entry.at: entry.id for entry in read_table().below(self.pods)}

    def left(self) -> list[str]:
        return [*self.mounts(), *(str(path) for path in self.pods.iterdir())]


def _claim(name: str) -> Doc:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "bench",
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeName": name,
    }
    return {"metadata": {"name": name}, "spec": spec}


def _projected() -> Doc:
    sources: list[Doc] = [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt"}},
        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    return {"name": "projected", "projected": {"sources": sources}}


def _pod(name: str, second: Doc, *, node: str = "") -> Doc:
    volumes: list[Doc] = [
        {"name": "scratch", "emptyDir": {}},
        second,
        {"name": "data", "persistentVolumeClaim": {"claimName": name}},
    ]
    mounts = [{"name": one["name"], "mountPath": f"/{one['name']}"} for one in volumes]
    spec: Doc = {
        "automountServiceAccountToken": False,
        "schedulerName": "nobody",
        "containers": [{"name": "c", "image": "none", "volumeMounts": mounts}],
        "volumes": volumes,
    }
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name}, "spec": spec}


async def _create(target: Server, path: str, documents: Iterable[Doc]) -> None:
    bodies = (json.dumps(doc).encode() for doc in documents)
    await send_all(target, (request(target, "POST", path, one) for one in bodies), CONNECTIONS)


async def _ask(target: Server, path: str) -> bytes:
    reader, writer = await asyncio.open_connection(target.host, target.port, ssl=target.tls)
    writer.write(
        request(target, "GET", path).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    )
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head, head
    body = await reader.read()
    writer.close()
    return body


async def _until(is_so: Callable[[], bool], every: float = 0.02) -> float:
    """How long it took."""
    began = time.perf_counter()
    while not is_so():
        assert time.perf_counter() - began < PATIENCE, "it never came to be"
        await asyncio.sleep(every)
    return time.perf_counter() - began


async def _until_told(target: Server, path: str, is_so: Callable[[bytes], bool]) -> float:
    """The same, of what the server answers."""
    began = time.perf_counter()
    while not is_so(await _ask(target, path)):
        assert time.perf_counter() - began < PATIENCE, f"{path} never told it"
        await asyncio.sleep(0.1)  # an answer costs the server as much as a volume does
    return time.perf_counter() - began


async def _bound_claims(bench: Bench, target: Server, names: list[str]) -> None:
    await _create(target, f"{CORE}/persistentvolumes", map(bench.volume, names))
    await _create(target, f"{HERE}/persistentvolumeclaims", map(_claim, names))
    path = f"{HERE}/persistentvolumeclaims"
    await _until_told(target, path, lambda page: page.count(b'"phase":"Bound"') >= len(names))


async def _registered(target: Server) -> None:
    await _until_told(target, f"{CORE}/nodes", lambda page: b'"KubeletReady"' in page)


def _count_ready(bench: Bench) -> int:
    """Pods that have all: both mounts, the content of one, and the plain directory."""
    mounts = bench.mounts()
    found = 0
    for pod in bench.pods.iterdir():
        volumes = pod / "volumes"
        projected = volumes / "kubernetes.io~projected" / "projected"
        locals_ = volumes / "kubernetes.io~local-volume"
        found += (
            (volumes / "kubernetes.io~empty-dir" / "scratch").is_dir()
            and str(projected) in mounts
            and (projected / "..data").exists()
            and any(at.startswith(str(locals_)) for at in mounts if str(pod) in at)
        )
    return found


async def _all_at_once(bench: Bench, target: Server) -> Row:
    names = [f"many-{i}" for i in range(PODS)]
    await _bound_claims(bench, target, names)
    began = time.perf_counter()
    creating = asyncio.create_task(
        _create(target, f"{HERE}/pods", (_pod(name, _projected(), node=NODE) for name in names))
    )
    await _until(lambda: len(bench.mounts()) == PODS * MOUNTS_EACH)
    await _until(lambda: _count_ready(bench) == PODS)
    seconds = time.perf_counter() - began
    await creating
    return (f"{PODS} pods x 3 volumes created -> all mounted", f"{seconds:.2f} s", "target 10 s")


async def _idle(target: Server) -> Row:
    await asyncio.sleep(5)
    before = target.cpu_seconds()
    await asyncio.sleep(IDLE)
    share = (target.cpu_seconds() - before) / IDLE
    return (f"idle with {PODS} pods", f"{share:.2%}", "of a core, all roles; target 2%")


async def _all_gone(bench: Bench, target: Server) -> Row:
    began = time.perf_counter()
    await send_all(target, iter([request(target, "DELETE", f"{HERE}/pods")]), 1)
    await _until(lambda: not bench.mounts() and not any(bench.pods.iterdir()))
    await _until_told(target, f"{HERE}/pods", lambda page: b'"items":[]' in page)
    seconds = time.perf_counter() - began
    assert not bench.left()
    return (f"{PODS} pods deleted -> all gone", f"{seconds:.2f} s", "target 10 s; nothing is left")


async def _one_by_one(bench: Bench, target: Server) -> Row:
    names = [f"single-{i}" for i in range(SINGLE)]
    await _bound_claims(bench, target, names)
    await _create(
        target, f"{HERE}/configmaps", [{"metadata": {"name": "settings"}, "data": {"a": "b"}}]
    )
    config: Doc = {"name": "settings", "configMap": {"name": "settings"}}
    await _create(target, f"{HERE}/pods", (_pod(name, config) for name in names))
    listed = msgspec.json.decode(await _ask(target, f"{HERE}/pods"))["items"]
    uids = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in listed}
    async with open_pool(target, 1) as pool:
        waits = [await _bind(bench, target, pool, name, uids[name]) for name in names]
    await send_all(target, iter([request(target, "DELETE", f"{HERE}/pods")]), 1)
    await _until(lambda: not bench.left())
    return (
        "bind request -> local, emptyDir, configMap mounted (median)",
        f"{statistics.median(waits) * 1e3:.1f} ms",
        f"target 30 ms; worst of {SINGLE} {max(waits) * 1e3:.1f} ms",
    )


async def _bind(bench: Bench, target: Server, pool: Pool, name: str, uid: str) -> float:
    volumes = bench.pods / uid / "volumes"
    wanted = (
        volumes / "kubernetes.io~empty-dir" / "scratch",
        volumes / "kubernetes.io~configmap" / "settings" / "a",
        volumes / "kubernetes.io~local-volume" / name / "marker",
    )
    body = json.dumps({"metadata": {"name": name}, "target": {"kind": "Node", "name": NODE}})
    began = time.perf_counter()
    await pool.send(request(target, "POST", f"{HERE}/pods/{name}/binding", body.encode()))
    await _until(lambda: all(map(os.path.exists, wanted)), every=0.0005)
    return time.perf_counter() - began


async def _restarted(bench: Bench, before: dict[str, int]) -> list[Row]:
    """`kill -9` has happened; what does the next start make of it?"""
    volumes = PODS * 3
    async with served(bench.data, *bench.up) as target:
        found = await _until_told(target, "/metrics", lambda page: _found(page) == volumes)
        more = await _until_told(target, "/metrics", lambda page: _certain(page) == volumes)
        assert bench.mounts() == before, "a volume was mounted anew, or lost"
        since_start = target.ready_seconds + found
        row = (
            f"restart with {PODS} pods: start -> {volumes} volumes reconstructed, ready",
            f"{since_start:.2f} s",
            f"target 3 s; all checked by {since_start + more:.2f} s, not one mounted anew",
        )
        return [row, await _all_gone(bench, target)]


def _found(page: bytes) -> float:
    """Volumes that the disk told of."""
    return _metric(page, b"reconstruct_volume_operations_total")


def _certain(page: bytes) -> float:
    """Volumes that are known to be mounted."""
    return _metric(page, b"volume_manager_total_volumes", b"actual_state_of_world")


def _metric(page: bytes, name: bytes, label: bytes = b"") -> float:
    """The sum of a metric's series that have this label."""
    lines = [line for line in page.splitlines() if line.startswith(name) and label in line]
    return sum(float(line.rpartition(b" ")[2]) for line in lines)


async def _measure(directory: Path) -> list[Row]:
    bench = Bench(directory)
    async with served(bench.data, *bench.up) as target:
        await _registered(target)
        rows = [await _one_by_one(bench, target)]
        rows.append(await _all_at_once(bench, target))
        rows.append(await _idle(target))
        before = bench.mounts()
        os.kill(target.pid, signal.SIGKILL)
    return rows + await _restarted(bench, before)


def run() -> list[Row]:
    if os.geteuid() != 0:
        return [("a node with many pods", "not run", "mounting needs root")]
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as directory:
        return uvloop.run(_measure(Path(directory).resolve()))
