"""Images as thin logical volumes in the pool of one volume group.

In place of a file, a draft has a link to the logical volume, which is on the disk before the volume
is made; so a killed driver knows what to remove. A logical volume has the id of its volume or
snapshot as its name, and tags: who has made it (`owner`, one per state directory) and its id. One
without these tags is not ours, whatever its name: it is never changed, formatted or removed.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from mooring import log
from mooring.driver.backends import image
from mooring.driver.backends.lvm_home import Home
from mooring.driver.file_names import IMAGE
from mooring.driver.refusal import EXISTS, INVALID, PRECONDITION, CallRefused
from mooring.errors import CommandFailed, HostError
from mooring.host import block_device, loop_device
from mooring.host.lvm import LogicalVolume, Lvm, device_of
from mooring.host.refusal import refusals

_log = log.get("mooring.driver.lvm")


class LvmImages:
    """`Images`: paths are links to logical volumes."""

    def __init__(self, lvm: Lvm, home: Home) -> None:
        self._lvm = lvm
        self._home = home

    def create(self, path: Path, size: int) -> None:
        name = link(path, self._lvm.group)
        self._check_free(name)
        self._lvm.create_thin(name, self._home.pool, size, self._home.tags(name))

    def copying(self, source: Path, target: Path, size: int) -> "LvmCopy":
        return LvmCopy(self, source, target, size)

    def copy(self, source: Path, target: Path, size: int) -> int:
        with self.copying(source, target, size) as made:
            made.make()
            return made.shared_bytes

    def cut(self, source: Path, target: Path, size: int) -> int:
        """A thin snapshot at `target`, of `size`; returns how many bytes it shares."""
        origin = self.find(source)
        if origin is None:
            raise HostError(f"the logical volume of {source} is missing, or not ours")
        name = link(target, self._lvm.group)
        self._check_free(name)
        self._lvm.snapshot(origin.name, name, self._home.tags(name))
        if origin.size_bytes < size:
            self._lvm.extend(name, size)
        return mapped_bytes(origin)

    def grow(self, path: Path, size: int) -> None:
        found = self.find(path)
        if found is None:
            raise HostError(f"the logical volume of {path} is missing, or not ours")
        if found.size_bytes < size:
            self._lvm.extend(found.name, size)

    def allocate(self, path: Path) -> None:
        raise CallRefused(INVALID, f"{path}: a thin pool gives blocks out when they are written")

    def blank(self, path: Path, size: int) -> None:
        self.discard(path)
        self.create(path, size)

    def give_own_identity(self, path: Path) -> None:
        self._lvm.activate(name_of(path))
        image.give_own_identity(device_of(self._lvm.group, name_of(path)))

    def discard(self, path: Path) -> None:
        """Remove the logical volume that the link is to. Not ours, or gone: nothing happens."""
        if not path.is_symlink():
            return
        found = self.find(path)
        if found is None:
            return
        for device in loop_device.find_all(device_of(self._lvm.group, found.name)):
            loop_device.detach(device)
        self._lvm.remove(found.name)
        _log.info("logical volume removed", group=self._lvm.group, volume=found.name)

    def size_bytes(self, path: Path) -> int:
        """Raises: FileNotFoundError; HostError."""
        device = device_of(self._lvm.group, name_of(path))
        if block_device.is_block_device(device):
            return block_device.size_bytes(device)
        found = self.find(path)
        if found is None:
            raise FileNotFoundError(path)
        return found.size_bytes

    def allocated_bytes(self, path: Path) -> int:
        found = self.find(path)
        return 0 if found is None else mapped_bytes(found)

    def find_read_error(self, path: Path) -> str:
        """Only of an active one: nobody uses the others."""
        device = device_of(self._lvm.group, name_of(path))
        is_active = block_device.is_block_device(device)
        return image.find_read_error(device) if is_active else ""

    def find(self, path: Path) -> LogicalVolume | None:
        """The logical volume of an image, as LVM tells of it now; None: missing, or not ours."""
        with refusals(f"read {path}"):
            wanted = Path(os.readlink(path))
        if wanted.parent.name != self._lvm.group:
            _log.warning("of another volume group, and left alone", path=path, link=wanted)
            return None
        found = self._lvm.volumes().get(wanted.name)
        if found is not None and not self._home.is_ours(found):
            _log.warning("not a logical volume of this driver, and left alone", volume=wanted)
            return None
        return found

    def _check_free(self, name: str) -> None:
        """Raises: CallRefused when there is a logical volume of this name, whoever made it."""
        if name in self._lvm.volumes():
            text = f"{self._lvm.group}/{name} exists already; it was left alone"
            raise CallRefused(EXISTS, text)


class LvmCopy:
    """`Copying`: a thin snapshot, which is of one moment by itself."""

    def __init__(self, images: LvmImages, source: Path, target: Path, size: int) -> None:
        self._images = images
        self._source = source
        self._target = target
        self._size = size
        self._shared = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def shared_bytes(self) -> int:
        return self._shared

    def reopen(self) -> None:
        """A logical volume is named anew with each command."""

    def make(self) -> None:
        self._images.discard(self._target)
        self._shared = self._images.cut(self._source, self._target, self._size)

    def catch_up(
        self, go_on: Callable[[], None], ranges: Iterable[tuple[int, int]] | None = None
    ) -> None:
        """Of this moment, in place of the one before. Used for groups: the volumes are frozen."""
        del ranges
        go_on()
        try:
            self.make()
        except CommandFailed as error:
            text = (
                f"{error}; kernels before 6.8 cannot cut a thin snapshot of a frozen file system: "
                "stop the pods of the group's volumes first"
            )
            raise CallRefused(PRECONDITION, text) from error

    def save(self) -> None:
        """LVM writes its metadata before a command ends."""


def link(path: Path, group: str) -> str:
    """Link `path` to the logical volume that is about to be made, and return the volume's name.

    After: the link survives a crash. Repeated: nothing changes. Raises: HostError.
    """
    name = path.parent.name if path.name == IMAGE else path.name
    with refusals(f"link {path}"):
        if not path.is_symlink():
            path.symlink_to(f"/dev/{group}/{name}")
        for directory in (path.parent, path.parent.parent):
            _sync(directory)
    return name


def name_of(path: Path) -> str:
    """The name of the logical volume. Raises: FileNotFoundError; HostError."""
    try:
        return Path(os.readlink(path)).name
    except FileNotFoundError:
        raise
    except OSError as error:
        raise HostError(f"{path} is no link to a logical volume: {error.strerror}") from error


def mapped_bytes(volume: LogicalVolume) -> int:
    """How much of it has blocks in the pool; all of it where that is not known."""
    if volume.data_percent is None:
        return volume.size_bytes
    return int(volume.size_bytes * min(100.0, volume.data_percent) / 100)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
