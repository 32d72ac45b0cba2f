"""The capacity and usage of a volume."""

import os
import stat
from contextlib import closing
from pathlib import Path

import msgspec

from mooring.host import same_mount, tree
from mooring.host.refusal import refusals

_BLOCK = 512  # bytes; the unit of st_blocks on every file system


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


class TreeUsage(msgspec.Struct, frozen=True):
    """The space and inodes that the files of a directory use."""

    used_bytes: int
    inodes_used: int


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


def of_tree(directory: Path) -> TreeUsage:
    """The usage of everything at and below `directory`, as du(1) counts.

    A file with several names counts once. Mounts inside, and entries that vanish meanwhile, are
    left out.
    Raises: HostError when an entry or a directory cannot be read.
    """
    with refusals(f"count the usage of {directory}"):
        root = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return _count(root)
        finally:
            os.close(root)


def of_block_device(path: Path) -> int:
    """The size of a block device, in bytes. Raises: HostError."""
    with refusals(f"measure {path}"):
        device = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.lseek(device, 0, os.SEEK_END)
        finally:
            os.close(device)


def _count(root: int) -> TreeUsage:
    top = os.fstat(root)
    blocks, inodes = top.st_blocks, 1
    counted: set[tuple[int, int]] = set()  # files with several names
    with closing(tree.walk(root)) as visits:
        for directory, name, inode, _ in visits:
            try:
                seen = same_mount.find_here(directory, name, inode, top.st_dev)
            except FileNotFoundError:
                continue
            if seen is None:
                continue
            if seen.st_nlink > 1 and not stat.S_ISDIR(seen.st_mode):
                identity = (seen.st_dev, seen.st_ino)  # each subvolume of btrfs has its own numbers
                if identity in counted:
                    continue
                counted.add(identity)
            blocks += seen.st_blocks
            inodes += 1
    return TreeUsage(blocks * _BLOCK, inodes)
