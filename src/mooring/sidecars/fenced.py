"""Calls of a driver as a leader makes them: refused once another may lead."""

from collections.abc import Mapping

from mooring.csi.outcome import Outcome
from mooring.csi.requests import (
    AttachVolume,
    Capacity,
    CreateGroupSnapshot,
    CreateSnapshot,
    CreateVolume,
    Expanded,
    ExpandVolume,
    GroupMembers,
    ListSnapshots,
)
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.topology import Topology
from mooring.csi.volume import GroupSnapshot, Snapshot, Volume, VolumeState
from mooring.reconcile.leadership import Leadership
from mooring.sidecars.driver import Calls
from mooring.sidecars.snapshot_calls import GroupCalls, SnapshotCalls


class FencedCalls:
    """`Calls`; those that change something raise NotLeading."""

    def __init__(self, calls: Calls, leadership: Leadership) -> None:
        self._calls = calls
        self._leadership = leadership

    async def create(self, volume: CreateVolume, *, within: float) -> Outcome[Volume]:
        self._leadership.check()
        return await self._calls.create(volume, within=within)

    async def delete(
        self, volume_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        self._leadership.check()
        return await self._calls.delete(volume_id, secrets, within=within)

    async def attach(self, volume: AttachVolume, *, within: float) -> Outcome[Mapping[str, str]]:
        self._leadership.check()
        return await self._calls.attach(volume, within=within)

    async def detach(
        self, volume_id: str, node_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        self._leadership.check()
        return await self._calls.detach(volume_id, node_id, secrets, within=within)

    async def expand(self, volume: ExpandVolume, *, within: float) -> Outcome[Expanded]:
        self._leadership.check()
        return await self._calls.expand(volume, within=within)

    async def modify(
        self,
        volume_id: str,
        mutable_parameters: Mapping[str, str],
        secrets: Secrets = NO_SECRETS,
        *,
        within: float,
    ) -> Outcome[None]:
        self._leadership.check()
        return await self._calls.modify(volume_id, mutable_parameters, secrets, within=within)

    async def list_all(self, *, within: float) -> Outcome[tuple[VolumeState, ...]]:
        return await self._calls.list_all(within=within)

    async def get_capacity(
        self,
        *,
        parameters: Mapping[str, str] | None = None,
        topology: Topology | None = None,
        within: float,
    ) -> Outcome[Capacity]:
        return await self._calls.get_capacity(
            parameters=parameters, topology=topology, within=within
        )


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
