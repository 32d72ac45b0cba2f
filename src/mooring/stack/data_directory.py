"""Checking the data directory, which is made private to its owner."""

import os
import stat
from pathlib import Path

from mooring.errors import UsageError
from mooring.stack.etcd_prefix import find_prefix
from mooring.upkeep.place import DATABASE, ETCD_REVISION, MIGRATED

OURS = ("mooring.db", "mooring.db.lock", "tokens.json", "pki", "kubeconfig", "node")
"""Names by which a data directory is recognized, of this and earlier versions."""
OTHERS_MAY = 0o077


def check_data_dir(directory: Path) -> None:
    """Refuse a directory with other content that other users may enter.

    Making it private would lock them out. Called before anything is written; reads the disk.
    Raises: UsageError.
    """
    try:
        found = directory.stat()
        names = os.listdir(directory) if stat.S_ISDIR(found.st_mode) else []
    except OSError:
        return  # missing: it is created; unreadable: opening it raises the error
    if not names or any(name in OURS for name in names):
        return
    if found.st_mode & OTHERS_MAY or found.st_uid != os.geteuid():
        raise UsageError(
            f"{directory.resolve()} holds other things, and mooring would close it to everybody "
            "else: choose another --data-dir, or an empty one"
        )


def check_objects_are_here(directory: Path) -> None:
    """Refuse to begin a new database where the objects are in etcd; reads the disk.

    Such a server would show an empty cluster beside the volumes of the real one.
    Raises: UsageError.
    """
    in_etcd = any((directory / name).exists() for name in (MIGRATED, ETCD_REVISION))
    if in_etcd and not (directory / DATABASE).exists():
        prefix = find_prefix(directory)
        where = "--etcd-servers ..." + (f" --etcd-prefix {prefix}" if prefix else "")
        raise UsageError(
            f"the objects of {directory} are in etcd: run `mooring apiserver {where}`, "
            f"or bring them back with `mooring migrate --from etcd --to sqlite {where}`"
        )
