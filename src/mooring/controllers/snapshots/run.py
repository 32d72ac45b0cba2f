"""The snapshot controller at work: its queues, its workers, and what they look at."""

from typing import Final

from mooring.controllers.options import Options
from mooring.controllers.snapshots.decide.claim import decide_claim
from mooring.controllers.snapshots.decide.content import decide_content
from mooring.controllers.snapshots.decide.snapshot import decide_snapshot
from mooring.controllers.snapshots.effects import Effects
from mooring.controllers.snapshots.event_handlers import EventHandlers, Queues
from mooring.controllers.snapshots.groups.run import build_groups
from mooring.controllers.snapshots.informers import SnapshotInformers
from mooring.controllers.snapshots.leading import lead_by_lease
from mooring.controllers.snapshots.metrics import SnapshotMetrics
from mooring.controllers.snapshots.picture import Pictures
from mooring.controllers.snapshots.plan import AskServer, Plan, Reason
from mooring.controllers.snapshots.recorded import Recorded
from mooring.model.keys import Key
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, work

COMPONENT: Final = "snapshot-controller"
"""The reporting component of its events."""

WORKERS = 32


def build(loops: Loops, options: Options) -> None:
    """Add the snapshot controller to the role; it works while it holds upstream's lease."""
    lead_by_lease(
        loops, options.snapshots.lease, SnapshotInformers, lambda part: add(part, options)
    )


def add(loops: Loops, options: Options) -> None:
    """Snapshots, contents, claims and groups, without a lease."""
    informers = SnapshotInformers(loops, is_distributed=options.snapshots.is_distributed)
    informers.add_indexes()
    recorder = loops.recorder(COMPONENT)
    metrics = SnapshotMetrics(loops.clock)
    loops.count(metrics)
    effects = Effects(loops.client, loops.clock, recorder, informers)
    pictures = Pictures(loops.client, loops.clock, informers, options.snapshots.mode)
    queues = Queues(KeyedQueue(loops.clock), KeyedQueue(loops.clock), KeyedQueue(loops.clock))
    snapshots = Snapshots(informers, queues.snapshots, pictures, effects)
    contents = Contents(informers, queues.contents, effects)
    claims = SourceClaims(informers, queues.claims, pictures, effects)
    EventHandlers(informers, queues, metrics).attach()
    loops.add(snapshots.run, {"snapshot-controller-snapshot": queues.snapshots})
    loops.add(contents.run, {"snapshot-controller-content": queues.contents})
    loops.add(claims.run, {"snapshot-controller-claim": queues.claims})
    build_groups(loops, informers, effects, metrics)


class Snapshots:
    def __init__(
        self,
        informers: SnapshotInformers,
        queue: KeyedQueue[Key],
        pictures: Pictures,
        effects: Effects,
    ) -> None:
        self._known = informers
        self._queue = queue
        self._pictures = pictures
        self._effects = effects
        self._recorded = Recorded(informers.snapshots, Reason.DELETE_PENDING)

    async def run(self) -> None:
        await work(self._known.of_snapshots, self._queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        snapshot = self._known.snapshots.get(key)
        if snapshot is None:
            return Settled()
        if snapshot.is_deleting and not self._known.groups.synced.is_set():
            await self._pictures.ask_for_group(snapshot)
        recorded = self._recorded.of(snapshot)
        plan = decide_snapshot(self._pictures.snapshot(snapshot, recorded=recorded))
        if _asks(plan):
            view = await self._pictures.ask_for_snapshot(snapshot, recorded)
            plan = decide_snapshot(view)
        await self._effects.perform(plan)
        self._recorded.note(snapshot, plan)
        return Settled()


class Contents:
    def __init__(
        self, informers: SnapshotInformers, queue: KeyedQueue[Key], effects: Effects
    ) -> None:
        self._known = informers
        self._queue = queue
        self._effects = effects

    async def run(self) -> None:
        await work(self._known.of_snapshots, self._queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        content = self._known.contents.get(key)
        if content is not None:
            await self._effects.perform(decide_content(content))
        return Settled()


class SourceClaims:
    def __init__(
        self,
        informers: SnapshotInformers,
        queue: KeyedQueue[Key],
        pictures: Pictures,
        effects: Effects,
    ) -> None:
        self._known = informers
        self._queue = queue
        self._pictures = pictures
        self._effects = effects

    async def run(self) -> None:
        await work(self._known.of_snapshots, self._queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        claim = self._known.claims.get(key)
        if claim is None:
            return Settled()
        plan = decide_claim(self._pictures.claim(claim))
        if _asks(plan):
            plan = decide_claim(await self._pictures.ask_for_claim(claim))
        await self._effects.perform(plan)
        return Settled()


def _asks(plan: Plan) -> bool:
    return any(isinstance(step, AskServer) for step in plan.steps)
