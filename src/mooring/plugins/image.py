"""image: the content of an image or artifact, which only a container runtime can fetch and show.

For the node there is nothing to do: the runtime gets the reference, and mounts it read-only.
"""

from pathlib import Path

from mooring.model.pod import Pod
from mooring.model.pod_volume import ImageSource, PodVolume
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Attributes, MountRequest, Usage, VolumeError

NAME = "kubernetes.io/image"


class ImageMount:
    """Sets up nothing, and tears down nothing."""

    path = Path()
    attributes = Attributes(read_only=True)

    async def set_up(self, request: MountRequest) -> None:
        """The runtime mounts it for each container."""

    async def usage(self) -> Usage | None:
        return None

    async def tear_down(self) -> None:
        """It goes with the containers."""


class Image:
    name = NAME
    takes_mount_options = False

    def supports(self, use: VolumeUse) -> bool:
        return use.inline is not None and use.inline.image is not None

    def volume_name(self, use: VolumeUse) -> str:
        if use.inline is None or use.inline.image is None:
            raise VolumeError("the volumeSpec does not reference an Image volume type")
        return use.inline.image.reference

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> ImageMount:
        return ImageMount()

    def unmounter(self, name: str, pod_uid: str) -> ImageMount:
        return ImageMount()

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        return VolumeUse(inline=PodVolume(name=name, image=ImageSource()))
