"""What plugins have in common whose disks nodes reach by themselves: iscsi, fc and rbd.

A disk is attached on the node when a pod wants it, mounted once, bound from there for each pod, and
let go with the mount. A plugin says how its disks are reached (`Disks`), and how volumes are found
again on the disk after a restart (`rebuild`, `rebuild_block`).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from mooring.errors import HostError
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.mountinfo import canonical
from mooring.model.pod import Pod
from mooring.model.storage_terms import AccessMode, VolumeMode
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
    unmount_disk,
)
from mooring.plugins.layout import DEVICES
from mooring.plugins.volume_host import Host

SHARED = "./"  # before the place of a disk that no pod has; no volume has one in its name
_NOWHERE = "couldn't fetch globalPDPath. failed to obtain volume spec"


class Disks(Protocol):
    """The disks of one plugin."""

    def has(self, use: VolumeUse) -> bool:
        """Whether the volume is such a disk; the others are asked of these alone."""
        ...

    def fs_type(self, use: VolumeUse) -> str: ...

    def is_read_only(self, use: VolumeUse) -> bool: ...

    def global_mount(self, use: VolumeUse) -> Path:
        """Where it is mounted for all pods."""
        ...

    def global_map(self, use: VolumeUse) -> Path:
        """Where its device is shown to all pods."""
        ...

    async def attach(self, use: VolumeUse, pod: Pod, directory: Path) -> str:
        """Its device; `directory` will be asked which disk it is for. Raises: VolumeError."""
        ...

    async def detach(self, directory: Path) -> None:
        """Let go the disk that `directory` is for. Raises: VolumeError."""
        ...


class DiskAttacher:
    """`Attacher` and `Detacher` of the contract: there is nothing to do but on the node."""

    def __init__(self, host: Host, disks: Disks, how: FormatAndMount) -> None:
        self._host = host
        self._disks = disks
        self._how = how

    async def attach(self, use: VolumeUse, node: str) -> str:
        return ""

    async def detach(self, volume_name: str, node: str) -> None:
        """The node lets go of the disk when it unmounts it."""

    async def are_attached(self, uses: Sequence[VolumeUse], node: str) -> Mapping[str, bool]:
        return {use.name: True for use in uses}

    async def wait_for_attach(self, use: VolumeUse, device: str, pod: Pod) -> str:
        is_block = use.mode is VolumeMode.BLOCK
        place = self._disks.global_map if is_block else self._disks.global_mount
        return await self._disks.attach(use, pod, place(use))

    def device_mount_path(self, use: VolumeUse) -> Path:
        return self._disks.global_mount(use)

    async def mount_device(
        self, use: VolumeUse, device: str, target: Path, request: DeviceRequest
    ) -> None:
        options = device_options(use, request, read_only=self._disks.is_read_only(use))
        root = self._host.layout.root
        mount = DiskMount(device, target, self._disks.fs_type(use), options, root)
        try:
            with taking(LONG_SECONDS):
                await in_thread(mount_disk, self._host.mounts, mount, self._how)
        except (VolumeError, HostError):
            await self._disks.detach(target)  # nobody will ask for it any more
            raise

    async def unmount_device(self, target: Path) -> None:
        await in_thread(unmount_disk, self._host.mounts, target)
        await self._disks.detach(target)


class DiskPlugin:
    """All of a plugin but its `volume_name`, and the reconstruction of its volumes."""

    name: str
    takes_mount_options = True
    access_modes = (AccessMode.ONCE, AccessMode.READ_ONLY_MANY)

    def __init__(self, host: Host, disks: Disks, how: FormatAndMount) -> None:
        self._host = host
        self._disks = disks
        self._attacher = DiskAttacher(host, disks, how)

    def supports(self, use: VolumeUse) -> bool:
        return self._disks.has(use)

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> DiskMounter:
        files, read_only = self._disks.global_mount(use), self._disks.is_read_only(use)
        return DiskMounter(self._host, use, pod, SharedDisk(self.name, files, read_only))

    def unmounter(self, name: str, pod_uid: str) -> DiskUnmounter:
        return DiskUnmounter(self._host, self.name, name, pod_uid)

    def can_mount_device(self, use: VolumeUse) -> bool:
        return True

    def can_attach(self, use: VolumeUse) -> bool:
        return True

    async def is_node_full(self, use: VolumeUse, node: str) -> bool:
        return False

    def attacher(self) -> DiskAttacher:
        return self._attacher

    def detacher(self) -> DiskAttacher:
        return self._attacher

    def device_mounter(self) -> DiskAttacher:
        return self._attacher

    def device_unmounter(self) -> DiskAttacher:
        return self._attacher

    def block_mapper(self, use: VolumeUse, pod: Pod) -> DiskBlockMapper:
        place = self._disks.global_map(use)
        return DiskBlockMapper(self._host, self.name, use.name, pod.uid, place)

    def block_unmapper(self, name: str, pod_uid: str) -> DiskBlockUnmapper:
        disks = self._disks
        return DiskBlockUnmapper(
            self._host, self.name, name, pod_uid, disks.global_map, disks.detach
        )


# finding volumes again


class Recorded(Protocol):
    """What is written beside the mount of a disk."""

    @property
    def vol_name(self) -> str: ...


def find_mounted(
    host: Host,
    plugin: str,
    name: str,
    pod_uid: str,
    recorded: Iterable[tuple[Path, Recorded]] = (),
) -> Path:
    """Where the volume with this name of this pod is mounted for all.

    Of a disk that no pod has, `name` is the place below the plugin's directory.
    Raises: VolumeError.
    """
    if "/" in name:
        return host.layout.plugin(plugin) / name.removeprefix(SHARED)
    top = canonical(host.layout.plugin(plugin) / "any").parent
    pod_path = canonical(host.layout.volume(pod_uid, plugin, name))
    for path in host.mounts.table().references(pod_path):
        if path.is_relative_to(top):
            return path
    for path, disk in recorded:
        if disk.vol_name == name and DEVICES not in path.parts:
            return path
    raise VolumeError(_NOWHERE)


def find_mapped(
    host: Host, plugin: str, name: str, pod_uid: str, recorded: Iterable[tuple[Path, Recorded]]
) -> Path:
    """Where the device of the volume is shown to all; `name` as above. Raises: VolumeError."""
    if "/" in name:
        return host.layout.plugin(plugin) / DEVICES / name.removeprefix(SHARED)
    for path, disk in recorded:
        if DEVICES in path.parts and (disk.vol_name == name or (path / pod_uid).exists()):
            return path
    raise VolumeError(_NOWHERE)
