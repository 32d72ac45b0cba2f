"""The loop over pods: each is populated, which finds the volumes that it wants.

A pod is populated when it is added or changes, when a claim or driver of it changes, and now and
then if its volumes depend on API objects or claims (`resync.py`); a failed lookup is retried.
"""

import asyncio

from mooring.model.backoff import Backoff
from mooring.model.pod import Pod
from mooring.node.claim_watches import ClaimWatches
from mooring.node.context import NodeContext
from mooring.node.desired import WantedVolume
from mooring.node.populate import Populator
from mooring.node.restart_gate import RestartGate
from mooring.node.resync import JITTER, POLL_SECONDS, resync_seconds
from mooring.node.volume_loop import VolumeLoop
from mooring.node.waits import Waits
from mooring.plugins.contract import VolumeError
from mooring.plugins.csi.source import find_driver_name
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, serve

POD_WORKERS = 16
POPULATE_AGAIN = Backoff(first=0.1, cap=10.0)  # a claim that is about to be bound takes no longer


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
        self._claims = ClaimWatches(
            context.client, context.clock, context.host.rng, self._populate_again
        )
        self._known: dict[str, Pod] = {}  # pods that may have volumes
        self._requested: set[str] = set()  # of them, those with a pending request to look at them
        self._awaited: set[str] = set()  # of them, those with a waiting caller
        self._news: set[str] = set()  # of them, those with a claim or driver that has changed

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._claims.run())
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

    def release(self, pod_uid: str) -> None:
        """No container of the pod is left: take its volumes away."""
        self._known.pop(pod_uid, None)
        self._requested.discard(pod_uid)
        self._awaited.discard(pod_uid)
        self._news.discard(pod_uid)
        self._claims.unfollow(pod_uid)
        self._volumes.forget(pod_uid)
        self._waits.failed(pod_uid, ())
        self._context.desired.drop_pod(pod_uid)
        self._volumes.look_at_pod(pod_uid)
        self._gate.seen(pod_uid)

    def drivers_changed(self) -> None:
        """A CSIDriver may have changed: perhaps its volumes' content is to be kept up to date."""
        for wanted in tuple(self._context.desired.volumes()):
            if find_driver_name(wanted.use) is not None:
                for pod_uid in wanted.pods:
                    self._populate_again(pod_uid)

    def _populate_again(self, pod_uid: str) -> None:
        self._news.add(pod_uid)
        self.queue.add(pod_uid)

    # one pod

    async def _populate(self, pod_uid: str) -> Verdict:
        pod = self._known.get(pod_uid)
        if pod is None:
            return Settled()
        is_requested, is_awaited = pod_uid in self._requested, pod_uid in self._awaited
        self._requested.discard(pod_uid)
        has_news = pod_uid in self._news
        self._awaited.discard(pod_uid)
        self._news.discard(pod_uid)
        populated = await self._populator.populate(pod)
        if pod_uid not in self._known:  # released meanwhile
            return Settled()
        self._populator.want(pod, populated.volumes)
        self._judge(pod_uid, is_sure=not populated.errors)
        self._waits.failed(pod_uid, populated.errors)
        if populated.errors:
            if not is_awaited:
                raise VolumeError("; ".join(populated.errors))
            return Again(
                self._jittered(POLL_SECONDS)
            )  # the waiting caller has its error, and will retry
        growing = [one.claim for one in populated.volumes if one.claim and one.may_grow_here]
        self._claims.follow(pod_uid, growing)
        following = [one for one in populated.volumes if one.wants_remount]
        if has_news:  # a growth that failed for being too early is due now
            self._volumes.retry(one.name for one in populated.volumes if one.must_grow_here)
        for one in following if is_requested or not has_news else ():
            self._volumes.set_up_again(one.name, pod_uid, "pod" if is_requested else "resync")
        may_change = following or any(one.wanted.use.volume for one in populated.volumes)
        if not may_change:
            return Settled()
        polls_claims = not self._claims.are_watched(claim.key for claim in growing)
        uses = [one.wanted.use for one in following]
        return Again(self._jittered(resync_seconds(uses, polls_claims=polls_claims)))

    def _jittered(self, seconds: float) -> float:
        return seconds * (1 + JITTER * self._context.host.rng.random())

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
