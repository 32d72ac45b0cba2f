"""Volumes that come and go with their pods: 1,000 pods at once on 50 nodes, and all gone again.

The nodes are objects that nobody runs; the attacher is in this process, and answers as soon as it
is asked: with one write, or as the real one does, with a finalizer that comes first and goes last.
Time is counted from the first pod that is sent to the last volume in its node's list; then from the
first pod that is deleted until no list and no attachment is left.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from enum import Enum
from functools import partial
from math import inf
from typing import Any, cast

import httptools
import msgspec
import uvloop

from bench.binding import controllers
from bench.client import Pool, open_pool, request, send_all
from bench.peers import as_server, kubernetes
from bench.server import Server, server
from tests.conformance import peers
from tests.conformance.obtain import find

Row = tuple[str, str, str]
Doc = dict[str, Any]

PODS, NODES = 1_000, 50
CONNECTIONS = 32
PATIENCE = 120.0  # seconds, for the pods of one step
LIMIT = 300.0  # seconds, for all of one measurement
DRIVER = "bench.csi.example.com"
FINALIZER = f"external-attacher/{DRIVER.replace('.', '-')}"
CORE, HERE = "/api/v1", "/api/v1/namespaces/default"
ACCOUNTS = f"{HERE}/serviceaccounts"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
DRIVERS = "/apis/storage.k8s.io/v1/csidrivers"
MANAGED = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
MERGE = b"application/merge-patch+json"

Told = Callable[[str, Doc], None]
ANEW = "ANEW"  # all that there is will be told again; what is not told is gone


class Follower(asyncio.Protocol):
    """Tells every change of a watch, decoded."""

    def __init__(self, opening: bytes, told: Told) -> None:
        self._opening = opening
        self._told = told
        self._parser = httptools.HttpResponseParser(self)
        self._rest = b""
        self.version = 0  # the newest that it has told
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._opening)

    def connection_lost(self, _: Exception | None) -> None:
        self.ended.set()
        if not self.started.done():
            self.started.set_result(None)  # and ended: it is tried again

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        self.started.set_result(None)

    def on_message_complete(self) -> None:
        self.ended.set()

    def on_body(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            change = msgspec.json.decode(line)
            about = change["object"]
            if change["type"] == "ERROR":  # the version is too old by now
                self.version = 0
                self._told(ANEW, {})
                self.ended.set()
                return
            self.version = max(self.version, int(about["metadata"]["resourceVersion"]))
            self._told(change["type"], about)


@asynccontextmanager
async def following(target: Server, path: str, told: Told) -> AsyncIterator[None]:
    """Tells every change. kube-apiserver ends the watch of who falls behind: then it goes on."""
    follower = await _follow(target, path, told, 0)

    async def keep() -> None:
        nonlocal follower
        while True:
            await follower.ended.wait()
            follower.transport.close()
            await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.1)
            follower = await _follow(target, path, told, follower.version)

    keeping = asyncio.create_task(keep())
    try:
        yield
    finally:
        keeping.cancel()
        follower.transport.close()


async def _follow(target: Server, path: str, told: Told, version: int) -> Follower:
    loop = asyncio.get_running_loop()
    since = f"&resourceVersion={version}" if version else ""
    opening = request(target, "GET", f"{path}?watch=1{since}")
    _, follower = await loop.create_connection(
        partial(Follower, opening, told), target.host, target.port, ssl=target.tls
    )
    await follower.started
    return follower


class Manner(Enum):
    ONE_WRITE = "one write"
    FINALIZER = "finalizer, status, finalizer off"


class Attacher:
    """What a driver's attacher does when the driver takes no time."""

    def __init__(
        self, manner: Manner, target: Server, pool: Pool, tasks: asyncio.TaskGroup
    ) -> None:
        self._manner = manner
        self._target = target
        self._pool = pool
        self._tasks = tasks
        self.present: set[str] = set()
        self.changed: Callable[[], None] = lambda: None

    def told(self, kind: str, attachment: Doc) -> None:
        if kind == ANEW:
            self.present.clear()
            return
        name, metadata = attachment["metadata"]["name"], attachment["metadata"]
        if kind == "DELETED":
            self.present.discard(name)
        elif metadata.get("deletionTimestamp"):
            self._tasks.create_task(self._patch(name, {"metadata": {"finalizers": None}}))
        elif kind == "ADDED":
            self.present.add(name)
            self._tasks.create_task(self._attach(name))
        self.changed()

    async def _attach(self, name: str) -> None:
        if self._manner is Manner.FINALIZER:
            await self._patch(name, {"metadata": {"finalizers": [FINALIZER]}})
        await self._patch(f"{name}/status", {"status": {"attached": True}})

    async def _patch(self, name: str, change: Doc) -> None:
        body = json.dumps(change).encode()
        asked = request(self._target, "PATCH", f"{ATTACHMENTS}/{name}", body)
        await self._pool.send(asked.replace(b"application/json", MERGE))


class Lists:
    """What nodes are told to be attached."""

    def __init__(self) -> None:
        self.by_node: dict[str, int] = {}
        self.changed: Callable[[], None] = lambda: None

    def told(self, kind: str, node: Doc) -> None:
        if kind == ANEW:
            self.by_node.clear()
            return
        listed = node.get("status", {}).get("volumesAttached") or ()
        self.by_node[node["metadata"]["name"]] = len(listed)
        self.changed()

    @property
    def total(self) -> int:
        return sum(self.by_node.values())


def a_node(name: str) -> Doc:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    return {"metadata": {"name": name, "annotations": MANAGED}, "status": ready}


