"""What a snapshotter watches."""

from collections.abc import Iterable
from functools import cache, partial
from typing import Final, NamedTuple

from mooring.client.contract import Scope
from mooring.model.group_snapshot import GroupSnapshotClass, GroupSnapshotContent
from mooring.model.meta import ApiObject
from mooring.model.snapshot import SnapshotClass, SnapshotContent
from mooring.model.wellknown import Label
from mooring.reconcile.loops import Loops
from mooring.reconcile.shared_informer import Selection

BY_HANDLE: Final = "handle"
BY_CLASS: Final = "class"


class Handle(NamedTuple):
    driver: str
    handle: str


class Caches:
    """Index functions have names: snapshotters of many drivers then share the indexes."""

    def __init__(self, loops: Loops, node: str = "") -> None:
        self.contents = loops.informer(SnapshotContent, managed_by(node) if node else None)
        self.classes = loops.informer(SnapshotClass)
        self.contents.add_index(BY_HANDLE, _handles)
        self.contents.add_index(BY_CLASS, _classes)

    async def synced(self) -> None:
        await self.contents.synced.wait()
        await self.classes.synced.wait()


class GroupCaches:
    """Apart: a cluster may have no group snapshots."""

    def __init__(self, loops: Loops, node: str = "") -> None:
        managed = groups_managed_by(node) if node else None
        self.contents = loops.informer(GroupSnapshotContent, managed)
        self.classes = loops.informer(GroupSnapshotClass)
        self.contents.add_index(BY_HANDLE, _group_handles)
        self.contents.add_index(BY_CLASS, _group_classes)

    async def synced(self) -> None:
        await self.contents.synced.wait()
        await self.classes.synced.wait()


@cache
def managed_by(node: str) -> Selection[SnapshotContent]:
    """The contents of this node. Kept, so that the snapshotters of many drivers share them."""
    return Selection(_labelled(node), partial(_is_labelled, node))


@cache
def groups_managed_by(node: str) -> Selection[GroupSnapshotContent]:
    return Selection(_labelled(node), partial(_is_labelled, node))


def _labelled(node: str) -> Scope:
    return Scope(labels=f"{Label.SNAPSHOT_MANAGED_BY}={node}")


def _is_labelled(node: str, content: ApiObject) -> bool:
    return content.metadata.labels.get(Label.SNAPSHOT_MANAGED_BY) == node


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
