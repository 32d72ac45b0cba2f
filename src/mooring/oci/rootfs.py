"""What containers see of images: their root, a layer of its own over an image or over the host's
root, and images that are volumes.

Layers are named by descriptors (`/proc/self/fd/7`): so their paths may be long and hold colons and
commas, and many of them fit into the one page that mount(2) takes.
"""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from mooring.errors import HostError, KernelRefused
from mooring.host import tree
from mooring.host.cleanup import PathState, examine
from mooring.host.contract import MountOps
from mooring.host.refusal import reason, refusals
from mooring.oci.bundle import Hidden
from mooring.oci.contract import StoredImage
from mooring.oci.records import Place

HOST_ROOT = Path("/")

# On the host's root a container finds these empty, and to itself.
_PRIVATE = (
    Hidden("/run"),
    Hidden("/tmp", mode="1777"),  # noqa: S108  hidden, not used
    Hidden("/var/tmp", mode="1777"),  # noqa: S108  hidden, not used
    Hidden("/root", mode="0700"),
    Hidden("/home"),
    Hidden("/var/lib/kubelet", mode="0700"),
    Hidden("/etc/kubernetes", mode="0700"),
    Hidden("/etc/ssh"),
    Hidden("/etc/ssl/private", mode="0700"),
    Hidden("/etc/shadow", is_directory=False),
    Hidden("/etc/gshadow", is_directory=False),
)


def mount(mounts: MountOps, place: Place, image: StoredImage | None) -> None:
    """Make the container's root file system appear at `place.rootfs`.

    Raises: HostError when nothing is mounted.
    """
    layers = image.layers if image is not None else (HOST_ROOT,)
    with refusals(f"mkdir below {place.directory}"):
        place.upper.mkdir(mode=0o755)
        place.work.mkdir(mode=0o700)
    with ExitStack() as stack:
        named = [_named(layer, stack) for layer in (*layers, place.upper, place.work)]
        options = (
            f"lowerdir={':'.join(named[:-2])}",
            f"upperdir={named[-2]}",
            f"workdir={named[-1]}",
        )
        _lay(mounts, place, options, layers)


def _lay(mounts: MountOps, place: Place, options: Sequence[str], layers: Sequence[Path]) -> None:
    try:
        try:
            # What a container wrote goes with it; nothing need ever be flushed to the disk.
            mounts.mount("overlay", place.rootfs, "overlay", (*options, "volatile"))
        except KernelRefused:
            mounts.mount("overlay", place.rootfs, "overlay", options)  # Linux before 5.10
    except KernelRefused as refused:
        raise HostError(
            f"cannot lay a container's files over {_told(layers)}: the file system of "
            f"{place.directory.parent} must be able to hold the upper layer of an overlay "
            f"(ext4, xfs and tmpfs can): {reason(refused.errno)}"
        ) from refused


def show(mounts: MountOps, image: StoredImage, target: Path) -> None:
    """Make the image's files appear at `target`, read-only. Raises: HostError."""
    if len(image.layers) == 1:
        mounts.bind(image.layers[0], target, ("ro",))
        return
    with ExitStack() as stack:
        named = [_named(layer, stack) for layer in image.layers]
        mounts.mount("overlay", target, "overlay", ("ro", f"lowerdir={':'.join(named)}"))


def take_away(mounts: MountOps, place: Place) -> None:
    """Unmount it, and remove all that the container wrote, and all that is kept of it.

    Repeated: nothing. Raises: HostError when something is left.
    """
    if examine(place.directory) is PathState.MISSING:
        return
    while mounts.is_mount_point(place.rootfs):
        mounts.unmount(place.rootfs)
    tree.remove_path(place.directory)


def hidden_on_host(ours: Sequence[Path]) -> tuple[Hidden, ...]:
    """What a container on the host's root must not see: our own data, and others' secrets."""
    usual = [hidden for hidden in _PRIVATE if _is_as_told(hidden)]
    covered = {hidden.path for hidden in usual if hidden.is_directory}
    own = [
        Hidden(str(path), mode="0700")
        for path in dict.fromkeys(Path(os.path.realpath(path)) for path in ours)
        if not covered & {str(above) for above in (path, *path.parents)} and path.is_dir()
    ]
    return (*usual, *own)


def _is_as_told(hidden: Hidden) -> bool:
    """A link is passed over: what it leads to has an entry of its own, or is out of sight."""
    path = Path(hidden.path)
    if path.is_symlink():
        return False
    return path.is_dir() if hidden.is_directory else path.is_file()


def _named(path: Path, stack: ExitStack) -> str:
    with refusals(f"open {path}"):
        opened = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    stack.callback(os.close, opened)
    return f"/proc/self/fd/{opened}"


def _told(layers: Sequence[Path]) -> str:
    return str(layers[0]) if len(layers) == 1 else f"{len(layers)} layers"
