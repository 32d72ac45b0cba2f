"""What the decisions about a group of snapshots look at."""

import msgspec

from mooring.controllers.snapshots.view import Evidence, Source
from mooring.model.group_snapshot import (
    GroupSnapshot,
    GroupSnapshotClass,
    GroupSnapshotContent,
    MemberSnapshot,
)
from mooring.model.keys import Key
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.volume import Volume


class GroupClasses(msgspec.Struct, frozen=True):
    named: GroupSnapshotClass | None = None
    defaults: tuple[GroupSnapshotClass, ...] = ()  # of all drivers


class FoundGroupContent(msgspec.Struct, frozen=True):
    content: GroupSnapshotContent | None = None
    evidence: Evidence = Evidence.CACHE


class Member(msgspec.Struct, frozen=True):
    """One volume of the group: what the driver says of it, and what there is in the API."""

    info: MemberSnapshot
    snapshot: Snapshot | None = None
    content: SnapshotContent | None = None
    volume: Volume | None = None  # None: none, or not only one, has the handle

    @property
    def is_bound(self) -> bool:
        return (
            self.snapshot is not None
            and self.content is not None
            and self.snapshot.content_name == self.content.name
            and self.content.status is not None
            and self.content.status.snapshot_handle == self.info.snapshot_handle
        )


class GroupView(msgspec.Struct, frozen=True):
    group: GroupSnapshot
    now: str
    found: FoundGroupContent = FoundGroupContent()
    classes: GroupClasses = GroupClasses()
    sources: tuple[Source, ...] | None = None  # chosen by its selector; None: nobody has looked
    members: tuple[Member, ...] = ()
    owned: tuple[Snapshot, ...] = ()  # snapshots that have it as their owner
    restored: tuple[Key, ...] = ()  # those of them that claims are being made from
    recorded: str = ""  # the last event about what its deletion waits for
