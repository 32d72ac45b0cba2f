"""The protection reconcilers: their event handlers, queues and caches.

Each takes shared informers, which the role runs. Nothing is decided before all of them are synced.
"""

from collections.abc import Iterable
from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.options import Options
from mooring.controllers.protection.decide import (
    decide_claim,
    decide_class,
    decide_usage,
    decide_volume,
    needs_action,
)
from mooring.controllers.protection.effects import Effects
from mooring.controllers.protection.live_pods import LivePods
from mooring.controllers.protection.plan import AskServer, Plan
from mooring.controllers.protection.view import (
    ClaimView,
    ClassView,
    Evidence,
    UsageView,
    classes_of_claim,
    classes_of_volume,
)
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.pod import Pod
from mooring.model.steps import Emit, plan
from mooring.model.volume import Volume
from mooring.model.wellknown import Finalizer
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.pods_by_claim import index_by_claim, pods_using
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Settled, Verdict, work

COMPONENT: Final = "persistentvolumeclaim-protection-controller"
"""The reporting component of events about claims."""

CLAIM_WORKERS = 64  # as many share one list of pods
WORKERS = 8
_REFERRING = "protection: by attributes class"


def build(loops: Loops, options: Options) -> None:
    """Add the protection of claims, of volumes and of classes to the role."""
    client, clock = loops.client, loops.clock
    claims, volumes = loops.informer(Claim), loops.informer(Volume)
    pods, classes = loops.informer(Pod), loops.informer(AttributesClass)
    recorder = loops.recorder(COMPONENT)
    of_claims = ClaimProtection(client, clock, recorder, claims, pods, notes_use=options.notes_use)
    of_volumes = VolumeProtection(client, clock, volumes)
    of_classes = ClassProtection(client, clock, classes, volumes, claims)
    loops.add(of_claims.run, {of_claims.queue_name: of_claims.queue})
    loops.add(of_volumes.run, {of_volumes.queue_name: of_volumes.queue})
    loops.add(of_classes.run, {of_classes.queue_name: of_classes.queue})


class ClaimProtection:
    queue_name: Final = "pvcprotection"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        claims: Informer[Claim],
        pods: Informer[Pod],
        *,
        notes_use: bool = True,
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._claims = claims
        self._pods = pods
        self._live = LivePods(client)
        self._effects = Effects(client, recorder)
        self._clock = clock
        self._notes_use = notes_use
        self._recorded: dict[str, str] = {}  # events, by the claim's uid
        index_by_claim(pods)
        claims.on_change(self._on_claim)
        pods.on_change(self._on_pod)

    async def run(self) -> None:
        await work((self._claims, self._pods), self.queue, self.reconcile, CLAIM_WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        claim = self._claims.get(key)
        if claim is None:
            return Settled()
        decided = self._decide(claim, pods_using(self._pods, key), Evidence.CACHE)
        if any(isinstance(step, AskServer) for step in decided.steps):
            decided = self._decide(claim, await self._live.naming(key), Evidence.SERVER)
        await self._effects.perform(decided)
        for step in decided.steps:
            if isinstance(step, Emit):
                self._recorded[claim.uid] = step.message
        if not decided.steps:  # else the claim has changed, and is seen again
            await self._effects.perform(self._decide_usage(claim))
        return Settled()

    def _decide_usage(self, claim: Claim) -> Plan:
        """By the cache alone: a pod that it does not show yet is noted a moment later."""
        if not self._notes_use:
            return plan("the use of claims is not noted in this release")
        pods = pods_using(self._pods, claim.key)
        return decide_usage(UsageView(claim, tuple(pods), self._clock.now()))

    def _decide(self, claim: Claim, pods: Iterable[Pod], evidence: Evidence) -> Plan:
        recorded = self._recorded.get(claim.uid, "")
        return decide_claim(ClaimView(claim, tuple(pods), evidence, recorded))

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        if after is not None and self._concerns(after):
            self.queue.add(after.key)
        if before is not None and after is None:
            self._recorded.pop(before.uid, None)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        """Any change may add or end a use; it matters to claims that are being deleted, and to
        those whose use is noted.

        A claim not yet seen as deleting is reconciled when the watch delivers that.
        """
        for key in {key for pod in (before, after) if pod for key in pod.claim_keys()}:
            claim = self._claims.get(key)
            if claim is not None and (
                _waits_to_go(claim, Finalizer.CLAIM_PROTECTION) or self._decide_usage(claim).steps
            ):
                self.queue.add(key)

    def _concerns(self, claim: Claim) -> bool:
        return needs_action(claim, Finalizer.CLAIM_PROTECTION) or bool(
            self._decide_usage(claim).steps
        )


class VolumeProtection:
    queue_name: Final = "pvprotection"

    def __init__(self, client: Client, clock: Clock, volumes: Informer[Volume]) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._volumes = volumes
        self._effects = Effects(client)
        volumes.on_change(self._on_volume)

    async def run(self) -> None:
        await work((self._volumes,), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        volume = self._volumes.get(key)
        if volume is not None:
            await self._effects.perform(decide_volume(volume))
        return Settled()

    def _on_volume(self, _before: Volume | None, after: Volume | None) -> None:
        if after is not None and needs_action(after, Finalizer.VOLUME_PROTECTION):
            self.queue.add(after.key)


class ClassProtection:
    queue_name: Final = "vacprotection"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        classes: Informer[AttributesClass],
        volumes: Informer[Volume],
        claims: Informer[Claim],
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._classes = classes
        self._volumes = volumes
        self._claims = claims
        self._effects = Effects(client)
        volumes.add_index(_REFERRING, classes_of_volume)
        claims.add_index(_REFERRING, classes_of_claim)
        classes.on_change(self._on_class)
        volumes.on_change(self._on_volume)
        claims.on_change(self._on_claim)

    async def run(self) -> None:
        informers = (self._classes, self._volumes, self._claims)
        await work(informers, self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        chosen = self._classes.get(key)
        if chosen is not None:
            volumes = self._volumes.by_index(_REFERRING, key.name)
            claims = self._claims.by_index(_REFERRING, key.name)
            await self._effects.perform(
                decide_class(ClassView(chosen, tuple(volumes), tuple(claims)))
            )
        return Settled()

    def _on_class(self, _before: AttributesClass | None, after: AttributesClass | None) -> None:
        if after is not None and needs_action(after, Finalizer.ATTRIBUTES_CLASS_PROTECTION):
            self.queue.add(after.key)

    def _on_volume(self, before: Volume | None, after: Volume | None) -> None:
        if before is not None:
            kept = classes_of_volume(after) if after else ()
            self._wake({*classes_of_volume(before)}.difference(kept))

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        if before is not None:
            kept = classes_of_claim(after) if after else ()
            self._wake(classes_of_claim(before).difference(kept))

    def _wake(self, no_longer_named: Iterable[str]) -> None:
        for name in no_longer_named:
            chosen = self._classes.get(Key("", name))
            if chosen and _waits_to_go(chosen, Finalizer.ATTRIBUTES_CLASS_PROTECTION):
                self.queue.add(chosen.key)


def _waits_to_go(protected: ApiObject, finalizer: str) -> bool:
    return protected.is_deleting and needs_action(protected, finalizer)
