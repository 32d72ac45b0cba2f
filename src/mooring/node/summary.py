"""`/stats/summary`: how full the volumes of this node's pods are, in the kubelet's document.

Mooring measures volumes and the file system of the node's root directory. Figures that it does not
measure (processors, memory, network) are left out, as a kubelet leaves out what it does not know.

A volume that hangs holds up nobody: after `PATIENCE` its pod is told without volumes, and measuring
it goes on for whoever asks next.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime

from mooring import log
from mooring.clock import Clock
from mooring.errors import HostError
from mooring.host.usage import FilesystemUsage
from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.model.timestamp import shifted, to_seconds
from mooring.node.statistics import PodStatistics
from mooring.plugins.contract import Usage
from mooring.reconcile.deadline import within

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


class Summary:
    def __init__(
        self,
        node: str,
        measure: Callable[[str], Awaitable[PodStatistics]],
        pods: Callable[[], Iterable[Pod]],
        root_usage: Callable[[], Awaitable[FilesystemUsage]],
        clock: Clock,
    ) -> None:
        self._node = node
        self._measure = measure
        self._pods = pods
        self._root_usage = root_usage
        self._clock = clock
        self._started = clock.now()
        self._measuring: dict[str, asyncio.Future[PodStatistics]] = {}  # by uid of the pod

    async def run(self) -> None:
        """Until cancelled; with it ends what is being measured."""
        try:
            await asyncio.Event().wait()
        finally:
            for measuring in list(self._measuring.values()):
                measuring.cancel()

    async def document(self, *, only_cpu_and_memory: bool) -> Doc:
        """As old as the statistics cache it; a pod that cannot be measured now has no volumes."""
        pods = sorted(self._pods(), key=lambda pod: pod.key)
        told: list[Doc] = [_pod(pod) for pod in pods]
        node: Doc = {"nodeName": self._node, "startTime": to_seconds(self._started)}
        if only_cpu_and_memory:
            return {"node": node, "pods": told}
        measuring = [self._begin(pod.uid) for pod in pods]
        if measuring:
            with suppress(TimeoutError):
                async with within(self._clock, PATIENCE):
                    await asyncio.wait(measuring)
        for pod, document, measured in zip(pods, told, measuring, strict=True):
            if not measured.done() or measured.cancelled():
                _log.warning("volumes are not measured in time", pod=pod.key)
            elif (error := measured.exception()) is not None:
                _log.warning("volumes cannot be measured", pod=pod.key, because=repr(error))
            elif volumes := _volumes(measured.result(), self._taken(measured.result())):
                document["volume"] = volumes
        try:
            node["fs"] = _root(await self._root_usage(), self._clock.now())
        except HostError as error:
            _log.warning("the node's file system cannot be measured", error=error)
        return {"node": node, "pods": told}

    def _begin(self, uid: str) -> asyncio.Future[PodStatistics]:
        """Measure a pod's volumes, unless that is under way."""
        known = self._measuring.get(uid)
        if known is not None:
            return known
        measuring = self._measuring[uid] = asyncio.ensure_future(self._measure(uid))

        def ended(_: object) -> None:
            del self._measuring[uid]
            if not measuring.cancelled():
                measuring.exception()  # retrieved, also when nobody waits any more

        measuring.add_done_callback(ended)
        return measuring

    def _taken(self, measured: PodStatistics) -> datetime:
        return shifted(self._clock.now(), measured.taken - self._clock.monotonic())


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
