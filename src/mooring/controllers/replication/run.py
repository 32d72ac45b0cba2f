"""The reconciler of replica sets at work: they wake it, and so do their pods."""

from collections.abc import Iterable
from typing import Generic

from mooring.clock import Clock
from mooring.controllers.options import Options
from mooring.controllers.owned_pods.effects import PodEffects
from mooring.controllers.owned_pods.index import OwnedPods
from mooring.controllers.owned_pods.readiness import seconds_until_available
from mooring.controllers.replication.decide import decide, decide_status
from mooring.controllers.replication.effects import Effects, Owner
from mooring.controllers.replication.view import Replicated, ReplicaView, view
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.replica_set import ReplicaSet
from mooring.model.replication_controller import ReplicationController
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, work

WORKERS = 4
_BY_CONTROLLER = "replication: replica sets by their controller"


def build(loops: Loops, _: Options) -> None:
    """Add the controller of replication controllers to the role."""
    _add(loops, ReplicationController, "replication-controller", "replicationmanager")


def build_replica_sets(loops: Loops, _: Options) -> None:
    """Add the controller of replica sets to the role."""
    _add(loops, ReplicaSet, "replicaset-controller", "replicaset")


def _add(loops: Loops, kind: type[Owner], component: str, queue: str) -> None:
    """`component` reports its events, `queue` is the name of its queue."""
    pods = loops.informer(Pod)
    effects = PodEffects(loops.client, loops.recorder(component), pods)
    owners = loops.informer(kind)
    controller = Replication(
        loops.clock, owners, pods, effects, Effects(loops.client, owners, effects)
    )
    loops.add(controller.run, {queue: controller.queue})


class Replication(Generic[Owner]):
    """The informers are shared, and run by the role."""

    def __init__(
        self,
        clock: Clock,
        owners: Informer[Owner],
        pods: Informer[Pod],
        pod_effects: PodEffects,
        effects: Effects[Owner],
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._clock = clock
        self._owners = owners
        self._pods = pods
        self._owned = OwnedPods(owners, pods)
        self._pod_effects = pod_effects
        self._effects = effects
        owners.add_index(_BY_CONTROLLER, _controller)
        owners.on_change(self._on_owner)
        pods.on_change(self._on_pod)

    async def run(self) -> None:
        await work((self._owners, self._pods), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        """The status last: it shows what became of the plan."""
        owner = self._owners.get(key)
        if owner is None:
            return Settled()
        failed = await self._effects.perform(decide(self._view(owner)))
        seen = self._view(owner)
        await self._effects.save(owner, decide_status(seen, failed))
        if failed is not None:
            raise failed.error
        wait = seconds_until_available(seen.pods, owner.spec.min_ready_seconds, seen.now)
        return Settled() if wait is None else Again(wait)

    def _view(self, owner: Owner) -> ReplicaView:
        return view(
            owner,
            self._owned.candidates(owner),
            self._siblings(owner),
            self._pod_effects.doomed,
            self._clock.now(),
        )

    def _siblings(self, owner: Owner) -> Iterable[Pod]:
        """The pods of all that have the same controller, which is a deployment."""
        controller = owner.metadata.find_controller()
        if controller is None:
            return self._owned.of(owner.uid)
        sets = self._owners.by_index(_BY_CONTROLLER, controller.uid)
        return (pod for each in sets for pod in self._owned.of(each.uid))

    def _on_owner(self, _before: Owner | None, after: Owner | None) -> None:
        if after is not None:
            self.queue.add(after.key)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        for key in self._owned.concerned(before, after):
            self.queue.add(key)


def _controller(owner: Replicated) -> list[str]:
    controller = owner.metadata.find_controller()
    return [] if controller is None else [controller.uid]
