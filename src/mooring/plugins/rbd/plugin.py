"""The plugin that serves images of Ceph."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mooring.errors import HostError
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.mountinfo import canonical
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins import ceph
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
from mooring.plugins.layout import DEVICES
from mooring.plugins.rbd.attach import RbdImages
from mooring.plugins.rbd.image import (
    NAME,
    RbdImage,
    find_source,
    get_source,
    global_map,
    global_mount,
    is_read_only,
    must_be_free,
)
from mooring.plugins.volume_host import Host


class RbdAttacher:
    """`Attacher` and `Detacher` of the contract: nodes map images by themselves."""

    def __init__(self, host: Host, images: RbdImages, how: FormatAndMount) -> None:
        self._host = host
        self._images = images
        self._how = how

    async def attach(self, use: VolumeUse, node: str) -> str:
        return ""

    async def detach(self, volume_name: str, node: str) -> None:
        """The node unmaps the image when it unmounts it."""

    async def are_attached(self, uses: Sequence[VolumeUse], node: str) -> Mapping[str, bool]:
        return {use.name: True for use in uses}

    async def wait_for_attach(self, use: VolumeUse, device: str, pod: Pod) -> str:
        image = RbdImage.of(use)
        place = global_map if use.mode is VolumeMode.BLOCK else global_mount
        directory = place(self._host.layout, image)
        ref = get_source(use).secret_ref
        key = "" if ref is None else await ceph.read_key(self._host, ref, pod)
        return await self._images.attach(image, directory, key, must_be_free=must_be_free(use))

    def device_mount_path(self, use: VolumeUse) -> Path:
        return global_mount(self._host.layout, RbdImage.of(use))

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
            await self._images.detach(target)  # nobody will ask for it any more
            raise

    async def unmount_device(self, target: Path) -> None:
        await in_thread(unmount_disk, self._host.mounts, target)
        await self._images.detach(target)


class Rbd:
    name = NAME
    takes_mount_options = True
    access_modes = (AccessMode.ONCE, AccessMode.READ_ONLY_MANY)

    def __init__(
        self, host: Host, images: RbdImages | None = None, how: FormatAndMount = really
    ) -> None:
        """Without further arguments it works on this machine."""
        self._host = host
        self._images = images or RbdImages(host, ceph.run)
        self._attacher = RbdAttacher(host, self._images, how)

    def supports(self, use: VolumeUse) -> bool:
        return find_source(use) is not None

    def volume_name(self, use: VolumeUse) -> str:
        source = get_source(use)
        return f"{source.pool}:{source.image}"

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> DiskMounter:
        files = self._attacher.device_mount_path(use)
        return DiskMounter(self._host, use, pod, SharedDisk(NAME, files, is_read_only(use)))

    def unmounter(self, name: str, pod_uid: str) -> DiskUnmounter:
        return DiskUnmounter(self._host, NAME, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        """From its device mount; of one that no pod has, `name` is the name of that."""
        if not pod_uid:
            return _rebuilt(Path(name), "", VolumeMode.FILESYSTEM)
        top = canonical(self._host.layout.plugin(NAME) / "any").parent
        pod_path = canonical(self._host.layout.volume(pod_uid, NAME, name))
        for path in self._host.mounts.table().references(pod_path):
            if path.is_relative_to(top):
                return _rebuilt(path, name, VolumeMode.FILESYSTEM)
        raise VolumeError("couldn't fetch globalPDPath. failed to obtain volume spec")

    def can_mount_device(self, use: VolumeUse) -> bool:
        return True

    def can_attach(self, use: VolumeUse) -> bool:
        return True

    async def is_node_full(self, use: VolumeUse, node: str) -> bool:
        return False

    def attacher(self) -> RbdAttacher:
        return self._attacher

    def detacher(self) -> RbdAttacher:
        return self._attacher

    def device_mounter(self) -> RbdAttacher:
        return self._attacher

    def device_unmounter(self) -> RbdAttacher:
        return self._attacher

    def block_mapper(self, use: VolumeUse, pod: Pod) -> DiskBlockMapper:
        return DiskBlockMapper(self._host, NAME, use.name, pod.uid, self._map_path(use))

    def block_unmapper(self, name: str, pod_uid: str) -> DiskBlockUnmapper:
        return DiskBlockUnmapper(
            self._host, NAME, name, pod_uid, self._map_path, self._images.detach
        )

    def rebuild_block(self, name: str, pod_uid: str) -> VolumeUse:
        """From its directory, which `name` is where the pod's link is gone."""
        top = self._host.layout.plugin(NAME) / DEVICES
        if (top / name).is_dir():
            return _rebuilt(top / name, "", VolumeMode.BLOCK)
        for path in sorted(top.glob(f"*/{pod_uid}")):
            return _rebuilt(path.parent, name, VolumeMode.BLOCK)
        raise VolumeError("couldn't fetch globalPDPath. failed to obtain volume spec")

    def _map_path(self, use: VolumeUse) -> Path:
        return global_map(self._host.layout, RbdImage.of(use))


def _rebuilt(directory: Path, name: str, mode: VolumeMode) -> VolumeUse:
    """Raises: VolumeError."""
    image = RbdImage.at(directory)
    spec = VolumeSpec(rbd=image.source(), volume_mode=mode)
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name=name or image.place), spec=spec))
