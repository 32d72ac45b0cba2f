"""The plugin that serves Fibre Channel disks."""

from pathlib import Path

from msgspec.structs import replace

from mooring.host.scsi import ScsiTree
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import VolumeError
from mooring.plugins.disk_mounts import FormatAndMount, really
from mooring.plugins.disk_plugin import DiskPlugin, find_mapped, find_mounted
from mooring.plugins.fc import records
from mooring.plugins.fc.attach import FcDisks
from mooring.plugins.fc.disk import (
    NAME,
    FcDisk,
    find_source,
    get_source,
    global_map,
    global_mount,
    is_read_only,
    volume_name,
)
from mooring.plugins.volume_host import Host


class _Disks:
    """`Disks`: the adapters of nodes find them by themselves."""

    def __init__(self, host: Host, disks: FcDisks) -> None:
        self._host = host
        self._disks = disks

    def has(self, use: VolumeUse) -> bool:
        return find_source(use) is not None

    def fs_type(self, use: VolumeUse) -> str:
        return get_source(use).fs_type

    def is_read_only(self, use: VolumeUse) -> bool:
        return is_read_only(use)

    def global_mount(self, use: VolumeUse) -> Path:
        return global_mount(self._host.layout, FcDisk.of(use))

    def global_map(self, use: VolumeUse) -> Path:
        return global_map(self._host.layout, FcDisk.of(use))

    async def attach(self, use: VolumeUse, pod: Pod, directory: Path) -> str:
        return await self._disks.attach(FcDisk.of(use), directory)

    async def detach(self, directory: Path) -> None:
        await self._disks.detach(directory)


class Fc(DiskPlugin):
    name = NAME

    def __init__(
        self, host: Host, scsi: ScsiTree | None = None, how: FormatAndMount = really
    ) -> None:
        """Without further arguments it works on this machine."""
        super().__init__(host, _Disks(host, FcDisks(host, scsi or ScsiTree())), how)

    def volume_name(self, use: VolumeUse) -> str:
        return volume_name(get_source(use))

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        known = records.every(self._host.layout)
        place = find_mounted(self._host, NAME, name, pod_uid, known)
        return _rebuilt(place, name, VolumeMode.FILESYSTEM)

    def rebuild_block(self, name: str, pod_uid: str) -> VolumeUse:
        known = records.every(self._host.layout)
        place = find_mapped(self._host, NAME, name, pod_uid, known)
        return _rebuilt(place, name, VolumeMode.BLOCK)


def _rebuilt(directory: Path, name: str, mode: VolumeMode) -> VolumeUse:
    """Raises: VolumeError."""
    disk = records.find(directory)
    if disk is None:
        raise VolumeError(f"{directory} does not tell which disk it is for")
    known = "" if "/" in name else name
    disk = replace(disk, vol_name=known or disk.vol_name or directory.name)
    spec = VolumeSpec(fc=disk.source(), volume_mode=mode)
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name=disk.vol_name), spec=spec))
