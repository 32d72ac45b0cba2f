"""What the health monitor asks of a driver; all of it only reads."""

from mooring.csi.channel import Connection
from mooring.csi.controller import Controller
from mooring.csi.health import ControllerHealth
from mooring.csi.outcome import Outcome
from mooring.csi.volume import VolumeState
from mooring.csi.volume_health import VolumeHealth


class HealthOfDriver:
    """`HealthCalls` of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._health = ControllerHealth(connection)
        self._controller = Controller(connection)

    async def list_health(self, *, within: float) -> Outcome[tuple[VolumeHealth, ...]]:
        return await self._health.list_all(within=within)

    async def get_health(self, volume_id: str, *, within: float) -> Outcome[VolumeHealth]:
        return await self._health.get(volume_id, within=within)

    async def list_states(self, *, within: float) -> Outcome[tuple[VolumeState, ...]]:
        return await self._controller.list_all(within=within)

    async def get_state(self, volume_id: str, *, within: float) -> Outcome[VolumeState]:
        return await self._controller.get(volume_id, within=within)
