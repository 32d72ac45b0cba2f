"""Mooring's sidecars beside upstream's, on one kube-apiserver, with a driver that answers at once.

Both sides do the same work one after the other, in turns, and the best turn of each counts:
claims at once until all are Bound, then grown, then snapshots of them until all are ready.
Upstream's sidecars have their client limits lifted and a hundred workers; kube-controller-manager
binds the claims for both. Skipped where a program is missing.
"""

import asyncio
import http.client
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal

import msgspec
import uvloop
import yaml

from bench import snapshots
from bench.attachment import following
from bench.binding import claim_document
from bench.client import request, send_all
from bench.csi import CLAIMS, CLASSES, DRIVER, Bound, Grown, deleted_all, growing
from bench.peers import as_server, kubernetes
from bench.process import Process
from bench.server import Server
from mooring.csi.capability import NodeCapability, PluginService
from tests.conformance.obtain import (
    CSI_PROVISIONER,
    CSI_RESIZER,
    CSI_SNAPSHOTTER,
    SNAPSHOT_CONTROLLER,
    SNAPSHOT_KINDS,
    Missing,
    Program,
    files,
    find,
)
from tests.conformance.peers import Kubernetes
from tests.fakes.csi_driver import FakeCsiDriver

Row = tuple[str, str, str]
Side = Literal["mooring", "upstream"]

CLAIMS_AT_ONCE, SNAPSHOTS_AT_ONCE, TURNS = 200, 80, 2
CONNECTIONS = 32
PATIENCE = 180.0  # seconds, for one step of one side
STARTS = 5.0  # seconds that sidecars have to list and watch
KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVED = f"{snapshots.GROUP}/volumesnapshots"
TARGET = "target 3x"

_LIFTED = ("--kube-api-qps=10000", "--kube-api-burst=10000")
UPSTREAM: tuple[tuple[Program, tuple[str, ...]], ...] = (
    (CSI_PROVISIONER, ("--worker-threads=100",)),
    (CSI_RESIZER, ("--workers=100",)),
    (CSI_SNAPSHOTTER, ("--worker-threads=100",)),
    (SNAPSHOT_CONTROLLER, ("--worker-threads=100",)),
)


class Turn(msgspec.Struct, frozen=True):
    """What one side took: seconds, and at the end time and memory of all its processes."""

    bound: float
    grown: float
    ready: float
    deleted: float
    cpu_seconds: float
    resident_bytes: int


@asynccontextmanager
async def _process(log: Path, *command: str) -> AsyncIterator[Process]:
    with log.open("ab") as output:
        started = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=output)
    try:
        yield Process(started.pid)
        assert started.returncode is None, f"{command[0]} ended with {started.returncode}"
    finally:
        if started.returncode is None:
            started.terminate()
        await started.wait()


def _commands(side: Side, kubeconfig: Path, socket: Path) -> Sequence[Sequence[str]]:
    """Raises Missing."""
    if side == "mooring":
        ours = (sys.executable, "-m", "mooring")
        common = ("--kubeconfig", str(kubeconfig), "--no-leader-elect", "--log-level", "error")
        roles = ("provisioner", "resizer", "snapshotter", "--csi-address", str(socket))
        return (
            (*ours, "sidecar", *roles, *common),
            (*ours, "controllers", "--controllers", "snapshots", *common),
        )
    return [
        (
            *(str(find(program)), f"--kubeconfig={kubeconfig}", *_LIFTED, *flags),
            *(() if program is SNAPSHOT_CONTROLLER else (f"--csi-address={socket}",)),
        )
        for program, flags in UPSTREAM
    ]


async def _turn(side: Side, target: Server, kubeconfig: Path, folder: Path) -> Turn:
    socket = folder / f"{side}.sock"
    fake = FakeCsiDriver(socket)
    fake.state.plugin -= {PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS}
    fake.state.node -= {NodeCapability.EXPAND_VOLUME}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(fake)
        processes = [
            await stack.enter_async_context(_process(folder / f"{side}-{number}.log", *command))
            for number, command in enumerate(_commands(side, kubeconfig, socket))
        ]
        await asyncio.sleep(STARTS)
        bound = Bound()
        await stack.enter_async_context(following(target, CLAIMS, bound.told))
        took = await _steps(target, bound)
        memory = sum(process.resident_bytes() for process in processes)
        used = sum(process.cpu_seconds() for process in processes)
        assert not fake.state.volumes, "a volume was left"
        assert not fake.state.snapshots, "a snapshot was left"
    return Turn(*took, used, memory)


