"""What of a pod's volumes a container gets to see: a list for the container's spec.

Parts of volumes (subPath) are bound below the pod's directory on the way, so that no link in a
volume leads the runtime out of it. `/etc/hosts` is not among it.
"""

import posixpath
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path

import msgspec

from mooring.host import subpath, subpath_rules
from mooring.host.blocking import in_thread, within_volume
from mooring.host.contract import MountOps
from mooring.host.refusal import refusals
from mooring.host.subpath import SubPathMount
from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.model.pod_volume import ImageSource, VolumeMount
from mooring.node.actual import NOWHERE, PodMount
from mooring.plugins.contract import Mounter, VolumeError
from mooring.plugins.layout import Layout

READ_WRITE = "mrw"  # and mknod
READ_ONLY = "r"


class Propagation(Enum):
    """Whether mounts that are made later are seen on the other side."""

    PRIVATE = "private"
    HOST_TO_CONTAINER = "rslave"
    BIDIRECTIONAL = "rshared"


class ContainerMount(msgspec.Struct, frozen=True):
    name: str
    container_path: str
    host_path: Path | None  # None: `image` instead
    read_only: bool = False
    recursive_read_only: bool = False
    propagation: Propagation = Propagation.PRIVATE
    relabel: bool = False
    image: ImageSource | None = None
    image_sub_path: str = ""


class ContainerDevice(msgspec.Struct, frozen=True):
    host_path: Path  # a link to the device
    container_path: str
    permissions: str


class ContainerVolumes(msgspec.Struct, frozen=True):
    mounts: tuple[ContainerMount, ...]
    devices: tuple[ContainerDevice, ...]


class Sight(msgspec.Struct, frozen=True):
    """What one container of a pod is about to see."""

    pod: Pod
    container: Container
    reach: Mapping[str, PodMount]  # the pod's volumes that are mounted, by their names in it
    environment: Mapping[str, str]  # of the container
    can_be_read_only_below: bool = False  # the runtime knows recursive read-only mounts


async def list_volumes(layout: Layout, mounts: MountOps, sight: Sight) -> ContainerVolumes:
    """Before: the pod's volumes are mounted.

    Repeated: the same list, and what was bound for it before is used again.
    Raises: VolumeError, HostError, for the pod's owner to read; the container cannot start.
    """
    devices = await in_thread(lambda: tuple(_devices(sight)))
    shown = []
    for index, wish in enumerate(sight.container.volume_mounts):
        if wish.sub_path or wish.sub_path_expr:  # else no file system is asked
            volume = sight.reach.get(wish.name)
            with within_volume("" if volume is None else volume.volume):
                shown.append(await in_thread(_mount, layout, mounts, sight, index))
        else:
            shown.append(_mount(layout, mounts, sight, index))
    return ContainerVolumes(tuple(shown), devices)


def _devices(sight: Sight) -> Iterator[ContainerDevice]:
    for device in sight.container.volume_devices:
        if not device.device_path.startswith("/"):
            raise VolumeError(f"error DevicePath `{device.device_path}` must be an absolute path")
        volume = sight.reach.get(device.name)
        if volume is None or volume.reach is None or isinstance(volume.reach, Mounter):
            raise VolumeError(
                f'cannot find volume "{device.name}" to pass into container '
                f'"{sight.container.name}"'
            )
        link = volume.reach.pod_device_link()
        with refusals(f"failed to Lstat file {link}"):
            is_there = link.is_symlink()
        if is_there:  # else the container starts without it, as upstream's do
            permissions = READ_ONLY if volume.use.read_only else READ_WRITE
            yield ContainerDevice(link, device.device_path, permissions)


def _mount(layout: Layout, mounts: MountOps, sight: Sight, index: int) -> ContainerMount:
    wish = sight.container.volume_mounts[index]
    volume, mounter = _find(sight, wish)
    sub_path = wish.sub_path
    if wish.sub_path_expr:
        sub_path = subpath_rules.expand(wish.sub_path_expr, sight.environment)
    subpath_rules.check(sub_path)
    image = None if volume.use.inline is None else volume.use.inline.image
    host_path = None
    if image is None:
        host_path = mounter.path
        if host_path == NOWHERE:
            raise VolumeError(f"path is empty {type(mounter).__name__}")
        if sub_path:
            part = SubPathMount(
                volume_path=host_path,
                sub_path=sub_path,
                pod_dir=layout.pod(sight.pod.uid),
                volume=volume.use.name,
                container=sight.container.name,
                mount=wish.name,
                index=index,
            )
            host_path = subpath.prepare(part, mounts)
    propagation = _propagation(wish)
    attributes = mounter.attributes
    return ContainerMount(
        wish.name,
        _absolute(wish.mount_path),
        host_path,
        read_only=wish.read_only or attributes.read_only,
        recursive_read_only=_is_read_only_below(wish, can=sight.can_be_read_only_below),
        propagation=propagation,
        relabel=attributes.is_managed and attributes.wants_relabel,
        image=image,
        image_sub_path=sub_path if image is not None else "",
    )


def _find(sight: Sight, wish: VolumeMount) -> tuple[PodMount, Mounter]:
    volume = sight.reach.get(wish.name)
    if volume is None or not isinstance(volume.reach, Mounter):
        raise VolumeError(
            f'cannot find volume "{wish.name}" to mount into container "{sight.container.name}"'
        )
    return volume, volume.reach


def _absolute(path: str) -> str:
    return path if path.startswith("/") else posixpath.normpath(f"/{path}")


def _propagation(wish: VolumeMount) -> Propagation:
    match wish.mount_propagation:
        case None | "None":
            return Propagation.PRIVATE
        case "HostToContainer":
            return Propagation.HOST_TO_CONTAINER
        case "Bidirectional":
            return Propagation.BIDIRECTIONAL
        case other:
            raise VolumeError(f'invalid MountPropagation mode: "{other}"')


def _is_read_only_below(wish: VolumeMount, *, can: bool) -> bool:
    mode = wish.recursive_read_only
    if mode is None or mode == "Disabled":
        return False
    asked = f'volume "{wish.name}" requested recursive read-only mode, but it is'
    if not wish.read_only:
        raise _not_resolved(f"{asked} not read-only")
    if wish.mount_propagation not in (None, "None"):
        raise _not_resolved(f'{asked} not compatible with propagation "{wish.mount_propagation}"')
    if mode == "IfPossible":
        return can
    if mode != "Enabled":
        raise _not_resolved(f'unknown recursive read-only mode "{mode}"')
    if not can:
        raise _not_resolved(f"{asked} not supported by the runtime")
    return True


def _not_resolved(because: str) -> VolumeError:
    return VolumeError(f"failed to resolve recursive read-only mode: {because}")
