"""How full a volume is, in the words of the contract. All of it blocks, and raises HostError."""

from pathlib import Path

from msgspec.structs import replace

from mooring.host import usage
from mooring.plugins.contract import Usage


def measure_filesystem(path: Path) -> Usage:
    """A file system of its own."""
    told = usage.of_filesystem(path)
    return Usage(
        used=told.used_bytes,
        capacity=told.capacity_bytes,
        available=told.available_bytes,
        inodes=told.inodes,
        inodes_used=told.inodes_used,
        inodes_free=told.inodes_free,
    )


def measure_tree(path: Path) -> Usage:
    """A directory among others: what its files take up, and the room that all share."""
    files = usage.of_tree(path)
    shared = measure_filesystem(path)
    return replace(shared, used=files.used_bytes, inodes_used=files.inodes_used)


def measure_device(path: Path) -> Usage:
    """A raw block device: only its size is known."""
    return Usage(capacity=usage.of_block_device(path))