async def _steps(target: Server, bound: Bound) -> tuple[float, float, float, float]:
    loop = asyncio.get_running_loop()
    names = [f"claim-{number:03}" for number in range(CLAIMS_AT_ONCE)]
    began = loop.time()
    claims = (request(target, "POST", CLAIMS, claim_document(name)) for name in names)
    await send_all(target, claims, CONNECTIONS)
    await bound.wait(lambda: bound.names.issuperset(names), PATIENCE)
    all_bound = loop.time() - began
    grown = Grown(CLAIMS_AT_ONCE)
    async with following(target, CLAIMS, grown.told):
        began = loop.time()
        await send_all(target, (growing(target, name) for name in names), CONNECTIONS)
        async with asyncio.timeout(PATIENCE):
            await grown.all.wait()
    all_grown = loop.time() - began
    ready = snapshots.Ready()
    async with following(target, snapshots.SNAPSHOTS, ready.told):
        all_ready = await snapshots.at_once(target, ready, "taken", SNAPSHOTS_AT_ONCE, names)
        began = loop.time()
        asked = [request(target, "DELETE", f"{snapshots.SNAPSHOTS}/{name}") for name in ready.there]
        await send_all(target, iter(asked), CONNECTIONS)
        await ready.wait(lambda: not ready.there)
        deleted = loop.time() - began
    await deleted_all(target, bound)
    return all_bound, all_grown, all_ready, deleted


def _define(cluster: Kubernetes) -> None:
    """The kinds of snapshots, until they are served. Raises Missing."""
    client, as_json = cluster.client(), {"Content-Type": "application/json"}
    for file in files(SNAPSHOT_KINDS).glob("*snapshot*.yaml"):
        body = json.dumps(yaml.safe_load(file.read_text())).encode()
        answer = client.ask("POST", KINDS, body, as_json)
        assert answer.code == http.client.CREATED, answer.doc
    while client.ask("GET", SERVED).code != http.client.OK:
        time.sleep(0.1)
    client.close()


async def _prepare(cluster: Kubernetes, target: Server) -> None:
    """Kinds and classes. Raises Missing."""
    async with asyncio.timeout(PATIENCE):
        await asyncio.to_thread(_define, cluster)
    made = {"metadata": {"name": "bench"}, "provisioner": DRIVER, "allowVolumeExpansion": True}
    asked = (
        request(target, "POST", CLASSES, json.dumps(made).encode()),
        request(target, "POST", snapshots.CLASSES, snapshots.class_of(DRIVER)),
    )
    await send_all(target, iter(asked), 1)


async def _measure() -> list[Row]:
    sides: tuple[Side, ...] = ("mooring", "upstream")
    turns: dict[Side, list[Turn]] = {side: [] for side in sides}
    async with kubernetes("tuned") as cluster:
        if cluster is None:
            return [("sidecars beside upstream's", "not run", "no Kubernetes to run them on")]
        target = as_server(cluster)
        with tempfile.TemporaryDirectory(prefix="sidecars-bench-") as name:
            folder = Path(name)
            try:
                _commands("upstream", cluster.kubeconfig, folder)
                await _prepare(cluster, target)
            except Missing as reason:
                return [("sidecars beside upstream's", "not run", str(reason))]
            for _ in range(TURNS):
                for side in sides:
                    turns[side].append(await _turn(side, target, cluster.kubeconfig, folder))
    return _rows(turns["mooring"], turns["upstream"])


def _rows(ours: Sequence[Turn], theirs: Sequence[Turn]) -> list[Row]:
    def best(turns: Sequence[Turn], step: str) -> float:
        return float(min(getattr(turn, step) for turn in turns))

    def row(what: str, step: str, note: str = TARGET) -> Row:
        mine, other = best(ours, step), best(theirs, step)
        return (what, f"{mine:.2f} s", f"upstream's {other:.2f} s: {other / mine:.1f}x; {note}")

    count = CLAIMS_AT_ONCE
    mine, other = best(ours, "bound"), best(theirs, "bound")
    memory = [best(turns, "resident_bytes") / 1e6 for turns in (ours, theirs)]
    return [
        row(f"{count} claims at once: all Bound", "bound"),
        ("  claims a second", f"{count / mine:.0f}", f"upstream's {count / other:.0f}"),
        row(f"{count} claims grown at once", "grown"),
        row(f"{SNAPSHOTS_AT_ONCE} snapshots at once: all ready", "ready"),
        row(f"{SNAPSHOTS_AT_ONCE} snapshots deleted: none left", "deleted", "no target"),
        row("processor time, all processes", "cpu_seconds", "their start included"),
        ("memory, all processes", f"{memory[0]:.0f} MB", f"upstream's {memory[1]:.0f} MB"),
    ]


def run() -> list[Row]:
    return uvloop.run(_measure())
