"""Id-mapped binds of layers and volumes, for a container with a user namespace, during creation.

Files keep their ids on the disk: files of 0 there belong to the container's root, which is an
unused id on the host. So layers and volumes are bound once more with their ids mapped, and the
container is created on these binds. Afterwards it has its own, and ours are unmounted at once: they
would keep a volume's device busy.

    <open>                bound onto itself, and unbindable: a volume that shows a directory above
                          it, be it `/`, does not show the binds of other containers
    <open>/<id>           owned by the container's root on the host, and closed to other users
    <open>/<id>/mapped/n  layers, and volumes
    <open>/<id>/rootfs    the container's root, for the runtime's first process: its id on the host
                          may not pass through the containers' own directories
"""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from mooring.errors import HostError
from mooring.host.contract import MountOps
from mooring.host.mountinfo import canonical
from mooring.host.refusal import refusals
from mooring.host.user_namespace import LENGTH, user_namespace
from mooring.oci.contract import Bind, RuntimeRefused
from mooring.oci.records import ContainerDirectory
from mooring.oci.users import User

_OPENING = threading.Lock()  # <open> is not taken away while another container enters it

# A mount that a less privileged namespace copies keeps these: they have to be asked for again.
_KEPT = {
    os.ST_NOSUID: "nosuid",
    os.ST_NODEV: "nodev",
    os.ST_NOEXEC: "noexec",
    os.ST_NOATIME: "noatime",
    os.ST_NODIRATIME: "nodiratime",
    os.ST_RELATIME: "relatime",
}


class IdMapping:
    """The mapped binds of one container. Every call blocks: it mounts."""

    def __init__(
        self, mounts: MountOps, place: ContainerDirectory, namespace: int, first: int
    ) -> None:
        self.first_host_id = first
        self._mounts = mounts
        self._place = place
        self._namespace = namespace
        self._made = 0

    def layers(self, layers: Sequence[Path]) -> tuple[Path, ...]:
        """The layers of an image, as the container's users see them. Raises: HostError."""
        return tuple(self._bind(layer, recursive=False) for layer in layers)

    def binds(self, binds: Sequence[Bind]) -> tuple[Bind, ...]:
        """Raises: HostError, RuntimeRefused when one cannot be mapped."""
        return tuple(self._mapped(bind) for bind in binds)

    def _mapped(self, bind: Bind) -> Bind:
        if bind.propagation == "rshared":
            raise RuntimeRefused(
                f"mounts made in {bind.target} cannot reach the host (Bidirectional): "
                "the container's users are not the host's"
            )
        try:
            source = self._bind(bind.source, recursive=True)
        except HostError as error:
            raise RuntimeRefused(
                f"{bind.target} cannot be shown to users who are not the host's: {error}"
            ) from error
        with refusals(f"statvfs {source}"):
            found = os.statvfs(source).f_flag
        kept = tuple(word for flag, word in _KEPT.items() if found & flag)
        return msgspec.structs.replace(bind, source=source, flags=kept)

    def _bind(self, source: Path, *, recursive: bool) -> Path:
        target = self._place.mapped / str(self._made)
        self._made += 1
        with refusals(f"make {target}"):
            if source.is_dir():
                target.mkdir(mode=0o700)
            else:
                target.touch(mode=0o600)
        self._mounts.bind_mapped(source, target, self._namespace, recursive=recursive)
        return target

    def show_root(self, parts: Sequence[str]) -> None:
        """Let the runtime's first process reach the container's root, and the parts of it that are
        mounts of their own. Raises: HostError."""
        root, opened = self._place.rootfs, self._place.open_rootfs
        self._mounts.bind(root, opened)
        # A node's root directory is shared: when the parts are taken away again, they would go from
        # the container too, which has them from here.
        self._mounts.make_private(opened)
        for part in parts:
            below = part.removeprefix("/")
            self._mounts.bind(root / below, opened / below)


@contextmanager
def mapping(mounts: MountOps, place: ContainerDirectory, first_host_id: int) -> Iterator[IdMapping]:
    """Raises: HostError when this machine makes no user namespaces."""
    _open(mounts, place, first_host_id)
    with user_namespace(first_host_id) as namespace:
        yield IdMapping(mounts, place, namespace, first_host_id)


def _open(mounts: MountOps, place: ContainerDirectory, first_host_id: int) -> None:
    opened = place.opened.parent
    with _OPENING, refusals(f"mkdir below {opened}"):
        opened.mkdir(mode=0o711, parents=True, exist_ok=True)
        for passage in (opened, opened.parent):
            passage.chmod(passage.stat().st_mode | 0o011)
        mounts.make_unbindable(opened)
        place.opened.mkdir(mode=0o700)
        place.mapped.mkdir(mode=0o700)
        place.open_rootfs.mkdir(mode=0o700)
        os.chown(place.opened, first_host_id, first_host_id)


def check_user(user: User) -> None:
    """Raises: RuntimeRefused for ids that the namespace does not have."""
    beyond = [number for number in (user.uid, *user.groups) if number >= LENGTH]
    if beyond:
        raise RuntimeRefused(
            f"id {beyond[0]} is not one of the {LENGTH} that a pod with hostUsers: false has"
        )


def release(mounts: MountOps, place: ContainerDirectory) -> None:
    """The container is made: take away what it was made on; blocks.

    The directory of its root stays, empty: there the runtime begins whatever it does with it.
    Repeated: nothing. Raises: HostError when something is left.
    """
    release_layers(mounts, place)
    if place.open_rootfs.is_dir():
        for entry in reversed(mounts.table().below(canonical(place.open_rootfs))):
            mounts.unmount(entry.mount_point)


def take_away(mounts: MountOps, place: ContainerDirectory) -> None:
    """Repeated: nothing. Raises: HostError when something is left."""
    if not place.opened.is_dir():
        return
    release(mounts, place)
    opened = place.opened.parent
    with _OPENING, refusals(f"rmdir below {opened}"):
        for directory in (place.open_rootfs, place.mapped, place.opened):
            with suppress(FileNotFoundError):
                directory.rmdir()
        if not any(opened.iterdir()):
            mounts.unmount(opened)


def release_layers(mounts: MountOps, place: ContainerDirectory) -> None:
    """What lies below `mapped` alone. Repeated: nothing. Raises: HostError."""
    if not place.mapped.is_dir():
        return
    for entry in reversed(mounts.table().below(canonical(place.mapped))):
        mounts.unmount(entry.mount_point)
    with refusals(f"empty {place.mapped}"):
        for left in list(place.mapped.iterdir()):
            if left.is_dir():
                left.rmdir()
            else:
                left.unlink()
