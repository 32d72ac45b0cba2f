"""The part of a fake driver that takes snapshots, alone and in groups."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from mooring.csi.outcome import Code, Done, Outcome, Refused
from mooring.csi.requests import (
    CreateGroupSnapshot,
    CreateSnapshot,
    GroupMembers,
    ListSnapshots,
)
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.volume import GroupSnapshot, Snapshot

Play = Callable[[str, str, Callable[[], Outcome[Any]]], Awaitable[Outcome[Any]]]

CUT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
NANOSECONDS = int(CUT.timestamp()) * 1_000_000_000
SIZE = 1 << 30


@dataclass
class FakeSnapshots:
    """What the driver has; `unready` snapshots become ready after so many questions."""

    play: Play
    secrets: list[Secrets] = field(default_factory=list)
    snapshots: dict[str, Snapshot] = field(default_factory=dict)  # by id
    names: dict[str, str] = field(default_factory=dict)  # of snapshots, to their ids
    requests: list[CreateSnapshot] = field(default_factory=list)
    unready: int = 0
    hides_unready: bool = False  # a list has only what is ready

    async def create(self, snapshot: CreateSnapshot, *, within: float) -> Outcome[Snapshot]:
        self.requests.append(snapshot)
        self.secrets.append(snapshot.secrets)
        return await self.play("take", snapshot.name, lambda: Done(self.take(snapshot)))

    async def delete(
        self, snapshot_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        self.secrets.append(secrets)
        return await self.play("drop", snapshot_id, lambda: self.drop(snapshot_id))

    async def get(
        self, snapshot_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[Snapshot]:
        self.secrets.append(secrets)
        return await self.play("get", snapshot_id, lambda: self._get(snapshot_id))

    async def list_all(
        self, which: ListSnapshots, *, within: float
    ) -> Outcome[tuple[Snapshot, ...]]:
        self.secrets.append(which.secrets)
        return await self.play("look", which.snapshot_id, lambda: self._list(which.snapshot_id))

    def has(self, snapshot_id: str, **changes: Any) -> None:
        """One that an administrator took."""
        source = changes.pop("source_volume_id", "vol-x")
        told: dict[str, Any] = {"ready_to_use": True, "size_bytes": SIZE, **changes}
        self.snapshots[snapshot_id] = Snapshot(snapshot_id, source, CUT, NANOSECONDS, **told)

    def take(self, wanted: CreateSnapshot) -> Snapshot:
        known = self.names.get(wanted.name)
        if known is None:
            known = self.names[wanted.name] = f"id-of-{wanted.name}"
            self.snapshots[known] = Snapshot(
                known, wanted.source_volume_id, CUT, NANOSECONDS, not self.unready, SIZE
            )
            return self.snapshots[known]
        return self._asked_about(known)

    def _asked_about(self, snapshot_id: str) -> Snapshot:
        found = self.snapshots[snapshot_id]
        if not found.ready_to_use:
            self.unready -= 1
            found = self.snapshots[snapshot_id] = Snapshot(
                found.snapshot_id,
                found.source_volume_id,
                found.created,
                found.created_nanoseconds,
                self.unready <= 0,
                found.size_bytes,
            )
        return found

    def _get(self, snapshot_id: str) -> Outcome[Snapshot]:
        if snapshot_id not in self.snapshots:
            return Refused(Code.NOT_FOUND, f"{snapshot_id} does not exist")
        return Done(self._asked_about(snapshot_id))

    def _list(self, snapshot_id: str) -> Outcome[tuple[Snapshot, ...]]:
        if snapshot_id not in self.snapshots:
            return Done(())
        if self.hides_unready and not self.snapshots[snapshot_id].ready_to_use:
            return Done(())
        return Done((self._asked_about(snapshot_id),))

    def drop(self, snapshot_id: str) -> Outcome[None]:
        self.snapshots.pop(snapshot_id, None)
        self.names = {name: each for name, each in self.names.items() if each != snapshot_id}
        return Done(None)


@dataclass
class FakeGroups:
    play: Play
    members: FakeSnapshots
    secrets: list[Secrets] = field(default_factory=list)
    groups: dict[str, GroupSnapshot] = field(default_factory=dict)  # by id
    requests: list[CreateGroupSnapshot] = field(default_factory=list)
    deleted: list[GroupMembers] = field(default_factory=list)
    unready: int = 0
    lie: Callable[[tuple[Snapshot, ...]], tuple[Snapshot, ...]] = tuple  # about the members

    async def create(self, group: CreateGroupSnapshot, *, within: float) -> Outcome[GroupSnapshot]:
        self.requests.append(group)
        self.secrets.append(group.secrets)
        return await self.play("take-group", group.name, lambda: Done(self._told(group)))

    async def delete(
        self, group: GroupMembers, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        self.secrets.append(secrets)
        self.deleted.append(group)
        name = group.group_snapshot_id
        return await self.play("drop-group", name, lambda: self._drop(group))

    async def get(
        self, group: GroupMembers, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[GroupSnapshot]:
        self.secrets.append(secrets)
        name = group.group_snapshot_id
        return await self.play("get-group", name, lambda: self._get(name))

    def _told(self, wanted: CreateGroupSnapshot) -> GroupSnapshot:
        made = self.take(wanted)
        return msgspec.structs.replace(made, snapshots=self.lie(made.snapshots))

    def take(self, wanted: CreateGroupSnapshot) -> GroupSnapshot:
        name = f"id-of-{wanted.name}"
        if name not in self.groups:
            members = [
                self.members.take(CreateSnapshot(f"{wanted.name}-{volume}", volume))
                for volume in wanted.source_volume_ids
            ]
            self.groups[name] = GroupSnapshot(
                name, tuple(members), CUT, NANOSECONDS, not self.unready
            )
        return self.groups[name]

    def _get(self, name: str) -> Outcome[GroupSnapshot]:
        if name not in self.groups:
            return Refused(Code.NOT_FOUND, f"{name} does not exist")
        found = self.groups[name]
        if not found.ready_to_use:
            self.unready -= 1
            ready = self.unready <= 0
            found = self.groups[name] = GroupSnapshot(
                name, found.snapshots, CUT, NANOSECONDS, ready
            )
        return Done(found)

    def _drop(self, group: GroupMembers) -> Outcome[None]:
        gone = self.groups.pop(group.group_snapshot_id, None)
        for each in gone.snapshots if gone else ():
            self.members.drop(each.snapshot_id)
        return Done(None)
