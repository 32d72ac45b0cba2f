"""The reconciler of ephemeral volumes at work: new pods wake it, and claims that vanish."""

from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.ephemeral.decide import decide
from mooring.controllers.ephemeral.effects import Effects
from mooring.controllers.ephemeral.metrics import EphemeralCounts
from mooring.controllers.ephemeral.view import has_ephemeral_volume, needs, view
from mooring.controllers.options import Options
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.pods_by_claim import index_by_claim, pods_using
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Settled, Verdict, work

COMPONENT: Final = "ephemeral_volume"
"""The reporting component of its events."""

WORKERS = 16


def build(loops: Loops, _: Options) -> None:
    """Add the reconciler of ephemeral volumes to the role."""
    pods, claims = loops.informer(Pod), loops.informer(Claim)
    recorder = loops.recorder(COMPONENT)
    controller = EphemeralVolumes(loops.client, loops.clock, recorder, pods, claims)
    loops.add(controller.run, {controller.queue_name: controller.queue})
    loops.count(controller.counts)


class EphemeralVolumes:
    """The informers are shared, and run by the role."""

    queue_name: Final = "ephemeral_volume"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        pods: Informer[Pod],
        claims: Informer[Claim],
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._pods = pods
        self._claims = claims
        self._effects = Effects(client, recorder, claims)
        index_by_claim(pods)
        pods.on_change(self._on_pod)
        claims.on_change(self._on_claim)

    @property
    def counts(self) -> EphemeralCounts:
        return self._effects.counts

    async def run(self) -> None:
        await work((self._pods, self._claims), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        pod = self._pods.get(key)
        if pod is not None:
            await self._effects.perform(decide(view(pod, self._claims.get)))
        return Settled()

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        """The volumes of a pod never change, and its deletion is the garbage collector's."""
        if before is None and after is not None and has_ephemeral_volume(after):
            self.queue.add(after.key)

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        """Whether by mistake or on purpose: a claim that a pod still needs is made again."""
        if before is not None and after is None:
            for pod in pods_using(self._pods, before.key):
                if needs(pod, before.key):
                    self.queue.add(pod.key)
