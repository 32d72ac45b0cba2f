"""Images: sparse files that hold a volume's bytes, and copies of them."""

import ctypes
import errno
import fcntl
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from mooring.driver.backends import catching_up
from mooring.host import command
from mooring.host.probe import Holds, probe
from mooring.host.refusal import refusals

FILE_MODE = 0o600
_FICLONE = 0x40049409
_CANNOT_SHARE = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS)
_CHUNK = 8 << 20
_PARTS_TRIED = 4
_TRIED_BYTES = 4096
_SECTOR = 512  # the unit of st_blocks
_fallocate = ctypes.CDLL(None, use_errno=True)["fallocate"]
_fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong]


def create(path: Path, size: int) -> None:
    """Create a sparse image of zeros. Raises: HostError."""
    with refusals(f"make an image of {size} bytes"):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        try:
            os.ftruncate(descriptor, size)
        finally:
            os.close(descriptor)


class Copy:
    """A new image with the bytes of another one, and zeros up to `size`; holes stay holes.

    Where the file system supports reflinks, the two share their blocks until one of them is written
    to; elsewhere all data is copied. Used in a `with`; every method raises HostError.
    """

    def __init__(self, source: Path, target: Path, size: int) -> None:
        self._source = source
        self._target = target
        self._size = size
        self._read = self._written = -1
        self._is_shared = False

    def __enter__(self) -> Self:
        with refusals(f"copy {self._source}"):
            self._read = os.open(self._source, os.O_RDONLY | os.O_CLOEXEC)
            how = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            try:
                self._written = os.open(self._target, how, FILE_MODE)
            except OSError:
                os.close(self._read)
                raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._written)
        os.close(self._read)

    def reopen(self) -> None:
        """Read from the image that has the name of the source now: it may have been replaced."""
        with refusals(f"copy {self._source}"):
            read = os.open(self._source, os.O_RDONLY | os.O_CLOEXEC)
            os.close(self._read)
            self._read = read

    def make(self) -> None:
        """Copy all of it."""
        with refusals(f"copy {self._source}"):
            self._is_shared = _share(self._read, self._written)
            if not self._is_shared:
                _copy_data(self._read, self._written)
            os.ftruncate(self._written, self._size)

    def catch_up(
        self, go_on: Callable[[], None], ranges: Iterable[tuple[int, int]] | None = None
    ) -> None:
        """Copy what changed since `make`; `go_on` is called now and then, and may raise.

        `ranges` are the bytes that may have changed; None: any may.
        """
        with refusals(f"copy {self._source}"):
            if self._is_shared and _share(self._read, self._written):
                pass
            elif ranges is None:
                catching_up.catch_up(self._read, self._written, go_on)
            else:
                catching_up.catch_up_in(ranges, self._read, self._written, go_on)
            os.ftruncate(self._written, self._size)

    def save(self) -> None:
        """Wait until it is on the disk."""
        with refusals(f"copy {self._source}"):
            os.fdatasync(self._written)

    @property
    def is_shared(self) -> bool:
        return self._is_shared

    @property
    def shared_bytes(self) -> int:
        """How many bytes the two images share."""
        return allocated_bytes(self._target) if self._is_shared else 0


def copying(source: Path, target: Path, size: int) -> Copy:
    """A copy of an image that may be in use, to be made in steps."""
    return Copy(source, target, size)


def copy(source: Path, target: Path, size: int) -> int:
    """Copy an image that is not being written to; returns how many bytes the two share."""
    with Copy(source, target, size) as made:
        made.make()
        return made.shared_bytes


def grow(path: Path, size: int) -> None:
    """Make an image larger, never smaller. After: it survives a crash. Raises: HostError."""
    with refusals(f"grow {path} to {size} bytes"):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_size < size:
                os.ftruncate(descriptor, size)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def allocate(path: Path) -> None:
    """Allocate all blocks of an image. Raises: HostError when there are not enough."""
    with refusals(f"allocate {path}"):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            size = os.fstat(descriptor).st_size
            # Check first: the kernel would fill the disk before it fails.
            if size - allocated_bytes(path) > _free_bytes(descriptor):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            # Not posix_fallocate: without file system support it rewrites data that is in use.
            if _fallocate(descriptor, 0, 0, size):
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code), str(path))
        finally:
            os.close(descriptor)


def blank(path: Path, size: int) -> None:
    """Atomically replace an image by one of zeros. Only for an image that was never staged.

    Raises: HostError.
    """
    fresh = path.with_name(f"{path.name}.blank")
    with refusals(f"blank {path}"):
        fresh.unlink(missing_ok=True)
        create(fresh, size)
        fresh.rename(path)


def give_own_identity(path: Path) -> None:
    """Give a copied btrfs a new UUID; other file systems are left alone.

    To the kernel two btrfs with one UUID are parts of one file system. (xfs is mounted without
    that check, and ext4 has none.)
    Raises: HostError.
    """
    if probe(path) == Holds("btrfs"):
        command.check(["btrfstune", "-f", "-m", str(path)], seconds=None)


def discard(path: Path) -> None:
    """Nothing is behind the file, which is removed with its directory."""


def size_bytes(path: Path) -> int:
    """Raises: OSError."""
    return path.stat().st_size


def allocated_bytes(path: Path) -> int:
    return path.stat().st_blocks * _SECTOR


def find_read_error(path: Path) -> str:
    """Why some of its data cannot be read; empty if what was tried can. A few places are tried."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(descriptor).st_size
            for part in range(_PARTS_TRIED):
                begin = _find_data(descriptor, size * part // _PARTS_TRIED)
                if begin is None:
                    break
                os.pread(descriptor, _TRIED_BYTES, begin)
        finally:
            os.close(descriptor)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _free_bytes(descriptor: int) -> int:
    told = os.fstatvfs(descriptor)
    return told.f_bavail * told.f_frsize


def _share(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno not in _CANNOT_SHARE:
            raise
        return False
    return True


def _copy_data(source: int, target: int) -> None:
    position = 0
    while (begin := _find_data(source, position)) is not None:
        position = os.lseek(source, begin, os.SEEK_HOLE)
        _copy_range(source, target, begin, position)


def _find_data(source: int, position: int) -> int | None:
    try:
        return os.lseek(source, position, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:  # no data after this position
            raise
        return None


def _copy_range(source: int, target: int, begin: int, end: int) -> None:
    while begin < end:
        chunk = os.pread(source, min(_CHUNK, end - begin), begin)
        if not chunk:
            return
        left = memoryview(chunk)
        while left:
            done = os.pwrite(target, left, begin)
            begin += done
            left = left[done:]
