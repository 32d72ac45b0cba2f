"""The reconciler of deployments at work: they, their replica sets and pods that end wake it."""

from collections.abc import Iterator
from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.deployment.decide.deployment import decide, decide_failed
from mooring.controllers.deployment.decide.status import seconds_until_deadline
from mooring.controllers.deployment.effects import Effects
from mooring.controllers.deployment.plan import NotCreated
from mooring.controllers.deployment.view import DeploymentView
from mooring.controllers.options import Options
from mooring.controllers.owned_pods.index import OwnedPods
from mooring.model.deployment import Deployment, StrategyType
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.replica_set import ReplicaSet
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, work

COMPONENT: Final = "deployment-controller"
"""The reporting component of its events."""

WORKERS = 4
_BY_CONTROLLER = "deployment: replica sets by their controller"
_FREE = "deployment: replica sets of nobody by namespace"
_IN_NAMESPACE = "deployment: deployments by namespace"


def build(loops: Loops, _: Options) -> None:
    """Add the deployment controller to the role."""
    controller = Deployments(
        loops.client,
        loops.clock,
        loops.recorder(COMPONENT),
        loops.informer(Deployment),
        loops.informer(ReplicaSet),
        loops.informer(Pod),
    )
    loops.add(controller.run, {controller.queue_name: controller.queue})


class Deployments:
    """The informers are shared, and run by the role."""

    queue_name: Final = "deployment"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        deployments: Informer[Deployment],
        sets: Informer[ReplicaSet],
        pods: Informer[Pod],
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._clock = clock
        self._deployments = deployments
        self._sets = sets
        self._pods = pods
        self._owned = OwnedPods(sets, pods)
        self._effects = Effects(client, recorder, deployments, sets)
        deployments.add_index(_IN_NAMESPACE, _namespace)
        sets.add_index(_BY_CONTROLLER, _controller)
        sets.add_index(_FREE, _free_in)
        deployments.on_change(self._on_deployment)
        sets.on_change(self._on_set)
        pods.on_change(self._on_pod)

    async def run(self) -> None:
        informers = (self._deployments, self._sets, self._pods)
        await work(informers, self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        deployment = self._deployments.get(key)
        if deployment is None:
            return Settled()
        seen = self._view(deployment)
        outcome = await self._effects.perform(decide(seen))
        if outcome is not None:
            await self._effects.perform(decide_failed(seen, outcome))
            if isinstance(outcome, NotCreated):
                raise outcome.error
        known = self._deployments.get(key) or deployment
        wait = seconds_until_deadline(known, self._clock.now())
        return Settled() if wait is None else Again(wait)

    def _view(self, deployment: Deployment) -> DeploymentView:
        sets = (
            *self._sets.by_index(_BY_CONTROLLER, deployment.uid),
            *self._sets.by_index(_FREE, deployment.namespace),
        )
        unfinished = {
            each.uid: sum(not pod.is_finished for pod in self._owned.of(each.uid))
            for each in sets
            if deployment.spec.strategy.type is StrategyType.RECREATE
        }
        return DeploymentView(deployment, sets, unfinished, self._clock.now())

    def _on_deployment(self, _before: Deployment | None, after: Deployment | None) -> None:
        if after is not None:
            self.queue.add(after.key)

    def _on_set(self, before: ReplicaSet | None, after: ReplicaSet | None) -> None:
        """Before and after: a replica set may change hands."""
        for each in (before, after):
            if each is not None:
                for key in self._concerned(each):
                    self.queue.add(key)

    def _concerned(self, each: ReplicaSet) -> Iterator[Key]:
        reference = each.metadata.find_controller()
        if reference is not None:
            deployment = self._deployments.get(Key(each.namespace, reference.name))
            if deployment is not None and deployment.uid == reference.uid:
                yield deployment.key
            return
        for deployment in self._deployments.by_index(_IN_NAMESPACE, each.namespace):
            if deployment.selector().matches(each.metadata.labels):
                yield deployment.key

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        """Those that recreate their pods wait until the old ones have ended or are gone."""
        if before is None or (after is not None and not after.is_finished):
            return
        for key in self._owned.concerned(before, None):
            each = self._sets.get(key)
            for concerned in () if each is None else self._concerned(each):
                self.queue.add(concerned)


def _namespace(deployment: Deployment) -> list[str]:
    return [deployment.namespace]


def _controller(each: ReplicaSet) -> list[str]:
    controller = each.metadata.find_controller()
    return [] if controller is None else [controller.uid]


def _free_in(each: ReplicaSet) -> list[str]:
    return [each.namespace] if each.metadata.find_controller() is None else []
