"""The device of a disk as a block volume: attaching has found it, mapping shows it to the pod."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from mooring.host.blocking import in_thread
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Usage
from mooring.plugins.measure import measure_device
from mooring.plugins.volume_host import Host


class DiskBlockMapper:
    def __init__(self, host: Host, plugin: str, name: str, pod_uid: str, map_path: Path) -> None:
        self._link = host.layout.device_link(pod_uid, plugin, name)
        self._map_path = map_path
        self._bound = map_path / pod_uid

    def global_map_path(self) -> Path:
        return self._map_path

    def pod_device_link(self) -> Path:
        return self._link

    async def set_up_device(self) -> str:
        return ""

    async def map_pod_device(self) -> str:
        """The one it was attached at."""
        return ""

    async def usage(self) -> Usage | None:
        return await in_thread(measure_device, self._bound)


class DiskBlockUnmapper:
    def __init__(
        self,
        host: Host,
        plugin: str,
        name: str,
        pod_uid: str,
        map_path: Callable[[VolumeUse], Path],
        detach: Callable[[Path], Awaitable[None]],
    ) -> None:
        self._link = host.layout.device_link(pod_uid, plugin, name)
        self._map_path = map_path
        self._detach = detach

    def global_map_path(self, use: VolumeUse) -> Path:
        return self._map_path(use)

    def pod_device_link(self) -> Path:
        return self._link

    async def unmap_pod_device(self) -> None:
        """Nothing was done for the pod alone."""

    async def tear_down_device(self, map_path: Path, device: str) -> None:
        await self._detach(map_path)
