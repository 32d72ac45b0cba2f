"""`mooring why` among 10,000 claims and 100 nodes: from the start of its process to the answer."""

import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.client import request, send_all
from bench.server import Server, served

Row = tuple[str, str, str]

MANY, NODES, PODS = 10_000, 100, 300
CONNECTIONS = 16
ROUNDS = 9
MOST_SECONDS = 0.5
CORE = "/api/v1"
CLAIMS = f"{CORE}/namespaces/default/persistentvolumeclaims"
SUBJECTS = ("pvc/claim-05000", "pvc/waits", "pod/web", "node/n-050")


def _claim(name: str, storage_class: str, volume: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    if volume:
        spec["volumeName"] = volume
    return {"metadata": {"name": name}, "spec": spec}


def _volume(number: int) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "made",
        "capacity": {"storage": "1Gi"},
        "claimRef": {"namespace": "default", "name": f"claim-{number:05}"},
        "csi": {"driver": "disk.example", "volumeHandle": f"handle-{number}"},
    }
    return {"metadata": {"name": f"volume-{number:05}"}, "spec": spec}


def _node(number: int) -> dict[str, Any]:
    room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
    return {
        "metadata": {"name": f"n-{number:03}"},
        "spec": {"taints": [taint]},
        "status": {"allocatable": room, "capacity": room},
    }


def _pod(name: str, claim: str, node: str = "") -> dict[str, Any]:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name}, "spec": spec}


def _requests(target: Server) -> Iterator[bytes]:
    def post(path: str, doc: dict[str, Any]) -> bytes:
        return request(target, "POST", path, msgspec.json.encode(doc))

    for name, mode in (("made", "Immediate"), ("late", "WaitForFirstConsumer")):
        doc = {"metadata": {"name": name}, "provisioner": "disk.example", "volumeBindingMode": mode}
        yield post("/apis/storage.k8s.io/v1/storageclasses", doc)
    yield post("/apis/storage.k8s.io/v1/csidrivers", {"metadata": {"name": "disk.example"}})
    for number in range(NODES):
        yield post(f"{CORE}/nodes", _node(number))
        drivers = [{"name": "disk.example", "nodeID": f"n-{number:03}"}]
        doc = {"metadata": {"name": f"n-{number:03}"}, "spec": {"drivers": drivers}}
        yield post("/apis/storage.k8s.io/v1/csinodes", doc)
    for number in range(MANY):
        yield post(f"{CORE}/persistentvolumes", _volume(number))
        yield post(CLAIMS, _claim(f"claim-{number:05}", "made"))
    pods = f"{CORE}/namespaces/default/pods"
    for number in range(PODS):
        yield post(pods, _pod(f"p-{number}", f"claim-{number:05}", f"n-{number % NODES:03}"))
    yield post(CLAIMS, _claim("waits", "late"))
    yield post(pods, _pod("web", "waits"))


async def _fill(target: Server) -> None:
    asked = list(_requests(target))
    await send_all(target, iter(asked), CONNECTIONS)
    print(f"  ({len(asked)} objects)", file=sys.stderr)


def _ask(kubeconfig: Path, subject: str) -> tuple[float, float]:
    """Seconds from start to end, and of CPU."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-m", "mooring", "why", subject],
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return time.perf_counter() - began, cpu


async def _measure() -> list[Row]:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as directory:
        place = Path(directory)
        async with served(place, "up", "--no-node") as target:
            await _fill(target)
            for subject in SUBJECTS:
                asked = [
                    await asyncio.to_thread(_ask, place / "kubeconfig", subject)
                    for _ in range(ROUNDS)
                ]
                seconds, cpu = zip(*asked, strict=True)
                middle = statistics.median(seconds)
                note = (
                    f"median of {ROUNDS}, at most {MOST_SECONDS} s; the best {min(seconds):.2f} s, "
                    f"CPU {min(cpu):.2f} s"
                )
                rows.append((f"why {subject}", f"{middle:.2f} s", note))
    return rows


def run() -> list[Row]:
    return uvloop.run(_measure())
