"""Walking a directory tree that containers may be changing: by descriptors, through no link.

A walk never leaves the mount where it began (`same_mount`). This is the only walk in Mooring.
Any depth is walked with a bounded number of descriptors, since a container may nest directories
deeper than the longest path.
"""

import errno
import os
from collections.abc import Generator
from contextlib import closing, suppress
from enum import Enum, auto
from pathlib import Path

from mooring.host import no_follow, same_mount
from mooring.host.refusal import refusals


class EntryKind(Enum):
    DIRECTORY = auto()  # visited after its entries
    MOUNT_POINT = auto()  # a directory that was not entered, since something is mounted there
    OTHER = auto()  # not a directory; a file may be a mount point too


Visit = tuple[
    int, str, int, EntryKind
]  # open directory, name in it, inode number in that directory

_HELD = 64  # levels whose descriptors stay open
_NO_DIRECTORY = (errno.ENOTDIR, errno.ELOOP)


class _Level:
    """A directory on the path from the root to the walk's position."""

    __slots__ = ("directories", "fd", "identity", "inode", "name")

    def __init__(self, fd: int, name: str, inode: int) -> None:
        self.fd = fd
        self.name = name
        self.inode = inode
        self.directories: list[tuple[str, int]] = []
        self.identity = (0, 0)

    def spare(self) -> None:
        """Close the descriptor of a level far above the walk; it is reopened through `..`."""
        if self.fd < 0:
            return
        seen = os.fstat(self.fd)
        self.identity = (seen.st_dev, seen.st_ino)
        os.close(self.fd)
        self.fd = -1

    def find_above(self, child: int) -> None:
        fd = os.open("..", no_follow.DIRECTORY, dir_fd=child)
        seen = os.fstat(fd)
        if (seen.st_dev, seen.st_ino) != self.identity:
            os.close(fd)
            raise OSError(errno.ESTALE, "moved elsewhere during the walk", self.name)
        self.fd = fd


def walk(root: int) -> Generator[Visit]:
    """Everything below the directory `root`, each directory after its entries.

    A mount point is visited, but not the mount's content: beware that a system call on its name
    acts on the mounted directory. Entries that vanish during the walk are left out.
    Use under `contextlib.closing`.
    Raises: OSError when a directory cannot be read.
    """
    trail = [_Level(os.open(".", no_follow.DIRECTORY, dir_fd=root), "", 0)]
    try:
        yield from _leaves(trail[0])
        while True:
            level = trail[-1]
            if level.directories:
                name, inode = level.directories.pop()
                try:
                    level = _Level(same_mount.enter(level.fd, name), name, inode)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    if error.errno != errno.EXDEV and error.errno not in _NO_DIRECTORY:
                        raise
                    is_mount = error.errno == errno.EXDEV
                    yield (
                        level.fd,
                        name,
                        inode,
                        EntryKind.MOUNT_POINT if is_mount else EntryKind.OTHER,
                    )
                    continue
                trail.append(level)
                if len(trail) > _HELD:
                    trail[-_HELD - 1].spare()
                yield from _leaves(level)
            elif len(trail) > 1:
                above = trail[-2]
                if above.fd < 0:
                    above.find_above(level.fd)
                os.close(trail.pop().fd)
                yield above.fd, level.name, level.inode, EntryKind.DIRECTORY
            else:
                return
    finally:
        for level in trail:
            if level.fd >= 0:
                os.close(level.fd)


def _leaves(level: _Level) -> Generator[Visit]:
    fd, directories = level.fd, level.directories
    with os.scandir(fd) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                directories.append((entry.name, entry.inode()))
            else:
                yield fd, entry.name, entry.inode(), EntryKind.OTHER


def remove(directory: int, name: str) -> None:
    """Remove `name` below an open directory, with its content.

    After: it is gone. A mount inside is never entered: its mount point stays, and its parents too.
    Repeated: a missing name is success.
    Raises: OSError; EBUSY names a mount point.
    """
    try:
        root = same_mount.enter(directory, name)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno in _NO_DIRECTORY:
            _remove_leaf(directory, name)
            return
        if error.errno == errno.EXDEV:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), name) from error
        raise
    try:
        with closing(walk(root)) as visits:
            for parent, entry, _, kind in visits:
                match kind:
                    case EntryKind.OTHER:
                        _remove_leaf(parent, entry)
                    case EntryKind.DIRECTORY:
                        _remove_emptied(parent, entry)
                    case EntryKind.MOUNT_POINT:
                        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), entry)
    finally:
        os.close(root)
    _remove_emptied(directory, name)


def remove_path(path: Path) -> None:
    """`remove`, by path. Raises: HostError."""
    with refusals(f"remove {path}"):
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            remove(parent, path.name)
        finally:
            os.close(parent)


def _remove_leaf(directory: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)


def _remove_emptied(directory: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=directory)
