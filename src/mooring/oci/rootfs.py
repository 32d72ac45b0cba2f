"""What containers see of images: their root, a layer of its own over an image or over what the host
offers, and images that are volumes.

Layers are named by descriptors (`/proc/self/fd/7`): so their paths may be long and hold colons and
commas, and many of them fit into the one page that mount(2) takes.
"""

import errno
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import HostError, KernelRefused
from mooring.host import tree, usage
from mooring.host.cleanup import PathState, examine
from mooring.host.contract import MountOps
from mooring.host.mountinfo import kernel_version
from mooring.host.refusal import reason, refusals
from mooring.model.tree_usage import NOTHING, TreeUsage
from mooring.oci import id_mapping
from mooring.oci.contract import StoredImage
from mooring.oci.host_root import HostRoot, ProgramDirectory, opened
from mooring.oci.id_mapping import IdMapping
from mooring.oci.records import ContainerDirectory

_log = log.get("mooring.oci.rootfs")

# Before, an overlay brought files up into its upper layer without asking whether they may be read.
_COPIES_WITH_RIGHTS = (5, 8)
_UPPER, _WORK = "upper-", "work-"  # of a part of the host's root, before its name


def mount(
    mounts: MountOps,
    place: ContainerDirectory,
    image: StoredImage,
    mapping: IdMapping | None = None,
) -> None:
    """Make the container's root file system appear at `place.rootfs`.

    With a `mapping`, as its users see it. Raises: HostError when nothing is mounted.
    """
    layers = image.layers if mapping is None else mapping.layers(image.layers)
    _lay(mounts, _root_of(place, layers, mapping))


def mount_host(
    mounts: MountOps, place: ContainerDirectory, host: HostRoot, mapping: IdMapping | None = None
) -> tuple[str, ...]:
    """The same for a root of the host's programs; returns its parts that are separate mounts.

    Raises: HostError; what is mounted by then is left.
    """
    with host.shown() as shown:
        layers = (shown.root,) if mapping is None else mapping.layers((shown.root,))
        _lay(mounts, _root_of(place, layers, mapping))
        for part in shown.parts:
            if mapping is None:
                _lay_part(mounts, place, part)
            else:  # an overlay cannot be id-mapped: its programs are world-readable anyway
                _show_part(mounts, place, part)
        return tuple(f"/{part.name}" for part in shown.parts)


def _lay_part(mounts: MountOps, place: ContainerDirectory, part: ProgramDirectory) -> None:
    work = place.directory / f"{_WORK}{part.name}"
    laid = Laid((part.layer,), _upper(place, part), work, place.rootfs / part.name)
    try:
        if kernel_version() < _COPIES_WITH_RIGHTS:
            raise HostError("this kernel lets containers copy what they may not read")
        _lay(mounts, laid)
    except HostError as error:
        # Or Linux lays no more than two overlays on each other, and the host's root is one.
        _log.debug("a part of the host's root can be read only", part=part.name, error=error)
        _show_part(mounts, place, part)


def _show_part(mounts: MountOps, place: ContainerDirectory, part: ProgramDirectory) -> None:
    upper = _upper(place, part)
    with refusals(f"mkdir {upper}"):
        upper.mkdir(exist_ok=True)  # marks that something is mounted
    mounts.bind(part.layer, place.rootfs / part.name, ("ro",))


def _upper(place: ContainerDirectory, part: ProgramDirectory) -> Path:
    return place.directory / f"{_UPPER}{part.name}"


class Laid(msgspec.Struct, frozen=True):
    """A container's own layer over others, the topmost of which is the first."""

    layers: tuple[Path, ...]
    upper: Path
    work: Path
    target: Path
    owner: int = 0  # of the root directory, on the host


def _root_of(
    place: ContainerDirectory, layers: tuple[Path, ...], mapping: IdMapping | None
) -> Laid:
    owner = 0 if mapping is None else mapping.first_host_id
    return Laid(layers, place.upper, place.work, place.rootfs, owner)


def _lay(mounts: MountOps, laid: Laid) -> None:
    with refusals(f"mkdir below {laid.upper.parent}"):
        laid.upper.mkdir(mode=0o755)
        laid.work.mkdir(mode=0o700)
        if laid.owner:
            os.chown(laid.upper, laid.owner, laid.owner)
    with ExitStack() as stack:
        named = [opened(path, stack) for path in (*laid.layers, laid.upper, laid.work)]
        options = (
            f"lowerdir={':'.join(named[:-2])}",
            f"upperdir={named[-2]}",
            f"workdir={named[-1]}",
        )
        try:
            try:
                # What a container wrote goes with it; nothing need ever be flushed to the disk.
                mounts.mount("overlay", laid.target, "overlay", (*options, "volatile"))
            except KernelRefused:
                mounts.mount("overlay", laid.target, "overlay", options)  # Linux before 5.10
        except KernelRefused as refused:
            raise HostError(
                f"cannot lay a container's files over {_told(laid.layers)}: the file system of "
                f"{laid.upper.parent.parent} must be able to hold the upper layer of an overlay "
                f"(ext4, xfs and tmpfs can): {reason(refused.errno)}"
            ) from refused


def show(mounts: MountOps, image: StoredImage, target: Path) -> None:
    """Make the image's files appear at `target`, read-only. Raises: HostError."""
    if len(image.layers) == 1:
        mounts.bind(image.layers[0], target, ("ro",))
        return
    with ExitStack() as stack:
        named = [opened(layer, stack) for layer in image.layers]
        mounts.mount("overlay", target, "overlay", ("ro", f"lowerdir={':'.join(named)}"))


def take_away(mounts: MountOps, place: ContainerDirectory) -> None:
    """Unmount it, and remove all that the container wrote, and all that is kept of it.

    Repeated: nothing. Raises: HostError when something is left.
    """
    id_mapping.take_away(mounts, place)
    if examine(place.directory) is PathState.MISSING:
        return
    for upper in place.directory.glob(f"{_UPPER}*"):
        part = place.rootfs / upper.name.removeprefix(_UPPER)
        while mounts.is_mount_point(part):
            mounts.unmount(part)
    while mounts.is_mount_point(place.rootfs):
        mounts.unmount(place.rootfs)
    tree.remove_path(place.directory)


def written(place: ContainerDirectory) -> TreeUsage:
    """The usage of a container's own layers: what it has written, and the parents of that.

    A container that is gone has none. Raises: HostError.
    """
    found = NOTHING
    for upper in (place.upper, *place.directory.glob(f"{_UPPER}*")):
        try:
            found += usage.of_tree(upper)
        except KernelRefused as refused:
            if refused.errno != errno.ENOENT:
                raise
    return found


def _told(layers: Sequence[Path]) -> str:
    return str(layers[0]) if len(layers) == 1 else f"{len(layers)} layers"
