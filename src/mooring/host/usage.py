"""The capacity and usage of a volume."""

import errno
import os
import stat
import time
from contextlib import closing
from pathlib import Path

import msgspec

from mooring import log
from mooring.host import same_mount, tree
from mooring.host.refusal import refusals
from mooring.model.tree_usage import NOTHING, TreeUsage

COUNTING_SECONDS = 30.0  # of one directory; then what was found so far is the answer
MOST_LINKED = 500_000  # files with several names are remembered until all is counted
_BLOCK = 512  # bytes; the unit of st_blocks on every file system

_log = log.get("mooring.host.usage")


class FilesystemUsage(msgspec.Struct, frozen=True):
    """The figures of statvfs."""

    capacity_bytes: int
    available_bytes: int  # to users other than root
    used_bytes: int
    inodes: int
    inodes_free: int

    @property
    def inodes_used(self) -> int:
        return self.inodes - self.inodes_free


def of_filesystem(path: Path) -> FilesystemUsage:
    """The usage of the file system that `path` is on. Raises: HostError."""
    with refusals(f"statfs {path}"):
        told = os.statvfs(path)
    return FilesystemUsage(
        capacity_bytes=told.f_blocks * told.f_frsize,
        available_bytes=told.f_bavail * told.f_frsize,
        used_bytes=(told.f_blocks - told.f_bfree) * told.f_frsize,
        inodes=told.f_files,
        inodes_free=told.f_ffree,
    )


def of_tree(directory: Path, seconds: float = COUNTING_SECONDS) -> TreeUsage:
    """The usage of everything at and below `directory`, as du(1) counts.

    A file with several names counts once. Mounts inside, and entries that vanish meanwhile, are
    left out. After `seconds` the answer is what was counted by then.
    Raises: HostError when an entry or a directory cannot be read.
    """
    with refusals(f"count the usage of {directory}"):
        root = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            found = _count(root, time.monotonic() + seconds)
        finally:
            os.close(root)
    if not found.is_whole:
        _log.warning("a directory is counted in part", path=directory, inodes=found.inodes_used)
    return found


def of_one_file(path: Path) -> TreeUsage:
    """The usage of a file itself, not of what a link leads to; nothing when it is missing.

    Raises: HostError.
    """
    with refusals(f"stat {path}"):
        try:
            return TreeUsage(path.lstat().st_blocks * _BLOCK, 1)
        except FileNotFoundError:
            return NOTHING


def of_block_device(path: Path) -> int:
    """The size of a block device, in bytes. Raises: HostError."""
    with refusals(f"measure {path}"):
        device = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.lseek(device, 0, os.SEEK_END)
        finally:
            os.close(device)


def _count(root: int, until: float) -> TreeUsage:
    top = os.fstat(root)
    blocks, inodes, is_whole = top.st_blocks, 1, True
    counted: set[tuple[int, int]] = set()  # files with several names
    with closing(tree.walk(root)) as visits:
        try:
            for directory, name, inode, _ in visits:
                if time.monotonic() >= until or len(counted) >= MOST_LINKED:
                    is_whole = False
                    break
                try:
                    seen = same_mount.find_here(directory, name, inode, top.st_dev)
                except FileNotFoundError:
                    continue
                if seen is None:
                    continue
                if seen.st_nlink > 1 and not stat.S_ISDIR(seen.st_mode):
                    # Each subvolume of btrfs has its own numbers.
                    identity = (seen.st_dev, seen.st_ino)
                    if identity in counted:
                        continue
                    counted.add(identity)
                blocks += seen.st_blocks
                inodes += 1
        except OSError as error:
            if error.errno != errno.ESTALE:  # the walk's position was moved elsewhere
                raise
            is_whole = False
    return TreeUsage(blocks * _BLOCK, inodes, is_whole)
