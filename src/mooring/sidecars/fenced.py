"""Calls of a driver as a leader makes them: refused once another may lead."""

from collections.abc import Mapping

from mooring.csi.outcome import Outcome
from mooring.csi.requests import AttachVolume, Capacity, CreateVolume, Expanded, ExpandVolume
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.topology import Topology
from mooring.csi.volume import Volume, VolumeState
from mooring.reconcile.leadership import Leadership
from mooring.sidecars.driver import Calls


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
