"""Mooring's sidecars beside upstream's, on one kube-apiserver, with a driver that answers at once.

All sides do the same work one after the other, in turns, and the best turn of each counts:
claims at once until all are Bound, then grown, then snapshots of them until all are ready.
Upstream's sidecars have a hundred workers, and run twice: with the client limits that drivers' own
charts tune them to, and with limits that are never reached. kube-controller-manager binds the
claims for all; what it and the API server need for that alone is a row of its own. Skipped where a
program is missing.
"""

import asyncio
import http.client
import json
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from itertools import chain
from pathlib import Path
from typing import Literal

import msgspec
import uvloop
import yaml

from bench import snapshots
from bench.attachment import following
from bench.binding import claim_document, volume_document
from bench.client import request, send_all
from bench.csi import CLAIMS, CLASSES, DRIVER, VOLUMES, Bound, Grown, deleted_all, growing
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
Side = Literal["mooring", "tuned", "lifted"]

CLAIMS_AT_ONCE, SNAPSHOTS_AT_ONCE, TURNS = 200, 80, 2
CONNECTIONS = 32
PATIENCE = 180.0  # seconds, for one step of one side
STARTS = 5.0  # seconds that sidecars have to list and watch
KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVED = f"{snapshots.GROUP}/volumesnapshots"
TARGET = " (target 3x)"

LIMITS: dict[Side, tuple[str, ...]] = {
    # As the charts of alibaba-cloud-csi-driver, azuredisk- and azurefile-csi-driver have it.
    "tuned": ("--kube-api-qps=100", "--kube-api-burst=200"),
    "lifted": ("--kube-api-qps=10000", "--kube-api-burst=10000"),
}
_SERVED = re.compile(rb'^apiserver_request_total\{(?!.*verb="WATCH").*\} (\d+)$', re.MULTILINE)
UPSTREAM: tuple[tuple[Program, tuple[str, ...]], ...] = (
    (CSI_PROVISIONER, ("--worker-threads=100",)),
    (CSI_RESIZER, ("--workers=100",)),
    (CSI_SNAPSHOTTER, ("--worker-threads=100",)),
    (SNAPSHOT_CONTROLLER, ("--worker-threads=100",)),
)


class Turn(msgspec.Struct, frozen=True):
    """What one side took: seconds of each step; for all of them, what its processes used, and how
    many requests the API server answered to anybody."""

    bound: float
    grown: float
    ready: float
    deleted: float
    cpu_seconds: float
    resident_bytes: int
    requests: int


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
            *(str(find(program)), f"--kubeconfig={kubeconfig}", *LIMITS[side], *flags),
            *(() if program is SNAPSHOT_CONTROLLER else (f"--csi-address={socket}",)),
        )
        for program, flags in UPSTREAM
    ]


def _answered(cluster: Kubernetes) -> int:
    """Requests that the API server has answered, watches left out."""
    asking = http.client.HTTPSConnection(cluster.host, cluster.port, context=cluster.tls())
    with closing(asking):
        asking.request("GET", "/metrics", headers={"Authorization": f"Bearer {cluster.token}"})
        told = asking.getresponse().read()
    return sum(map(int, _SERVED.findall(told)))


async def _turn(side: Side, cluster: Kubernetes, folder: Path) -> Turn:
    target = as_server(cluster)
    socket = folder / f"{side}.sock"
    fake = FakeCsiDriver(socket)
    fake.state.plugin -= {PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS}
    fake.state.node -= {NodeCapability.EXPAND_VOLUME}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(fake)
        processes = [
            await stack.enter_async_context(_process(folder / f"{side}-{number}.log", *command))
            for number, command in enumerate(_commands(side, cluster.kubeconfig, socket))
        ]
        await asyncio.sleep(STARTS)
        bound = Bound()
        await stack.enter_async_context(following(target, CLAIMS, bound.told))
        before = await asyncio.to_thread(_answered, cluster)
        took = await _steps(target, bound)
        requests = await asyncio.to_thread(_answered, cluster) - before
        memory = sum(process.resident_bytes() for process in processes)
        used = sum(process.cpu_seconds() for process in processes)
        assert not fake.state.volumes, "a volume was left"
        assert not fake.state.snapshots, "a snapshot was left"
    return Turn(*took, used, memory, requests)


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


