"""The daemon set controller at work: sets wake it, their pods and revisions, and the nodes."""

from typing import Final

import msgspec

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.daemonset.decide.daemon_set import decide
from mooring.controllers.daemonset.effects import Effects
from mooring.controllers.daemonset.failures import Failures
from mooring.controllers.daemonset.view import DaemonSetView
from mooring.controllers.options import Options
from mooring.controllers.owned_pods.effects import PodEffects
from mooring.controllers.owned_pods.index import OwnedPods
from mooring.controllers.owned_pods.readiness import seconds_until_available
from mooring.controllers.revisions.effects import RevisionEffects
from mooring.controllers.revisions.index import OwnedRevisions
from mooring.model.controller_revision import ControllerRevision
from mooring.model.daemon_set import DaemonSet
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Synced, Verdict, work

COMPONENT: Final = "daemonset-controller"
"""The reporting component of its events."""

WORKERS = 2


class Informers(msgspec.Struct, frozen=True):
    """They are shared, and run by the role."""

    sets: Informer[DaemonSet]
    pods: Informer[Pod]
    nodes: Informer[Node]
    revisions: Informer[ControllerRevision]

    def all(self) -> tuple[Synced, ...]:
        return (self.sets, self.pods, self.nodes, self.revisions)


def build(loops: Loops, _: Options) -> None:
    """Add the daemon set controller to the role."""
    informers = Informers(
        loops.informer(DaemonSet),
        loops.informer(Pod),
        loops.informer(Node),
        loops.informer(ControllerRevision),
    )
    controller = DaemonSets(loops.client, loops.clock, loops.recorder(COMPONENT), informers)
    loops.add(controller.run, {controller.queue_name: controller.queue})


class DaemonSets:
    queue_name: Final = "daemonset"

    def __init__(
        self, client: Client, clock: Clock, recorder: Recorder, informers: Informers
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._clock = clock
        self._informers = informers
        self._owned = OwnedPods(informers.sets, informers.pods)
        self._revisions = OwnedRevisions(DaemonSet.resource.kind, informers.revisions)
        self._failures = Failures(clock)
        self._pods = PodEffects(client, recorder, informers.pods)
        kept = RevisionEffects(client, informers.revisions)
        self._effects = Effects(client, recorder, informers.sets, self._pods, kept, self._failures)
        informers.sets.on_change(self._on_set)
        informers.pods.on_change(self._on_pod)
        informers.nodes.on_change(self._on_node)
        informers.revisions.on_change(self._on_revision)

    async def run(self) -> None:
        await work(self._informers.all(), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        set_ = self._informers.sets.get(key)
        if set_ is None:
            return Settled()
        seen = self._view(set_)
        await self._effects.perform(decide(seen))
        own = self._owned.of(set_.uid)
        soon = seconds_until_available(own, set_.spec.min_ready_seconds, seen.now)
        waits = [*self._failures.waits(set_).values(), *([] if soon is None else [soon])]
        return Again(min(waits)) if waits else Settled()

    def _view(self, set_: DaemonSet) -> DaemonSetView:
        return DaemonSetView(
            set_,
            tuple(self._informers.nodes.all()),
            tuple(self._owned.candidates(set_)),
            self._revisions.of(set_),
            self._failures.waits(set_),
            frozenset(self._pods.doomed),
            self._clock.now(),
        )

    def _on_set(self, _before: DaemonSet | None, after: DaemonSet | None) -> None:
        if after is not None:
            self.queue.add(after.key)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        for key in self._owned.concerned(before, after):
            self.queue.add(key)

    def _on_revision(
        self, before: ControllerRevision | None, after: ControllerRevision | None
    ) -> None:
        for key in self._revisions.concerned(before, after):
            self.queue.add(key)

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        """Only what decides whether pods fit; heartbeats are many."""
        if before is not None and after is not None and _kind_of(before) == _kind_of(after):
            return
        for set_ in self._informers.sets.all():
            self.queue.add(set_.key)


def _kind_of(node: Node) -> tuple[object, ...]:
    return (node.uid, node.metadata.labels, node.spec.taints)
