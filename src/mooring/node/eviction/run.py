"""Evicting pods that exceed a limit of storage: of an emptyDir, of a container, of all together.

No file system enforces these limits, so usage is measured periodically: of pods that have one, and
only while there are any. A pod whose volume hangs is waited for alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from mooring import log
from mooring.client.contract import Part
from mooring.errors import MooringError, NotFound
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.kubernetes_version import KubernetesVersion
from mooring.model.pod import Pod
from mooring.node.container_statistics import ContainerStatistics, Measured
from mooring.node.context import NodeContext
from mooring.node.eviction.decide import find_excess, has_storage_limit, may_exceed
from mooring.node.eviction.measured import used_by
from mooring.node.eviction.view import Used
from mooring.node.kubelet import Kubelet
from mooring.node.pods.storage import NO_STORAGE
from mooring.node.statistics import PodStatistics, Statistics
from mooring.reconcile.loops import Loops
from mooring.reconcile.poison import set_aside
from mooring.reconcile.recorder import reference_to
from mooring.reconcile.worker import lasting

LOOK_SECONDS = 10.0
JITTER = 0.1
FRESH = LOOK_SECONDS / 2  # what was measured for another reader is taken at this age
EVICTED = "Evicted"

_log = log.get("mooring.node.eviction")


def build(
    loops: Loops,
    kubelet: Kubelet,
    volumes: Statistics,
    containers: ContainerStatistics,
    release: KubernetesVersion,
) -> "Evictions":
    informer = kubelet.workers.informer
    evictions = Evictions(
        kubelet.volumes.context,
        informer.all,
        volumes.of_pod,
        containers.of_pod,
        with_sidecars=release.limits_storage_of_sidecars,
    )
    informer.on_change(evictions.pod_changed)
    loops.add(partial(lasting, "evictions", loops.clock, evictions.run))
    return evictions


class Evictions:
    """`run` runs it until cancelled."""

    def __init__(
        self,
        context: NodeContext,
        pods: Callable[[], Iterable[Pod]],
        measure_volumes: Callable[[str], Awaitable[PodStatistics]],
        measure_containers: Callable[[Pod, float], Awaitable[Measured]],
        *,
        with_sidecars: bool,
    ) -> None:
        self._context = context
        self._pods = pods
        self._measure_volumes = measure_volumes
        self._measure_containers = measure_containers
        self._with_sidecars = with_sidecars
        self._has_work = asyncio.Event()
        self._at_work: set[str] = set()  # uids of pods that are being looked at

    def pod_changed(self, _: Pod | None, after: Pod | None) -> None:
        if after is not None and _is_watched(after):
            self._has_work.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as looks:
            while True:
                await self._has_work.wait()
                luck = 1 + JITTER * self._context.host.rng.random()
                await self._context.clock.sleep(LOOK_SECONDS * luck)
                if any(map(_is_watched, self._pods())):
                    looks.create_task(self.look())
                else:
                    self._has_work.clear()

    async def look(self) -> None:
        """Evict the pods that exceed a limit. A failure is retried at the next round.

        Pods that an earlier look still waits for are left to it.
        """
        pods = [pod for pod in self._pods() if _is_watched(pod) and pod.uid not in self._at_work]
        self._at_work.update(pod.uid for pod in pods)
        await asyncio.gather(*map(self._look_at, pods))

    async def _look_at(self, pod: Pod) -> None:
        try:
            used = await self._measure(pod)
            message = find_excess(pod, used, with_sidecars=self._with_sidecars)
            if message is not None:
                await self._evict(pod, message)
        except MooringError as error:
            _log.warning("a pod cannot be evicted", pod=pod.key, because=error)
        except Exception:  # noqa: BLE001  a bug met by one pod must not save the others
            set_aside("evictions", pod.key)
        finally:
            self._at_work.discard(pod.uid)

    async def _measure(self, pod: Pod) -> Used:
        storage = NO_STORAGE
        if has_storage_limit(pod):
            storage = (await self._measure_containers(pod, FRESH)).storage
        return used_by(await self._measure_volumes(pod.uid), storage)

    async def _evict(self, pod: Pod, message: str) -> None:
        """It fails for good; its worker sees that, and ends it. Raises: MooringError."""
        try:
            newest = await self._context.client.get(Pod, pod.key)
        except NotFound:
            return
        if newest.uid != pod.uid or newest.is_finished or newest.is_deleting:
            return
        await self._context.client.patch(newest, _evicted(message), Part.STATUS)
        self._context.recorder.record(reference_to(newest), EventType.WARNING, EVICTED, message)
        _log.warning("pod evicted", pod=pod.key, because=message.strip())


def _is_watched(pod: Pod) -> bool:
    return may_exceed(pod) and not pod.is_finished and not pod.is_deleting


def _evicted(message: str) -> Doc:
    return {"status": {"phase": "Failed", "reason": EVICTED, "message": message}}
