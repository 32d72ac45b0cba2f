"""What a snapshotter asks of a driver, and the same as a leader asks it."""

from typing import Protocol

from mooring.csi.outcome import Outcome
from mooring.csi.requests import (
    CreateGroupSnapshot,
    CreateSnapshot,
    GroupMembers,
    ListSnapshots,
)
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.volume import GroupSnapshot, Snapshot
from mooring.reconcile.leadership import Leadership


class SnapshotCalls(Protocol):
    """`csi.snapshots.Snapshots` does it."""

    async def create(self, snapshot: CreateSnapshot, *, within: float) -> Outcome[Snapshot]: ...

    async def delete(
        self, snapshot_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]: ...

    async def get(
        self, snapshot_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[Snapshot]: ...

    async def list_all(
        self, which: ListSnapshots, *, within: float
    ) -> Outcome[tuple[Snapshot, ...]]: ...


class GroupCalls(Protocol):
    """`csi.group_snapshots.GroupSnapshots` does it."""

    async def create(
        self, group: CreateGroupSnapshot, *, within: float
    ) -> Outcome[GroupSnapshot]: ...

    async def delete(
        self, group: GroupMembers, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]: ...

    async def get(
        self, group: GroupMembers, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[GroupSnapshot]: ...


class FencedSnapshotCalls:
    """`SnapshotCalls`; those that change something raise NotLeading once another may lead."""

    def __init__(self, calls: SnapshotCalls, leadership: Leadership) -> None:
        self._calls = calls
        self._leadership = leadership

    async def create(self, snapshot: CreateSnapshot, *, within: float) -> Outcome[Snapshot]:
        self._leadership.check()
        return await self._calls.create(snapshot, within=within)

    async def delete(
        self, snapshot_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        self._leadership.check()
        return await self._calls.delete(snapshot_id, secrets, within=within)

    async def get(
        self, snapshot_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[Snapshot]:
        return await self._calls.get(snapshot_id, secrets, within=within)

    async def list_all(
        self, which: ListSnapshots, *, within: float
    ) -> Outcome[tuple[Snapshot, ...]]:
        return await self._calls.list_all(which, within=within)


class FencedGroupCalls:
    """`GroupCalls`; those that change something raise NotLeading once another may lead."""

    def __init__(self, calls: GroupCalls, leadership: Leadership) -> None:
        self._calls = calls
        self._leadership = leadership

    async def create(self, group: CreateGroupSnapshot, *, within: float) -> Outcome[GroupSnapshot]:
        self._leadership.check()
        return await self._calls.create(group, within=within)

    async def delete(
        self, group: GroupMembers, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        self._leadership.check()
        return await self._calls.delete(group, secrets, within=within)

    async def get(
        self, group: GroupMembers, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[GroupSnapshot]:
        return await self._calls.get(group, secrets, within=within)
