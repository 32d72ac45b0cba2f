"""What a snapshotter watches."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from mooring.model.group_snapshot import GroupSnapshotClass, GroupSnapshotContent
from mooring.model.snapshot import SnapshotClass, SnapshotContent
from mooring.reconcile.loops import Loops

BY_HANDLE: Final = "handle"
BY_CLASS: Final = "class"


class Handle(NamedTuple):
    driver: str
    handle: str


class Caches:
    """Index functions have names: snapshotters of many drivers then share the indexes."""

    def __init__(self, loops: Loops) -> None:
        self.contents = loops.informer(SnapshotContent)
        self.classes = loops.informer(SnapshotClass)
        self.contents.add_index(BY_HANDLE, _handles)
        self.contents.add_index(BY_CLASS, _classes)

    async def synced(self) -> None:
        await self.contents.synced.wait()
        await self.classes.synced.wait()


class GroupCaches:
    """Apart: a cluster may have no group snapshots."""

    def __init__(self, loops: Loops) -> None:
        self.contents = loops.informer(GroupSnapshotContent)
        self.classes = loops.informer(GroupSnapshotClass)
        self.contents.add_index(BY_HANDLE, _group_handles)
        self.contents.add_index(BY_CLASS, _group_classes)

    async def synced(self) -> None:
        await self.contents.synced.wait()
        await self.classes.synced.wait()


def _handles(content: SnapshotContent) -> Iterable[Handle]:
    handle = content.snapshot_handle
    return (Handle(content.spec.driver, handle),) if handle else ()


def _classes(content: SnapshotContent) -> Iterable[str]:
    name = content.spec.volume_snapshot_class_name
    return (name,) if name else ()


def _group_handles(content: GroupSnapshotContent) -> Iterable[Handle]:
    handle = content.group_handle
    return (Handle(content.spec.driver, handle),) if handle else ()


def _group_classes(content: GroupSnapshotContent) -> Iterable[str]:
    name = content.spec.volume_group_snapshot_class_name
    return (name,) if name else ()