async def _bound_by_hand(target: Server) -> float:
    """Seconds until claims are Bound whose volumes are written here, all at once."""
    loop = asyncio.get_running_loop()
    names = [f"by-hand-{number:03}" for number in range(CLAIMS_AT_ONCE)]
    bound = Bound()
    async with following(target, CLAIMS, bound.told):
        began = loop.time()
        volumes = (request(target, "POST", VOLUMES, volume_document(name, name)) for name in names)
        claims = (request(target, "POST", CLAIMS, claim_document(name)) for name in names)
        await send_all(target, chain(volumes, claims), CONNECTIONS)
        await bound.wait(lambda: bound.names.issuperset(names), PATIENCE)
        took = loop.time() - began
    for path in (CLAIMS, VOLUMES):
        gone = (request(target, "DELETE", f"{path}/{name}") for name in names)
        await send_all(target, gone, CONNECTIONS)
    return took


async def _measure() -> list[Row]:
    sides: tuple[Side, ...] = ("mooring", *LIMITS)
    turns: dict[Side, list[Turn]] = {side: [] for side in sides}
    async with kubernetes("tuned") as cluster:
        if cluster is None:
            return [("sidecars beside upstream's", "not run", "no Kubernetes to run them on")]
        target = as_server(cluster)
        with tempfile.TemporaryDirectory(prefix="sidecars-bench-") as name:
            folder = Path(name)
            try:
                _commands("tuned", cluster.kubeconfig, folder)
                await _prepare(cluster, target)
            except Missing as reason:
                return [("sidecars beside upstream's", "not run", str(reason))]
            alone = []
            for number in range(TURNS):
                alone.append(await _bound_by_hand(target))
                for side in sides:
                    print(f"  turn {number + 1} of {TURNS}: {side}", flush=True)
                    turns[side].append(await _turn(side, cluster, folder))
    return _rows(turns, min(alone))


def _rows(turns: Mapping[Side, Sequence[Turn]], alone: float) -> list[Row]:
    def best(side: Side, step: str) -> float:
        return float(min(getattr(turn, step) for turn in turns[side]))

    def row(what: str, step: str, target: str = "") -> Row:
        mine, tuned, lifted = (best(side, step) for side in ("mooring", *LIMITS))
        beside = f"upstream's tuned {tuned:.2f} s: {tuned / mine:.1f}x{target}"
        return (what, f"{mine:.2f} s", f"{beside}; without limits {lifted:.2f} s")

    count = CLAIMS_AT_ONCE
    ours, theirs = (best(side, "resident_bytes") / 1e6 for side in ("mooring", "tuned"))
    mine, other = (best(side, "requests") for side in ("mooring", "tuned"))
    return [
        row(f"{count} claims at once: all Bound", "bound", TARGET),
        ("  with volumes written by hand", f"{alone:.2f} s", "no sidecar at all"),
        row(f"{count} claims grown at once", "grown", TARGET),
        row(f"{SNAPSHOTS_AT_ONCE} snapshots at once: all ready", "ready", TARGET),
        row(f"{SNAPSHOTS_AT_ONCE} snapshots deleted: none left", "deleted"),
        row("processor time, all processes", "cpu_seconds"),
        ("requests in all", f"{mine:.0f}", f"upstream's {other:.0f}; everybody's are counted"),
        ("memory, all processes", f"{ours:.0f} MB", f"upstream's {theirs:.0f} MB"),
    ]


def run() -> list[Row]:
    return uvloop.run(_measure())
