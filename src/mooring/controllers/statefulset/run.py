"""The stateful set controller at work: sets wake it, their pods, claims, revisions and classes."""

from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.options import Options
from mooring.controllers.owned_pods.readiness import seconds_until_available
from mooring.controllers.statefulset.decide.stateful_set import decide
from mooring.controllers.statefulset.effects import Effects
from mooring.controllers.statefulset.informers import Informers, Picture, informers_of
from mooring.model.claim import Claim
from mooring.model.controller_revision import ControllerRevision
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.stateful_set import StatefulSet
from mooring.model.storage_class import StorageClass
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, work

COMPONENT: Final = "statefulset-controller"
"""The reporting component of its events."""

WORKERS = 4
_BY_CLAIM = "stateful sets: by the names of their claims, but for the number"


def build(loops: Loops, _: Options) -> None:
    """Add the stateful set controller to the role."""
    recorder = loops.recorder(COMPONENT)
    controller = StatefulSets(loops.client, loops.clock, recorder, informers_of(loops))
    loops.add(controller.run, {controller.queue_name: controller.queue})


class StatefulSets:
    queue_name: Final = "statefulset"

    def __init__(
        self, client: Client, clock: Clock, recorder: Recorder, informers: Informers
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._clock = clock
        self._informers = informers
        self._picture = Picture(informers)
        self._effects = Effects(client, recorder, informers)
        informers.sets.add_index(_BY_CLAIM, _claims_of)
        informers.sets.on_change(self._on_set)
        informers.pods.on_change(self._on_pod)
        informers.claims.on_change(self._on_claim)
        informers.revisions.on_change(self._on_revision)
        informers.classes.on_change(self._on_class)

    async def run(self) -> None:
        await work(self._informers.all(), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        set_ = self._informers.sets.get(key)
        if set_ is None:
            return Settled()
        seen = self._picture.view(set_, self._effects.doomed, self._clock.now())
        await self._effects.perform(decide(seen))
        own = self._picture.owned.of(set_.uid)
        wait = seconds_until_available(own, set_.spec.min_ready_seconds, seen.now)
        return Settled() if wait is None else Again(wait)

    def _on_set(self, _before: StatefulSet | None, after: StatefulSet | None) -> None:
        if after is not None:
            self.queue.add(after.key)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        for key in self._picture.owned.concerned(before, after):
            self.queue.add(key)

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        claim = after or before
        if claim is not None:
            name = (claim.namespace, claim.name.rpartition("-")[0])
            for set_ in self._informers.sets.by_index(_BY_CLAIM, name):
                self.queue.add(set_.key)

    def _on_revision(
        self, before: ControllerRevision | None, after: ControllerRevision | None
    ) -> None:
        for key in self._picture.revisions.concerned(before, after):
            self.queue.add(key)

    def _on_class(self, _before: StorageClass | None, _after: StorageClass | None) -> None:
        """A class that allows expansion by now lets claims grow. Classes seldom change."""
        for set_ in self._informers.sets.all():
            if set_.grows_claims:
                self.queue.add(set_.key)


def _claims_of(set_: StatefulSet) -> list[tuple[str, str]]:
    return [
        (set_.namespace, f"{name}-{set_.name}")
        for template in set_.spec.volume_claim_templates
        if (name := (template.get("metadata") or {}).get("name", ""))
    ]
