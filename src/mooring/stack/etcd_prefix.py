"""Where in etcd the objects of a data directory are: it remembers the prefix.

Under another one there may be objects too, which a migration has left: a server that began with
them would show an old cluster beside the volumes of the real one.
"""

from pathlib import Path

from mooring.errors import UsageError
from mooring.host.private_file import find_private, write_private
from mooring.upkeep.place import ETCD_PREFIX


def find_prefix(directory: Path) -> str | None:
    """None: it has never had its objects in etcd, or they are back. Reads the disk."""
    kept = find_private(directory / ETCD_PREFIX)
    return None if kept is None else kept.decode(errors="replace").strip()


def check_prefix(directory: Path, prefix: str) -> None:
    """Refuse another prefix than that of its objects; reads the disk. Raises: UsageError."""
    known = find_prefix(directory)
    if known is not None and known.strip("/") != prefix.strip("/"):
        raise UsageError(
            f"the objects of {directory} are under {known} in etcd, not under {prefix}: give "
            f"--etcd-prefix {known}, or another --data-dir for others"
        )


def remember_prefix(directory: Path, prefix: str) -> None:
    """Writes to the disk only what is new."""
    if find_prefix(directory) != prefix:
        write_private(directory / ETCD_PREFIX, f"{prefix}\n".encode())


def forget_prefix(directory: Path) -> None:
    (directory / ETCD_PREFIX).unlink(missing_ok=True)