def a_volume(name: str) -> Doc:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "bench",
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {"namespace": "default", "name": name},
        "csi": {"driver": DRIVER, "volumeHandle": name},
    }
    return {"metadata": {"name": name}, "spec": spec}


def a_claim(name: str) -> Doc:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "bench",
        "volumeName": name,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return {"metadata": {"name": name}, "spec": spec}


def a_pod(name: str, node: str) -> Doc:
    spec = {
        "nodeName": node,
        "automountServiceAccountToken": False,
        "containers": [{"name": "c", "image": "none"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
    }
    return {"metadata": {"name": name}, "spec": spec}


async def create(target: Server, path: str, documents: Iterable[Doc]) -> None:
    bodies = (json.dumps(one).encode() for one in documents)
    await send_all(target, (request(target, "POST", path, one) for one in bodies), CONNECTIONS)


async def until(condition: Callable[[], bool], *sources: Lists | Attacher) -> float:
    """When it came true, as one of these told."""
    loop = asyncio.get_running_loop()
    reached: asyncio.Future[None] = loop.create_future()

    def look() -> None:
        if not reached.done() and condition():
            reached.set_result(None)

    for source in sources:
        source.changed = look
    look()
    async with asyncio.timeout(PATIENCE):
        await reached
    return loop.time()


class Measured(msgspec.Struct, frozen=True):
    """Infinite: it was not over when patience was."""

    attached: float = inf  # seconds
    detached: float = inf


async def measure(target: Server, manner: Manner) -> Measured:
    """Ends in any case."""
    try:
        async with asyncio.timeout(LIMIT):
            return await _attach_and_detach(target, manner)
    except* TimeoutError:
        pass
    return Measured()


async def _attach_and_detach(target: Server, manner: Manner) -> Measured:
    loop = asyncio.get_running_loop()
    names = [f"bench-{number:04}" for number in range(PODS)]
    nodes = [f"node-{number:02}" for number in range(NODES)]
    await create(target, DRIVERS, [{"metadata": {"name": DRIVER}, "spec": {}}])
    await create(target, f"{CORE}/nodes", map(a_node, nodes))
    await create(target, f"{CORE}/persistentvolumes", map(a_volume, names))
    bound: set[str] = set()
    lists = Lists()

    def told(kind: str, claim: Doc) -> None:
        if kind != ANEW and claim.get("status", {}).get("phase") == "Bound":
            bound.add(claim["metadata"]["name"])
            lists.changed()

    claims = f"{HERE}/persistentvolumeclaims"
    async with following(target, claims, told):
        await create(target, claims, map(a_claim, names))
        await until(lambda: len(bound) >= PODS, lists)
    async with asyncio.TaskGroup() as tasks, open_pool(target, CONNECTIONS) as pool:
        attacher = Attacher(manner, target, pool, tasks)
        async with (
            following(target, ATTACHMENTS, attacher.told),
            following(target, f"{CORE}/nodes", lists.told),
        ):
            pods = [a_pod(name, nodes[number % NODES]) for number, name in enumerate(names)]
            began = loop.time()
            await create(target, f"{HERE}/pods", pods)
            attached = await until(lambda: lists.total >= PODS, lists) - began
            began = loop.time()
            asked = (
                request(target, "DELETE", f"{HERE}/pods/{name}?gracePeriodSeconds=0")
                for name in names
            )
            await send_all(target, asked, CONNECTIONS)
            gone = until(lambda: not lists.total and not attacher.present, lists, attacher)
            detached = await gone - began
    return Measured(attached, detached)


async def _standalone() -> list[Row]:
    rows = []
    for manner in Manner:
        async with server("up", "--no-node") as target:
            took = await measure(target, manner)
        what = f"standalone: {PODS:,} pods on {NODES} nodes"
        how = f"attacher: {manner.value}"
        rows += [
            (f"{what}, all attached", f"{took.attached:.2f} s", f"target 1.7 s; {how}"),
            (f"{what} deleted, all detached", f"{took.detached:.2f} s", f"target 3.2 s; {how}"),
        ]
    return rows


@asynccontextmanager
async def _their_controllers(cluster: peers.Kubernetes) -> AsyncIterator[None]:
    """Kubernetes' own, limits lifted; those that others measure leave this one out."""
    names = (*peers.VOLUME_CONTROLLERS, "persistentvolume-attach-detach-controller")
    manager = peers.controller_manager(cluster, find, names, flags=peers.UNLIMITED)
    await asyncio.to_thread(manager.__enter__)
    try:
        yield
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)


async def _on_kubernetes() -> list[Row]:
    """Mooring's controllers and Kubernetes' own (limits lifted), each on an empty cluster."""
    async with kubernetes("none") as cluster:
        if cluster is None:
            return []
        async with controllers(cluster.kubeconfig):
            await create(as_server(cluster), ACCOUNTS, [{"metadata": {"name": "default"}}])
            ours = await measure(as_server(cluster), Manner.FINALIZER)
    async with kubernetes("none") as cluster:
        if cluster is None:
            return []
        async with _their_controllers(cluster):
            await create(as_server(cluster), ACCOUNTS, [{"metadata": {"name": "default"}}])
            theirs = await measure(as_server(cluster), Manner.FINALIZER)
    beside = "kube-controller-manager, limits lifted:"
    return [
        (
            "on kube-apiserver: all attached",
            f"{ours.attached:.2f} s",
            f"{beside} {theirs.attached:.2f} s",
        ),
        (
            "on kube-apiserver: all detached",
            f"{ours.detached:.2f} s",
            f"{beside} {theirs.detached:.2f} s",
        ),
    ]


async def _measure() -> list[Row]:
    return [*await _standalone(), *await _on_kubernetes()]


def run() -> list[Row]:
    return uvloop.run(_measure())
