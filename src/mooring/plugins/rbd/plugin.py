"""The plugin that serves images of Ceph."""

from pathlib import Path

from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.resize import resize
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins import ceph
from mooring.plugins.contract import GrowthRequest, VolumeError
from mooring.plugins.disk_mounts import FormatAndMount, really
from mooring.plugins.disk_plugin import DiskPlugin, find_mounted
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
    volume_name,
)
from mooring.plugins.volume_host import Host


class _Disks:
    """`Disks`: nodes map images by themselves."""

    def __init__(self, host: Host, images: RbdImages) -> None:
        self._host = host
        self._images = images

    def has(self, use: VolumeUse) -> bool:
        return find_source(use) is not None

    def fs_type(self, use: VolumeUse) -> str:
        return get_source(use).fs_type

    def is_read_only(self, use: VolumeUse) -> bool:
        return is_read_only(use)

    def global_mount(self, use: VolumeUse) -> Path:
        return global_mount(self._host.layout, RbdImage.of(use))

    def global_map(self, use: VolumeUse) -> Path:
        return global_map(self._host.layout, RbdImage.of(use))

    async def attach(self, use: VolumeUse, pod: Pod, directory: Path) -> str:
        image, ref = RbdImage.of(use), get_source(use).secret_ref
        key = "" if ref is None else await ceph.read_key(self._host, ref, pod)
        return await self._images.attach(image, directory, key, must_be_free=must_be_free(use))

    async def detach(self, directory: Path) -> None:
        await self._images.detach(directory)


class Rbd(DiskPlugin):
    name = NAME

    def __init__(
        self, host: Host, images: RbdImages | None = None, how: FormatAndMount = really
    ) -> None:
        """Without further arguments it works on this machine."""
        super().__init__(host, _Disks(host, images or RbdImages(host, ceph.run)), how)

    def needs_node_growth(self, use: VolumeUse) -> bool:
        return True

    async def grow_on_node(self, request: GrowthRequest) -> bool:
        """The kernel is told by the cluster that a mapped image has grown."""
        if request.use.mode is not VolumeMode.BLOCK:
            with taking(LONG_SECONDS):
                await in_thread(resize, Path(request.device), request.device_mount_path)
        return True

    def volume_name(self, use: VolumeUse) -> str:
        return volume_name(get_source(use))

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        """From its device mount; of one that no pod has, `name` is the name of that."""
        if not pod_uid:
            return _rebuilt(Path(name), "", VolumeMode.FILESYSTEM)
        place = find_mounted(self._host, NAME, name, pod_uid)
        return _rebuilt(place, name, VolumeMode.FILESYSTEM)

    def rebuild_block(self, name: str, pod_uid: str) -> VolumeUse:
        """From its directory, which `name` is where the pod's link is gone."""
        top = self._host.layout.plugin(NAME) / DEVICES
        if (top / name).is_dir():
            return _rebuilt(top / name, "", VolumeMode.BLOCK)
        for path in sorted(top.glob(f"*/{pod_uid}")):
            return _rebuilt(path.parent, name, VolumeMode.BLOCK)
        raise VolumeError("couldn't fetch globalPDPath. failed to obtain volume spec")


def _rebuilt(directory: Path, name: str, mode: VolumeMode) -> VolumeUse:
    """Raises: VolumeError."""
    image = RbdImage.at(directory)
    spec = VolumeSpec(rbd=image.source(), volume_mode=mode)
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name=name or image.place), spec=spec))
