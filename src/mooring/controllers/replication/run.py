"""The reconciler of replication controllers at work: they wake it, and so do their pods."""

from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.options import Options
from mooring.controllers.owned_pods.effects import PodEffects
from mooring.controllers.owned_pods.index import OwnedPods
from mooring.controllers.owned_pods.readiness import seconds_until_available
from mooring.controllers.replication.decide import decide
from mooring.controllers.replication.effects import Effects
from mooring.controllers.replication.view import view
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.replication_controller import ReplicationController
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, work

COMPONENT: Final = "replication-controller"
"""The reporting component of its events."""

WORKERS = 4


def build(loops: Loops, _: Options) -> None:
    """Add the replication controller to the role."""
    replicated, pods = loops.informer(ReplicationController), loops.informer(Pod)
    recorder = loops.recorder(COMPONENT)
    controller = Replication(loops.client, loops.clock, recorder, replicated, pods)
    loops.add(controller.run, {controller.queue_name: controller.queue})


class Replication:
    """The informers are shared, and run by the role."""

    queue_name: Final = "replicationmanager"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        controllers: Informer[ReplicationController],
        pods: Informer[Pod],
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._clock = clock
        self._controllers = controllers
        self._pods = pods
        self._owned = OwnedPods(controllers, pods)
        self._pod_effects = PodEffects(client, recorder, pods)
        self._effects = Effects(client, controllers, self._pod_effects)
        controllers.on_change(self._on_controller)
        pods.on_change(self._on_pod)

    async def run(self) -> None:
        await work((self._controllers, self._pods), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        controller = self._controllers.get(key)
        if controller is None:
            return Settled()
        pods, now = self._owned.candidates(controller), self._clock.now()
        seen = view(controller, pods, self._pod_effects.doomed, now)
        await self._effects.perform(decide(seen))
        wait = seconds_until_available(seen.pods, controller.spec.min_ready_seconds, now)
        return Settled() if wait is None else Again(wait)

    def _on_controller(
        self, _before: ReplicationController | None, after: ReplicationController | None
    ) -> None:
        if after is not None:
            self.queue.add(after.key)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        for key in self._owned.concerned(before, after):
            self.queue.add(key)
