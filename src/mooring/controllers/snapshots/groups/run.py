"""The loops of groups and their contents: what wakes them, and their workers."""

from mooring.controllers.snapshots.effects import Effects
from mooring.controllers.snapshots.groups.decide.group import decide_group, decide_group_content
from mooring.controllers.snapshots.groups.event_handlers import GroupEventHandlers
from mooring.controllers.snapshots.groups.picture import GroupPictures
from mooring.controllers.snapshots.informers import SnapshotInformers
from mooring.controllers.snapshots.metrics import SnapshotMetrics
from mooring.controllers.snapshots.plan import AskServer, Reason
from mooring.controllers.snapshots.recorded import Recorded
from mooring.model.keys import Key
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, work

WORKERS = 10


def build_groups(
    loops: Loops, informers: SnapshotInformers, effects: Effects, metrics: SnapshotMetrics
) -> None:
    """Where groups are not served, their informers never fill, and these loops rest."""
    groups: KeyedQueue[Key] = KeyedQueue(loops.clock)
    contents: KeyedQueue[Key] = KeyedQueue(loops.clock)
    pictures = GroupPictures(loops.client, loops.clock, informers)
    of_groups = Groups(informers, groups, pictures, effects)
    of_contents = GroupContents(informers, contents, effects)
    GroupEventHandlers(informers, groups, contents, metrics).attach()
    loops.add(of_groups.run, {"snapshot-controller-group-snapshot": groups})
    loops.add(of_contents.run, {"snapshot-controller-group-content": contents})


class Groups:
    def __init__(
        self,
        informers: SnapshotInformers,
        queue: KeyedQueue[Key],
        pictures: GroupPictures,
        effects: Effects,
    ) -> None:
        self._known = informers
        self._queue = queue
        self._pictures = pictures
        self._effects = effects
        self._recorded = Recorded(informers.groups, Reason.DELETE_PENDING)

    async def run(self) -> None:
        await work(self._known.of_groups, self._queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        group = self._known.groups.get(key)
        if group is None:
            return Settled()
        recorded = self._recorded.of(group)
        plan = decide_group(self._pictures.group(group, recorded=recorded))
        if any(isinstance(step, AskServer) for step in plan.steps):
            plan = decide_group(await self._pictures.ask_for_group(group, recorded))
        await self._effects.perform(plan)
        self._recorded.note(group, plan)
        return Settled()


class GroupContents:
    def __init__(
        self, informers: SnapshotInformers, queue: KeyedQueue[Key], effects: Effects
    ) -> None:
        self._known = informers
        self._queue = queue
        self._effects = effects

    async def run(self) -> None:
        await work(self._known.of_groups, self._queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        content = self._known.group_contents.get(key)
        if content is not None:
            await self._effects.perform(decide_group_content(content))
        return Settled()
