"""Volumes that are images: their layers, put together read-only below the pod's directory.

They are mounted once per pod and volume, when the first container wants them, and unmounted when
none is left.
"""

import os
from pathlib import Path

from mooring.host import cleanup, subpath
from mooring.host.blocking import in_thread, within_own
from mooring.host.contract import MountOps
from mooring.host.refusal import refusals
from mooring.host.subpath import SubPathMount
from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.node.mount_list import ContainerMount
from mooring.node.pod_directory import place_of
from mooring.node.pods.paths import PodPaths
from mooring.node.pods.pod_images import PodImages
from mooring.node.pods.waiting_reason import CREATE, CannotStart
from mooring.oci import rootfs
from mooring.oci.contract import StoredImage


class ImageVolumes:
    def __init__(self, paths: PodPaths, mounts: MountOps, images: PodImages) -> None:
        self._paths = paths
        self._mounts = mounts
        self._images = images

    async def show(self, pod: Pod, container: Container, mount: ContainerMount, index: int) -> Path:
        """Where the image's files are for this container; `index` is of its volumeMount.

        Repeated: what is mounted is used again. Raises: CannotStart, HostError.
        """
        if mount.image is None:
            raise CannotStart(CREATE, f'volume "{mount.name}" is no image')
        image = await self._images.for_volume(pod, mount.image)
        with within_own(place_of(pod.uid)):
            return await self._show_part(pod, container, mount, image, index)

    async def _show_part(
        self, pod: Pod, container: Container, mount: ContainerMount, image: StoredImage, index: int
    ) -> Path:
        target = await in_thread(self._show, pod, mount, image)
        if not mount.image_sub_path:
            return target
        part = SubPathMount(
            volume_path=target,
            sub_path=mount.image_sub_path,
            pod_dir=self._paths.layout.pod(pod.uid),
            volume=mount.name,
            container=container.name,
            mount=mount.name,
            index=index,
        )
        return await in_thread(subpath.prepare, part, self._mounts)

    async def take_away(self, pod_uid: str) -> None:
        """Before: no container of the pod is left. Repeated: success. Raises: HostError."""
        with within_own(place_of(pod_uid)):
            await in_thread(self._take_away, pod_uid)

    def _show(self, pod: Pod, mount: ContainerMount, image: StoredImage) -> Path:
        target = self._paths.image_volumes(pod.uid) / mount.name
        with refusals(f"prepare the image of volume {mount.name}"):
            target.mkdir(mode=0o750, parents=True, exist_ok=True)
        if not self._mounts.is_mount_point(target):
            rootfs.show(self._mounts, image, target)
        return target

    def _take_away(self, pod_uid: str) -> None:
        top = self._paths.image_volumes(pod_uid)
        with refusals(f"clean up {top}"):
            try:
                names = os.listdir(top)
            except FileNotFoundError:
                return
            for name in names:
                cleanup.clean_up(self._mounts, top / name)
            top.rmdir()
