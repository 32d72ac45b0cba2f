"""The plugin that serves Fibre Channel disks."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from mooring.errors import HostError
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.mountinfo import canonical
from mooring.host.scsi import ScsiTree
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import DeviceRequest, VolumeError
from mooring.plugins.disk_blocks import DiskBlockMapper, DiskBlockUnmapper
from mooring.plugins.disk_mounts import (
    DiskMount,
    DiskMounter,
    DiskUnmounter,
    FormatAndMount,
    SharedDisk,
    device_options,
    mount_disk,
    really,
    unmount_disk,
)
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
from mooring.plugins.layout import DEVICES
from mooring.plugins.volume_host import Host

SHARED = "./"  # before the place of a disk that no pod has; no volume has one in its name


class FcAttacher:
    """`Attacher` and `Detacher` of the contract: the adapters of nodes find disks by themselves."""

    def __init__(self, host: Host, disks: FcDisks, how: FormatAndMount) -> None:
        self._host = host
        self._disks = disks
        self._how = how

    async def attach(self, use: VolumeUse, node: str) -> str:
        return ""

    async def detach(self, volume_name: str, node: str) -> None:
        """The node forgets the disk when it unmounts it."""

    async def are_attached(self, uses: Sequence[VolumeUse], node: str) -> Mapping[str, bool]:
        return {use.name: True for use in uses}

    async def wait_for_attach(self, use: VolumeUse, device: str, pod: Pod) -> str:
        disk = FcDisk.of(use)
        place = global_map if use.mode is VolumeMode.BLOCK else global_mount
        directory = place(self._host.layout, disk)
        return await self._disks.attach(disk, directory)

    def device_mount_path(self, use: VolumeUse) -> Path:
        return global_mount(self._host.layout, FcDisk.of(use))

    async def mount_device(
        self, use: VolumeUse, device: str, target: Path, request: DeviceRequest
    ) -> None:
        options = device_options(use, request, read_only=is_read_only(use))
        root = self._host.layout.root
        mount = DiskMount(device, target, get_source(use).fs_type, options, root)
        try:
            with taking(LONG_SECONDS):
                await in_thread(mount_disk, self._host.mounts, mount, self._how)
        except (VolumeError, HostError):
            await self._disks.detach(target)  # nobody will ask for it any more
            raise

    async def unmount_device(self, target: Path) -> None:
        await in_thread(unmount_disk, self._host.mounts, target)
        await self._disks.detach(target)


class Fc:
    name = NAME
    takes_mount_options = True
    access_modes = (AccessMode.ONCE, AccessMode.READ_ONLY_MANY)

    def __init__(
        self,
        host: Host,
        scsi: ScsiTree | None = None,
        how: FormatAndMount = really,
    ) -> None:
        """Without further arguments it works on this machine."""
        self._host = host
        disks = FcDisks(host, scsi or ScsiTree())
        self._disks = disks
        self._attacher = FcAttacher(host, disks, how)

    def supports(self, use: VolumeUse) -> bool:
        return find_source(use) is not None

    def volume_name(self, use: VolumeUse) -> str:
        return volume_name(get_source(use))

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> DiskMounter:
        files = self._attacher.device_mount_path(use)
        return DiskMounter(self._host, use, pod, SharedDisk(NAME, files, is_read_only(use)))

    def unmounter(self, name: str, pod_uid: str) -> DiskUnmounter:
        return DiskUnmounter(self._host, NAME, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        """From its device mount; of one that no pod has, `name` is the place of that."""
        if "/" in name:
            directory = self._host.layout.plugin(NAME) / name.removeprefix(SHARED)
            return self._rebuilt(directory, "", VolumeMode.FILESYSTEM)
        top = canonical(self._host.layout.plugin(NAME) / "any").parent
        pod_path = canonical(self._host.layout.volume(pod_uid, NAME, name))
        for path in self._host.mounts.table().references(pod_path):
            if path.is_relative_to(top):
                return self._rebuilt(path, name, VolumeMode.FILESYSTEM)
        for path, disk in records.every(self._host.layout):
            if disk.vol_name == name and DEVICES not in path.parts:
                return self._rebuilt(path, name, VolumeMode.FILESYSTEM)
        raise VolumeError("couldn't fetch globalPDPath. failed to obtain volume spec")

    def can_mount_device(self, use: VolumeUse) -> bool:
        return True

    def can_attach(self, use: VolumeUse) -> bool:
        return True

    async def is_node_full(self, use: VolumeUse, node: str) -> bool:
        return False

    def attacher(self) -> FcAttacher:
        return self._attacher

    def detacher(self) -> FcAttacher:
        return self._attacher

    def device_mounter(self) -> FcAttacher:
        return self._attacher

    def device_unmounter(self) -> FcAttacher:
        return self._attacher

    def block_mapper(self, use: VolumeUse, pod: Pod) -> DiskBlockMapper:
        return DiskBlockMapper(self._host, NAME, use.name, pod.uid, self._map_path(use))

    def block_unmapper(self, name: str, pod_uid: str) -> DiskBlockUnmapper:
        return DiskBlockUnmapper(
            self._host, NAME, name, pod_uid, self._map_path, self._disks.detach
        )

    def rebuild_block(self, name: str, pod_uid: str) -> VolumeUse:
        if "/" in name:
            top = self._host.layout.plugin(NAME) / DEVICES
            return self._rebuilt(top / name.removeprefix(SHARED), "", VolumeMode.BLOCK)
        for path, disk in records.every(self._host.layout):
            if DEVICES in path.parts and (disk.vol_name == name or (path / pod_uid).exists()):
                return self._rebuilt(path, name, VolumeMode.BLOCK)
        raise VolumeError("couldn't fetch globalPDPath. failed to obtain volume spec")

    def _map_path(self, use: VolumeUse) -> Path:
        return global_map(self._host.layout, FcDisk.of(use))

    def _rebuilt(self, directory: Path, name: str, mode: VolumeMode) -> VolumeUse:
        disk = records.find(directory)
        if disk is None:
            raise VolumeError(f"{directory} does not tell which disk it is for")
        disk = replace(disk, vol_name=name or disk.vol_name or directory.name)
        spec = VolumeSpec(fc=disk.source(), volume_mode=mode)
        return VolumeUse(volume=Volume(metadata=ObjectMeta(name=disk.vol_name), spec=spec))
