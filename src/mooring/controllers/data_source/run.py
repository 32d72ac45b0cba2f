"""The data-source validator at work: claims, and populators that are announced, wake it."""

from typing import Final

from mooring.clock import Clock
from mooring.controllers.data_source.decide import decide, find_source_kind
from mooring.controllers.data_source.effects import Effects
from mooring.controllers.data_source.metrics import ValidatorCounts
from mooring.controllers.data_source.view import ClaimView
from mooring.controllers.options import Options
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.populator import SourceKind, VolumePopulator
from mooring.model.steps import Emit
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, work

COMPONENT: Final = "volume-data-source-validator"
"""The reporting component of its events."""

WORKERS = 10
_BY_SOURCE_KIND = "data source: unbound, by kind"


def build(loops: Loops, _: Options) -> None:
    """Add the data-source validator to the role."""
    counts = ValidatorCounts()
    loops.count(counts)
    effects = Effects(loops.recorder(COMPONENT), counts)
    claims, populators = loops.informer(Claim), loops.informer(VolumePopulator)
    validator = DataSourceValidator(loops.clock, effects, claims, populators)
    loops.add(validator.run, {validator.queue_name: validator.queue})


class DataSourceValidator:
    queue_name: Final = "data_source_validator"

    def __init__(
        self,
        clock: Clock,
        effects: Effects,
        claims: Informer[Claim],
        populators: Informer[VolumePopulator],
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._claims = claims
        self._populators = populators
        self._effects = effects
        self._warned: dict[str, SourceKind] = {}  # by the claim's uid
        claims.add_index(_BY_SOURCE_KIND, _waiting_for)
        claims.on_change(self._on_claim)
        populators.on_change(self._on_populator)

    async def run(self) -> None:
        await work((self._claims, self._populators), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        claim = self._claims.get(key)
        if claim is None:
            return Settled()
        announced = frozenset(each.source_kind for each in self._populators.all())
        plan = decide(ClaimView(claim, announced, self._warned.get(claim.uid)))
        self._effects.perform(plan)
        kind = find_source_kind(claim)
        if kind is not None and kind in announced:
            self._warned.pop(claim.uid, None)
        elif kind is not None and any(isinstance(step, Emit) for step in plan.steps):
            self._warned[claim.uid] = kind
        return Settled()

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        if after is None:
            if before is not None:
                self._warned.pop(before.uid, None)
        elif before is None or find_source_kind(before) != find_source_kind(after):
            self.queue.add(after.key)

    def _on_populator(self, before: VolumePopulator | None, after: VolumePopulator | None) -> None:
        kinds = {each.source_kind for each in (before, after) if each is not None}
        for kind in kinds:
            for claim in self._claims.by_index(_BY_SOURCE_KIND, kind):
                self.queue.add(claim.key)


def _waiting_for(claim: Claim) -> tuple[SourceKind, ...]:
    kind = find_source_kind(claim)
    return () if kind is None or claim.spec.volume_name else (kind,)
