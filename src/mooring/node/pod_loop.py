"""The loop over pods: each is populated, which finds the volumes that it wants.

A pod is populated when it is added or changes, and again once a minute if its volumes depend on API
objects or claims; a failed lookup is retried sooner.
"""

import asyncio

from mooring.model.backoff import Backoff
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.node.context import NodeContext
from mooring.node.desired import WantedVolume
from mooring.node.populate import Populator
from mooring.node.restart_gate import RestartGate
from mooring.node.volume_loop import VolumeLoop
from mooring.node.waits import Waits
from mooring.plugins.contract import VolumeError
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, serve

POD_WORKERS = 16
POPULATE_AGAIN = Backoff(first=0.1, cap=10.0)  # a claim that is about to be bound takes no longer
RESYNC_SECONDS = 60.0  # after which claims are read again, and content is brought up to date
RESYNC_JITTER = 0.5  # of it, at most, on top: not all pods at once


class PodLoop:
    """`run` runs it until cancelled."""

    def __init__(
        self, context: NodeContext, volumes: VolumeLoop, waits: Waits, gate: RestartGate
    ) -> None:
        self.queue: KeyedQueue[str] = KeyedQueue(context.clock, POPULATE_AGAIN)
        self._context = context
        self._volumes = volumes
        self._waits = waits
        self._gate = gate
        self._populator = Populator(context)
        self._known: dict[str, Pod] = {}  # pods that may have volumes
        self._requested: set[str] = set()  # of them, those with a pending request to look at them
        self._awaited: set[str] = set()  # of them, those with a waiting caller

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(POD_WORKERS):
                tasks.create_task(serve(self.queue, self._populate))

    def knows(self, pod_uid: str) -> bool:
        return pod_uid in self._known

    def want(self, pod: Pod, *, is_awaited: bool = False) -> None:
        """Bring the pod's volumes; said again, look whether their content is up to date."""
        self._known[pod.uid] = pod
        self._requested.add(pod.uid)
        if is_awaited:
            self._awaited.add(pod.uid)
        self.queue.add(pod.uid)

    def refresh(self, pod_uid: str) -> None:
        """An object has changed that volumes of the pod show, or wait for."""
        for wanted in tuple(self._context.desired.of_pod(pod_uid)):
            if self._follows_the_api(wanted):
                self._volumes.set_up_again(wanted.name, pod_uid, "change")
                self._volumes.retry((wanted.name,))

    def claim_changed(self, claim: Key) -> None:
        """Read the claim again for the pods that use it, before the next resync does."""
        for uid, pod in self._known.items():
            if claim in pod.claim_keys():
                self.queue.add(uid)

    def release(self, pod_uid: str) -> None:
        """No container of the pod is left: take its volumes away."""
        self._known.pop(pod_uid, None)
        self._requested.discard(pod_uid)
        self._awaited.discard(pod_uid)
        self._volumes.forget(pod_uid)
        self._waits.failed(pod_uid, ())
        self._context.desired.drop_pod(pod_uid)
        self._volumes.look_at_pod(pod_uid)
        self._gate.seen(pod_uid)

    # one pod

    async def _populate(self, pod_uid: str) -> Verdict:
        pod = self._known.get(pod_uid)
        if pod is None:
            return Settled()
        is_requested, is_awaited = pod_uid in self._requested, pod_uid in self._awaited
        self._requested.discard(pod_uid)
        self._awaited.discard(pod_uid)
        populated = await self._populator.populate(pod)
        if pod_uid not in self._known:  # released meanwhile
            return Settled()
        self._populator.want(pod, populated.volumes)
        self._judge(pod_uid, is_sure=not populated.errors)
        self._waits.failed(pod_uid, populated.errors)
        if populated.errors:
            if not is_awaited:
                raise VolumeError("; ".join(populated.errors))
            return Again(self._resync_pause())  # the waiting caller has its error, and will retry
        following = [one for one in populated.volumes if one.wants_remount]
        for one in following:
            self._volumes.set_up_again(one.name, pod_uid, "pod" if is_requested else "resync")
        may_change = following or any(one.wanted.use.volume for one in populated.volumes)
        return Again(self._resync_pause()) if may_change else Settled()

    def _resync_pause(self) -> float:
        return RESYNC_SECONDS * (1 + RESYNC_JITTER * self._context.host.rng.random())

    def _judge(self, pod_uid: str, *, is_sure: bool) -> None:
        """What a pod has, but is not known to want, stays while it may want more than is known."""
        if is_sure:
            self._volumes.sure(pod_uid)
        else:
            self._volumes.unsure(pod_uid)
        self._gate.seen(pod_uid)

    def _follows_the_api(self, wanted: WantedVolume) -> bool:
        try:
            return self._context.registry.find(wanted.use).wants_remount(wanted.use)
        except VolumeError:
            return False
