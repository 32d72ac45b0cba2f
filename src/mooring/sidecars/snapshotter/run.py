"""The snapshotter of one driver at work: contents wake it, and the classes that they wait for."""

import asyncio
from typing import Final

from mooring.csi.cause import because_of
from mooring.model.backoff import Backoff
from mooring.model.group_snapshot import GroupSnapshotClass, GroupSnapshotContent
from mooring.model.keys import Key
from mooring.model.snapshot import SnapshotClass, SnapshotContent
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, serve
from mooring.sidecars.driver import Driver
from mooring.sidecars.options import SidecarOptions
from mooring.sidecars.snapshotter.caches import BY_CLASS, Caches, GroupCaches
from mooring.sidecars.snapshotter.context import SnapshotterContext
from mooring.sidecars.snapshotter.decide.content import decide_content
from mooring.sidecars.snapshotter.decide.group import decide_group_content
from mooring.sidecars.snapshotter.effects.content import ContentEffects
from mooring.sidecars.snapshotter.effects.group import GroupEffects
from mooring.sidecars.snapshotter.view import ContentView, GroupContentView, group_wakes, wakes
from mooring.sidecars.writing import ConflictBackoff

WORKERS = 100  # a driver that hangs in one call must not hold up the others
GROUP_WORKERS = 10
RETRY: Final = Backoff(first=1.0, cap=300.0)


def watch(_loops: Loops, _options: SidecarOptions) -> None:
    """Nothing before a driver comes that takes snapshots: a cluster may not have these kinds."""


def build(loops: Loops, driver: Driver, options: SidecarOptions) -> "Snapshotter":
    """The snapshotter of one driver; single snapshots work also where there are no groups."""
    name = f"csi-snapshotter {driver.name}"
    context = SnapshotterContext(
        client=loops.client,
        clock=loops.clock,
        recorder=loops.recorder(name, counted_as=name),
        driver=driver,
        options=options.snapshotter,
        caches=Caches(loops, options.node),
    )
    snapshotter = Snapshotter(context)
    loops.add(snapshotter.run, {f"{driver.name}/snapshot_contents": snapshotter.queue})
    groups = GroupSnapshotter(context, GroupCaches(loops, options.node))
    loops.add(groups.run, {f"{driver.name}/group_snapshot_contents": groups.queue})
    return snapshotter


class Snapshotter:
    """Serves the VolumeSnapshotContents of one driver while `run` runs."""

    def __init__(self, context: SnapshotterContext) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(context.clock, RETRY)
        self._driver = context.driver
        self._options = context.options
        self._caches = context.caches
        self._outruns = ConflictBackoff()
        self._effects = ContentEffects(context)

    async def run(self) -> None:
        await self._caches.synced()
        self._caches.contents.on_change(self._on_content)
        self._caches.classes.on_change(self._on_class)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WORKERS):
                tasks.create_task(serve(self.queue, self.reconcile))

    async def reconcile(self, key: Key) -> Verdict:
        content = self._caches.contents.get(key)
        if content is None:
            return Settled()
        named = content.spec.volume_snapshot_class_name
        view = ContentView(
            driver=self._driver.name,
            abilities=self._driver.abilities,
            options=self._options,
            content=content,
            snapshot_class=self._caches.classes.get(Key("", named)) if named else None,
            is_unlisted=content.uid in self._effects.unlisted,
        )
        performed = self._effects.perform(content, decide_content(view))
        with because_of(content):
            return await self._outruns.look_again(key, performed)

    def _on_content(self, before: SnapshotContent | None, after: SnapshotContent | None) -> None:
        if after is None:
            if before is not None:
                self._effects.forget(before.uid)
        elif after.spec.driver == self._driver.name and wakes(before, after):
            self.queue.add(after.key)

    def _on_class(self, before: SnapshotClass | None, after: SnapshotClass | None) -> None:
        if after is None or (before is not None and before.uid == after.uid):
            return
        for content in self._caches.contents.by_index(BY_CLASS, after.name):
            if content.spec.driver == self._driver.name and not content.is_ready:
                self.queue.add(content.key)


class GroupSnapshotter:
    """Serves the VolumeGroupSnapshotContents of one driver while `run` runs."""

    def __init__(self, context: SnapshotterContext, caches: GroupCaches) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(context.clock, RETRY)
        self._driver = context.driver
        self._options = context.options
        self._caches = caches
        self._synced = context.caches.synced
        self._outruns = ConflictBackoff()
        self._effects = GroupEffects(context, caches)

    async def run(self) -> None:
        await self._synced()
        await self._caches.synced()
        self._caches.contents.on_change(self._on_content)
        self._caches.classes.on_change(self._on_class)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(GROUP_WORKERS):
                tasks.create_task(serve(self.queue, self.reconcile))

    async def reconcile(self, key: Key) -> Verdict:
        content = self._caches.contents.get(key)
        if content is None:
            return Settled()
        named = content.spec.volume_group_snapshot_class_name
        view = GroupContentView(
            driver=self._driver.name,
            abilities=self._driver.abilities,
            options=self._options,
            content=content,
            group_class=self._caches.classes.get(Key("", named)) if named else None,
        )
        performed = self._effects.perform(content, decide_group_content(view))
        with because_of(content):
            return await self._outruns.look_again(key, performed)

    def _on_content(
        self, before: GroupSnapshotContent | None, after: GroupSnapshotContent | None
    ) -> None:
        if after is None:
            if before is not None:
                self._effects.forget(before.uid)
        elif after.spec.driver == self._driver.name and group_wakes(before, after):
            self.queue.add(after.key)

    def _on_class(
        self, before: GroupSnapshotClass | None, after: GroupSnapshotClass | None
    ) -> None:
        if after is None or (before is not None and before.uid == after.uid):
            return
        for content in self._caches.contents.by_index(BY_CLASS, after.name):
            if content.spec.driver == self._driver.name and not content.is_ready:
                self.queue.add(content.key)
