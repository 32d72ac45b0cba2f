"""`/stats/summary`: how full the volumes of this node's pods are, in the kubelet's document.

Mooring measures volumes and the file system of the node's root directory. Figures that it does not
measure (processors, memory, network) are left out, as a kubelet leaves out what it does not know.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
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

_log = log.get("mooring.node.summary")

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

    async def document(self, *, only_cpu_and_memory: bool) -> Doc:
        """As old as the statistics cache it; a pod that cannot be measured has no volumes."""
        pods = sorted(self._pods(), key=lambda pod: pod.key)
        told: list[Doc] = [_pod(pod) for pod in pods]
        node: Doc = {"nodeName": self._node, "startTime": to_seconds(self._started)}
        if only_cpu_and_memory:
            return {"node": node, "pods": told}
        ends = await asyncio.gather(
            *(self._measure(pod.uid) for pod in pods), return_exceptions=True
        )
        for pod, document, end in zip(pods, told, ends, strict=True):
            if isinstance(end, BaseException):
                _log.warning("volumes cannot be measured", pod=pod.key, because=repr(end))
            elif volumes := _volumes(end, self._taken(end)):
                document["volume"] = volumes
        try:
            node["fs"] = _root(await self._root_usage(), self._clock.now())
        except HostError as error:
            _log.warning("the node's file system cannot be measured", error=error)
        return {"node": node, "pods": told}

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
