"""The resizer of one driver at work: claims wake it, and what they wait for."""

import asyncio
from collections.abc import Awaitable, Callable

from mooring.csi.cause import because_of
from mooring.model import modification
from mooring.model.attributes_class import AttributesClass
from mooring.model.backoff import Backoff
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.reconcile.apply import NotNow
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, serve
from mooring.sidecars.driver import Driver
from mooring.sidecars.one_by_one import OneByOne
from mooring.sidecars.options import SidecarOptions
from mooring.sidecars.resizer.caches import BY_ATTRIBUTES_CLASS, Caches
from mooring.sidecars.resizer.claim_users import ClaimUsers
from mooring.sidecars.resizer.context import ResizerContext
from mooring.sidecars.resizer.decide.modify import decide_modify
from mooring.sidecars.resizer.decide.resize import decide_resize
from mooring.sidecars.resizer.effects.modify import ModifyEffects
from mooring.sidecars.resizer.effects.resize import ResizeEffects
from mooring.sidecars.resizer.memory import Memory
from mooring.sidecars.resizer.view import (
    UNUSED,
    ClaimView,
    Use,
    find_source,
    is_bound_to,
    is_open,
    wakes,
)
from mooring.sidecars.writing import ConflictBackoff


def watch(loops: Loops, _options: SidecarOptions) -> None:
    """Ask for all informers that resizers share."""
    Caches(loops)


def build(loops: Loops, driver: Driver, options: SidecarOptions) -> "Resizer":
    """The resizer of one driver."""
    resizer = Resizer(loops, driver, Caches(loops), options)
    loops.add(resizer.run, {f"{driver.name}-pvc": resizer.queue})
    return resizer


class Resizer:
    """Serves one driver while `run` runs. Of one claim it does one thing at a time."""

    def __init__(
        self, loops: Loops, driver: Driver, caches: Caches, process: SidecarOptions
    ) -> None:
        options = process.resizer
        retry = Backoff(first=options.retry_seconds, cap=options.retry_cap_seconds)
        component = f"external-resizer {driver.name}"
        self.queue: KeyedQueue[Key] = KeyedQueue(loops.clock, retry)
        self._driver = driver
        self._options = options
        self._default_fs_type = process.provisioner.default_fs_type
        self._caches = caches
        self._memory = Memory(loops.clock)
        self._outruns = ConflictBackoff()
        self._users = ClaimUsers(loops, self._on_freed)
        context = ResizerContext(
            client=loops.client,
            clock=loops.clock,
            recorder=loops.recorder(component),
            driver=driver,
            options=options,
            caches=caches,
            memory=self._memory,
            busy=OneByOne(),
        )
        self._resizes = ResizeEffects(context)
        self._modifies = ModifyEffects(context)

    async def run(self) -> None:
        await self._caches.synced()
        self._caches.claims.on_change(self._on_claim)
        self._caches.volumes.on_change(self._on_volume)
        self._caches.attributes_classes.on_change(self._on_class)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._options.workers):
                tasks.create_task(serve(self.queue, self.reconcile))

    async def reconcile(self, key: Key) -> Verdict:
        """One that fails to grow may change its class all the same, and the other way round."""
        verdicts: list[Verdict] = []
        failures: list[NotNow] = []
        for act in (self._resize, self._modify):
            try:
                verdicts.append(await self._act(key, act))
            except NotNow as error:
                failures.append(error)
        if failures:
            raise failures[0]
        pauses = [verdict.after for verdict in verdicts if isinstance(verdict, Again)]
        return Again(min(pauses)) if pauses else Settled()

    async def _act(self, key: Key, act: Callable[[Claim], Awaitable[Verdict]]) -> Verdict:
        claim = self._caches.claims.get(key)
        if claim is None:
            return Settled()
        with because_of(claim):
            return await self._outruns.look_again((key, act), act(claim))

    async def _resize(self, claim: Claim) -> Verdict:
        return await self._resizes.perform(decide_resize(self._look(claim)))

    async def _modify(self, claim: Claim) -> Verdict:
        return await self._modifies.perform(decide_modify(self._look(claim)))

    def _look(self, claim: Claim) -> ClaimView:
        return ClaimView(
            driver=self._driver.name,
            abilities=self._driver.abilities,
            claim=claim,
            volume=self._caches.find_volume(claim),
            wanted_class=self._caches.find_class(claim.spec.volume_attributes_class_name or ""),
            target_class=self._caches.find_class(modification.find_target(claim.status)),
            use=self._find_use(claim),
            size_pause=self._memory.size_pause(claim.uid),
            class_pause=self._memory.class_pause(claim.uid),
            extra_modify_metadata=self._options.extra_modify_metadata,
            default_fs_type=self._default_fs_type,
        )

    def _find_use(self, claim: Claim) -> Use:
        is_told = claim.uid in self._memory.in_use or self._driver.abilities.is_offline_only
        if not self._options.handle_in_use or not is_told or claim.requested <= claim.capacity:
            return UNUSED
        return Use(is_in_the_way=True, is_used=self._users.is_used(claim))

    # what wakes it

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        if before is not None and (after is None or after.uid != before.uid):
            self._memory.forget(before.uid)
        if after is not None and wakes(before, after):
            self._wake(after)

    def _on_volume(self, before: Volume | None, after: Volume | None) -> None:
        """It may come after its claim; and a claim may be bound to it anew."""
        ref = after.spec.claim_ref if after is not None else None
        if ref is None or (before is not None and before.spec.claim_ref == ref):
            return
        claim = self._caches.claims.get(ref.key)
        if claim is not None:
            self._wake(claim)

    def _on_class(self, before: AttributesClass | None, after: AttributesClass | None) -> None:
        if after is None or (before is not None and before.uid == after.uid):
            return
        for claim in self._caches.claims.by_index(BY_ATTRIBUTES_CLASS, after.name):
            self._wake(claim)

    def _on_freed(self, key: Key) -> None:
        claim = self._caches.claims.get(key)
        if claim is not None:
            self._wake(claim)

    def _wake(self, claim: Claim) -> None:
        """Claims of other drivers, and those that have all they ask for, need no worker."""
        volume = self._caches.find_volume(claim)
        if volume is None or not is_bound_to(claim, volume):
            return
        if not is_open(claim) and Annotation.PRE_RESIZE_CAPACITY not in volume.metadata.annotations:
            return
        if self._driver.reaches(volume) and find_source(self._driver.name, claim, volume):
            self.queue.add(claim.key)
