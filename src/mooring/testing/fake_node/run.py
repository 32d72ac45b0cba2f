"""Fake nodes at work: they exist, give signs of life, and report on the pods they are given."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import count
from random import Random
from typing import Final, assert_never

from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.errors import AlreadyExists, Conflict, NotFound
from mooring.model.csi_node import CsiNode
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.timestamp import to_seconds
from mooring.model.wellknown import Annotation, Label
from mooring.node.own_node import WatchedNode
from mooring.node.status.document import READY
from mooring.node.status.heartbeat import Heartbeat
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, work
from mooring.testing.errors import ClusterError
from mooring.testing.fake_node.decide import ADDRESS, decide
from mooring.testing.fake_node.plan import LookAgain, Remove, SetStatus
from mooring.testing.fake_node.view import View, script_of

NAME: Final = "fake-nodes"
WORKERS = 4
CAPACITY: Mapping[str, str] = {
    "cpu": "32",
    "memory": "128Gi",
    "ephemeral-storage": "1Ti",
    "pods": "110",
}


class FakeNodes:
    """All of one cluster; `role` runs them."""

    def __init__(self, client: Client, clock: Clock, rng: Random) -> None:
        self.role = Loops(NAME, client, clock, rng)
        self._client = client
        self._clock = clock
        self._rng = rng
        self._queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._pods = self.role.informer(Pod)
        self._beats: dict[str, asyncio.Task[None]] = {}
        self._tasks: asyncio.Future[asyncio.TaskGroup] = asyncio.get_running_loop().create_future()
        self._drivers: tuple[str, ...] = ()
        self._addresses = count(1)
        self._pods.on_change(self._on_pod)
        self.role.informer(Node).on_change(self._on_node)
        self.role.add(self._run, {"fake_nodes": self._queue})

    async def add(self, name: str, labels: Mapping[str, str], capacity: Mapping[str, str]) -> None:
        """After: the node is Ready. Raises: ClusterError, ApiError."""
        tasks = await asyncio.shield(self._tasks)
        try:
            made = await self._client.create(Node, _document(name, labels))
        except AlreadyExists:
            raise ClusterError(f"there is a node {name!r} already: choose another name") from None
        status = _status({**CAPACITY, **capacity}, to_seconds(self._clock.now()))
        await self._client.patch(made, {"status": status}, Part.STATUS)
        watched = WatchedNode(self._client, self._clock, self._rng, name, {}, {})
        beat = Heartbeat(self._client, self._clock, self._rng, watched)
        self._beats[name] = tasks.create_task(beat.run(), name=f"heartbeat of {name}")
        await self._tell_drivers(name)
        for pod in self._pods.all():
            self._queue.add(pod.key)

    async def offer(self, drivers: Iterable[str]) -> None:
        """After: these CSI drivers are on every node. Raises: ApiError."""
        self._drivers = tuple(drivers)
        for name in tuple(self._beats):
            await self._tell_drivers(name)

    def silence(self, name: str) -> bool:
        """The node says nothing any more; False: there is none of this name."""
        beat = self._beats.pop(name, None)
        if beat is not None:
            beat.cancel()
        return beat is not None

    async def _tell_drivers(self, name: str) -> None:
        drivers = [{"name": each, "nodeID": name} for each in self._drivers]
        spec: Doc = {"spec": {"drivers": drivers}}
        node = await self._client.get(Node, Key("", name))
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.uid}
        metadata = {"name": name, "ownerReferences": [owner]}
        try:
            await self._client.create(CsiNode, {"metadata": metadata, **spec})
        except AlreadyExists:
            known = await self._client.get(CsiNode, Key("", name))
            await self._client.patch(known, spec)

    # pods

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._tasks.set_result(tasks)
            await work((self._pods,), self._queue, self._reconcile, WORKERS)

    async def _reconcile(self, key: Key) -> Verdict:
        pod = self._pods.get(key)
        if pod is None or pod.spec.node_name not in self._beats:
            return Settled()  # a silent node does nothing for its pods, either
        view = View(pod, script_of(pod.metadata.annotations), self._address(pod), self._clock.now())
        verdict: Verdict = Settled()
        for step in decide(view).steps:
            match step:
                case SetStatus(seen, status):
                    patched = await self._client.patch(seen, {"status": status}, Part.STATUS)
                    self._pods.fold(patched)
                    self._queue.add(key)
                case Remove(seen):
                    with suppress(NotFound, Conflict):
                        await self._client.delete(seen, grace_seconds=0)
                case LookAgain(after):
                    verdict = Again(after)
                case other:
                    assert_never(other)
        return verdict

    def _address(self, pod: Pod) -> str:
        if pod.status.pod_ip:
            return pod.status.pod_ip
        number = next(self._addresses)
        return f"10.244.{number // 250 % 250}.{number % 250 + 1}"

    def _on_pod(self, _: Pod | None, after: Pod | None) -> None:
        if after is not None and after.spec.node_name in self._beats:
            self._queue.add(after.key)

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        if before is not None and after is None:
            self.silence(before.name)


def _document(name: str, labels: Mapping[str, str]) -> Doc:
    own = {
        Label.HOSTNAME: name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
    }
    annotations = {Annotation.CONTROLLER_ATTACHES: "true"}
    return {"metadata": {"name": name, "labels": {**own, **labels}, "annotations": annotations}}


def _status(capacity: Mapping[str, str], now: str) -> Doc:
    ready = {
        "type": READY.type,
        "status": READY.status,
        "reason": READY.reason,
        "message": "a fake node is always well",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    return {
        "capacity": dict(capacity),
        "allocatable": dict(capacity),
        "conditions": [ready],
        "addresses": [{"type": "InternalIP", "address": ADDRESS}],
    }
