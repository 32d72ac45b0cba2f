"""The usage of pods' volumes: measured on request, and cached for a minute.

Counting the files of a directory takes time, so concurrent requests share one count, and a metrics
page shows the last counts while new ones are made for its next reader.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mooring import log
from mooring.errors import MooringError
from mooring.host.blocking import within_volume
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.node.actual import PodMount
from mooring.node.context import NodeContext
from mooring.node.reads import SharedReads
from mooring.plugins.contract import Usage
from mooring.reconcile.poison import POISONED

GOOD_FOR = 60.0  # seconds; the default of --volume-stats-agg-period
PODS_AT_ONCE = 4

_log = log.get("mooring.node.statistics")

_GAUGES = {
    "capacity_bytes": ("Capacity in bytes of the volume", "capacity"),
    "available_bytes": ("Number of available bytes in the volume", "available"),
    "used_bytes": ("Number of used bytes in the volume", "used"),
    "inodes": ("Maximum number of inodes in the volume", "inodes"),
    "inodes_free": ("Number of free inodes in the volume", "inodes_free"),
    "inodes_used": ("Number of used inodes in the volume", "inodes_used"),
}


class MeasuredVolumes(Protocol):
    """Of all pods here: `run.NodeVolumes`."""

    @property
    def context(self) -> NodeContext: ...

    def reach(self, pod_uid: str) -> Mapping[str, PodMount]: ...


class VolumeStatistics(msgspec.Struct, frozen=True):
    usage: Usage
    claim: Key | None  # behind the volume, if there is one


class PodStatistics(msgspec.Struct, frozen=True):
    """By the names in the pod; a volume that cannot be measured is left out."""

    taken: float  # on the monotonic clock
    volumes: Mapping[str, VolumeStatistics]


class Statistics(Collector):
    """`run` runs it until cancelled; without it the metrics stay as they are."""

    def __init__(self, volumes: MeasuredVolumes, good_for: float = GOOD_FOR) -> None:
        self._volumes = volumes
        self._context = volumes.context
        self._good_for = good_for
        self._latest: dict[str, PodStatistics] = {}
        self._reads: SharedReads[PodStatistics] = SharedReads(PODS_AT_ONCE)
        self._asked = asyncio.Event()

    async def run(self) -> None:
        while True:
            await self._asked.wait()
            self._asked.clear()
            await self.gather()

    async def of_pod(self, pod_uid: str) -> PodStatistics:
        """Not older than `good_for`."""
        known = self._latest.get(pod_uid)
        if known is not None and self._context.clock.monotonic() - known.taken < self._good_for:
            return known
        return await self._reads.read(pod_uid, lambda: self._measure(pod_uid))

    async def gather(self) -> None:
        """Of all pods that have volumes."""
        pods = set(self._context.actual.pods())
        for uid in self._latest.keys() - pods:
            del self._latest[uid]
        wanted = sorted(pods)
        ends = await asyncio.gather(*map(self.of_pod, wanted), return_exceptions=True)
        for uid, end in zip(wanted, ends, strict=True):
            if isinstance(end, BaseException):  # a bug in one volume keeps no other unmeasured
                POISONED.add("volume statistics")
                _log.warning("volumes cannot be measured", pod=uid, because=repr(end))

    def collect(self) -> Iterator[Metric]:
        """What is known of volumes behind claims, each once, however many pods use it."""
        self._asked.set()
        by_claim: dict[Key, Usage] = {}
        for pod in self._latest.values():
            for one in pod.volumes.values():
                if one.claim is not None:
                    by_claim.setdefault(one.claim, one.usage)
        for name, (text, field) in _GAUGES.items():
            family = GaugeMetricFamily(
                f"kubelet_volume_stats_{name}", text, labels=["namespace", "persistentvolumeclaim"]
            )
            for claim, usage in by_claim.items():
                family.add_metric([claim.namespace, claim.name], getattr(usage, field) or 0)
            yield family

    async def _measure(self, pod_uid: str) -> PodStatistics:
        taken = self._context.clock.monotonic()
        found: dict[str, VolumeStatistics] = {}
        pod = self._find_pod(pod_uid)
        for name, mount in self._volumes.reach(pod_uid).items():
            usage = await _usage_of(mount)
            if usage is not None:
                found[name] = VolumeStatistics(usage, None if pod is None else _claim(pod, name))
        measured = self._latest[pod_uid] = PodStatistics(taken, found)
        return measured

    def _find_pod(self, pod_uid: str) -> Pod | None:
        wanted = next(self._context.desired.of_pod(pod_uid), None)
        return None if wanted is None else wanted.pods[pod_uid].pod


async def _usage_of(mount: PodMount) -> Usage | None:
    if mount.reach is None:
        return None
    try:
        with within_volume(mount.volume):
            return await mount.reach.usage()
    except MooringError as error:
        _log.warning(
            "a volume cannot be measured", pod=mount.pod_uid, volume=mount.use.name, error=error
        )
        return None


def _claim(pod: Pod, name: str) -> Key | None:
    for volume in pod.spec.volumes:
        if volume.name == name:
            claim = pod.find_claim_name(volume)
            return None if claim is None else Key(pod.namespace, claim)
    return None
