"""The reconciler of replication controllers at work: they wake it, and so do their pods."""

from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.options import Options
from mooring.controllers.replication.decide import decide, seconds_until_available
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
_OWNED = "replication: pods by owner"
_FREE = "replication: pods of nobody by namespace"
_IN_NAMESPACE = "replication: controllers by namespace"


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
        self._effects = Effects(client, recorder, controllers, pods)
        controllers.add_index(_IN_NAMESPACE, lambda controller: [controller.namespace])
        pods.add_index(_OWNED, _owner)
        pods.add_index(_FREE, _free_in)
        controllers.on_change(self._on_controller)
        pods.on_change(self._on_pod)

    async def run(self) -> None:
        await work((self._controllers, self._pods), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        controller = self._controllers.get(key)
        if controller is None:
            return Settled()
        pods = [
            *self._pods.by_index(_OWNED, controller.uid),
            *self._pods.by_index(_FREE, controller.namespace),
        ]
        seen = view(controller, pods, self._effects.doomed, self._clock.now())
        await self._effects.perform(decide(seen))
        wait = seconds_until_available(seen)
        return Settled() if wait is None else Again(wait)

    def _on_controller(
        self, _before: ReplicationController | None, after: ReplicationController | None
    ) -> None:
        if after is not None:
            self.queue.add(after.key)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        """Before and after: a pod may change hands, and its former controller has to know."""
        if before is not None and (after is None or after.is_deleting):
            self._effects.doomed.discard(before.uid)
        for pod in (before, after):
            if pod is None:
                continue
            for controller in self._controllers.by_index(_IN_NAMESPACE, pod.namespace):
                if _concerns(pod, controller):
                    self.queue.add(controller.key)


def _concerns(pod: Pod, controller: ReplicationController) -> bool:
    owner = pod.metadata.find_controller()
    if owner is None:
        return controller.selects(pod.metadata.labels)
    return owner.uid == controller.uid


def _owner(pod: Pod) -> list[str]:
    owner = pod.metadata.find_controller()
    return [] if owner is None else [owner.uid]


def _free_in(pod: Pod) -> list[str]:
    return [pod.namespace] if pod.metadata.find_controller() is None else []
