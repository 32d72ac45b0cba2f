"""`/stats/summary`: what this node's pods use of disk and volumes, in the kubelet's document.

Mooring measures volumes, what containers write and log, and the file system of the node's root
directory. Figures that it does not measure (processors, memory, network) are left out, as a kubelet
leaves out what it does not know.

A volume that hangs holds up nobody: after `PATIENCE` its pod is told without volumes, and measuring
it goes on for whoever asks next.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from mooring import log
from mooring.clock import Clock
from mooring.errors import HostError
from mooring.host.usage import FilesystemUsage
from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.model.timestamp import shifted, to_seconds
from mooring.model.tree_usage import TreeUsage
from mooring.node.container_statistics import Measured
from mooring.node.eviction.decide import local_storage
from mooring.node.eviction.measured import used_by
from mooring.node.pods.storage import ContainerStorage
from mooring.node.statistics import PodStatistics
from mooring.node.under_way import UnderWay
from mooring.plugins.contract import Usage
from mooring.reconcile.deadline import within

V = TypeVar("V")

_log = log.get("mooring.node.summary")

PATIENCE = 5.0  # seconds; who asks has some more (`top.read`)

_FIELDS = {
    "availableBytes": "available",
    "capacityBytes": "capacity",
    "usedBytes": "used",
    "inodesFree": "inodes_free",
    "inodes": "inodes",
    "inodesUsed": "inodes_used",
}


class Measure(msgspec.Struct, frozen=True):
    """What is asked for figures; each raises MooringError."""

    volumes: Callable[[str], Awaitable[PodStatistics]]  # of the pod with this uid
    containers: Callable[[Pod], Awaitable[Measured]]
    root: Callable[[], Awaitable[FilesystemUsage]]


class Summary:
    def __init__(
        self, node: str, measure: Measure, pods: Callable[[], Iterable[Pod]], clock: Clock
    ) -> None:
        self._node = node
        self._measure = measure
        self._pods = pods
        self._clock = clock
        self._started = clock.now()
        self._volumes: UnderWay[PodStatistics] = UnderWay()
        self._containers: UnderWay[Measured] = UnderWay()

    async def run(self) -> None:
        """Until cancelled; with it ends what is being measured."""
        try:
            await asyncio.Event().wait()
        finally:
            self._volumes.cancel()
            self._containers.cancel()

    async def document(self, *, only_cpu_and_memory: bool) -> Doc:
        """As old as the statistics cache it; what cannot be measured now is left out."""
        pods = sorted(self._pods(), key=lambda pod: pod.key)
        told: list[Doc] = [_pod(pod) for pod in pods]
        node: Doc = {"nodeName": self._node, "startTime": to_seconds(self._started)}
        if only_cpu_and_memory:
            return {"node": node, "pods": told}
        volumes = [self._begin_volumes(pod) for pod in pods]
        containers = [self._begin_containers(pod) for pod in pods]
        waiting: list[asyncio.Future[Any]] = [*volumes, *containers]
        if waiting:
            with suppress(TimeoutError):
                async with within(self._clock, PATIENCE):
                    await asyncio.wait(waiting)
        root = await self._root()
        if root is not None:
            node["fs"] = _root(root, self._clock.now())
        for pod, document, volume, container in zip(pods, told, volumes, containers, strict=True):
            self._fill(document, pod, _result(pod, volume), _result(pod, container), root)
        return {"node": node, "pods": told}

    def _begin_volumes(self, pod: Pod) -> asyncio.Future[PodStatistics]:
        return self._volumes.begin(pod.uid, lambda: self._measure.volumes(pod.uid))

    def _begin_containers(self, pod: Pod) -> asyncio.Future[Measured]:
        return self._containers.begin(pod.uid, lambda: self._measure.containers(pod))

    async def _root(self) -> FilesystemUsage | None:
        try:
            return await self._measure.root()
        except HostError as error:
            _log.warning("the node's file system cannot be measured", error=error)
            return None

    def _fill(
        self,
        document: Doc,
        pod: Pod,
        volumes: PodStatistics | None,
        containers: Measured | None,
        root: FilesystemUsage | None,
    ) -> None:
        if volumes is not None and (told := _volumes(volumes, self._taken(volumes.taken))):
            document["volume"] = told
        if containers is None or not containers.storage.containers:
            return
        storage, taken = containers.storage, self._taken(containers.taken)
        document["containers"] = [_container(one, root, taken) for one in storage.containers]
        if volumes is not None:
            used = local_storage(pod, used_by(volumes, storage))
            document["ephemeral-storage"] = {**_shared(root, taken), "usedBytes": used}

    def _taken(self, at: float) -> datetime:
        return shifted(self._clock.now(), at - self._clock.monotonic())


def _result(pod: Pod, asked: asyncio.Future[V]) -> V | None:
    if not asked.done() or asked.cancelled():
        _log.warning("a pod is not measured in time", pod=pod.key)
        return None
    if (error := asked.exception()) is not None:
        _log.warning("a pod cannot be measured", pod=pod.key, because=repr(error))
        return None
    return asked.result()


def _pod(pod: Pod) -> Doc:
    document: Doc = {
        "podRef": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "startTime": pod.status.start_time,
        "containers": None,
    }
    return document


def _volumes(measured: PodStatistics, taken: datetime) -> list[Doc]:
    found = []
    for name, one in sorted(measured.volumes.items()):
        document = {"time": to_seconds(taken), **_figures(one.usage), "name": name}
        if one.claim is not None:
            document["pvcRef"] = {"name": one.claim.name, "namespace": one.claim.namespace}
        found.append(document)
    return found


def _container(one: ContainerStorage, root: FilesystemUsage | None, taken: datetime) -> Doc:
    return {
        "name": one.name,
        "startTime": to_seconds(one.created_at),
        "rootfs": {**_shared(root, taken), **_tree(one.layer)},
        "logs": {**_shared(root, taken), **_tree(one.logs)},
    }


def _tree(usage: TreeUsage) -> Doc:
    return {"usedBytes": usage.used_bytes, "inodesUsed": usage.inodes_used}


def _shared(root: FilesystemUsage | None, taken: datetime) -> Doc:
    """Of what is on the node's own file system: the room that all share."""
    document: Doc = {"time": to_seconds(taken)}
    if root is not None:
        document["availableBytes"] = root.available_bytes
        document["capacityBytes"] = root.capacity_bytes
        document["inodesFree"] = root.inodes_free
        document["inodes"] = root.inodes
    return document


def _figures(usage: Usage) -> Doc:
    known = {wire: getattr(usage, field) for wire, field in _FIELDS.items()}
    return {wire: value for wire, value in known.items() if value is not None}


def _root(usage: FilesystemUsage, now: datetime) -> Doc:
    return {
        "time": to_seconds(now),
        "availableBytes": usage.available_bytes,
        "capacityBytes": usage.capacity_bytes,
        "usedBytes": usage.used_bytes,
        "inodesFree": usage.inodes_free,
        "inodes": usage.inodes,
        "inodesUsed": usage.inodes_used,
    }
