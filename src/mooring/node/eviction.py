"""Evicting pods that exceed the `sizeLimit` of an emptyDir.

The file system does not enforce the limit, so usage is measured periodically. Only pods with a
limit are measured.
"""

from collections.abc import Mapping

from mooring import log
from mooring.client.contract import Part
from mooring.errors import MooringError, NotFound
from mooring.model import quantity
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.pod import Pod
from mooring.node.context import NodeContext
from mooring.node.statistics import Statistics
from mooring.reconcile.poison import set_aside
from mooring.reconcile.recorder import reference_to

LOOK_SECONDS = 10.0
JITTER = 0.1
EVICTED = "Evicted"
SYSTEM_CRITICAL = 2_000_000_000  # from this priority on, a pod stays whatever it does

_log = log.get("mooring.node.eviction")


def find_excess(pod: Pod, used: Mapping[str, int]) -> str | None:
    """The eviction message, None when the pod is within its limits. `used` is bytes by volume."""
    if pod.spec.priority >= SYSTEM_CRITICAL:
        return None
    for volume in pod.spec.volumes:
        source = volume.empty_dir
        if source is None or source.size_limit is None:
            continue
        limit = quantity.parse(source.size_limit)
        if 0 < limit.value < used.get(volume.name, 0):
            return f'Usage of EmptyDir volume "{volume.name}" exceeds the limit "{limit}". '
    return None


def has_limit(pod: Pod) -> bool:
    sources = (volume.empty_dir for volume in pod.spec.volumes)
    return any(source is not None and source.size_limit is not None for source in sources)


class Evictions:
    """`run` runs it until cancelled."""

    def __init__(self, context: NodeContext, statistics: Statistics) -> None:
        self._context = context
        self._statistics = statistics

    async def run(self) -> None:
        while True:
            luck = 1 + JITTER * self._context.host.rng.random()
            await self._context.clock.sleep(LOOK_SECONDS * luck)
            await self.look()

    async def look(self) -> None:
        """Evict the pods that exceed a limit. A failure is retried at the next round."""
        for pod in self._limited():
            try:
                measured = await self._statistics.of_pod(pod.uid)
                used = {name: one.usage.used or 0 for name, one in measured.volumes.items()}
                message = find_excess(pod, used)
                if message is not None:
                    await self._evict(pod, message)
            except MooringError as error:
                _log.warning("a pod cannot be evicted", pod=pod.key, because=error)
            except Exception:  # noqa: BLE001  a bug met by one pod must not save the others
                set_aside("evictions", pod.key)

    def _limited(self) -> tuple[Pod, ...]:
        pods = {
            uid: by.pod
            for wanted in self._context.desired.volumes()
            for uid, by in wanted.pods.items()
        }
        return tuple(pod for pod in pods.values() if has_limit(pod))

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
        _log.warning("pod evicted", pod=pod.key, because=message)


def _evicted(message: str) -> Doc:
    return {"status": {"phase": "Failed", "reason": EVICTED, "message": message}}
