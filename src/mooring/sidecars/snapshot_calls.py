"""What a snapshotter asks of a driver."""

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
