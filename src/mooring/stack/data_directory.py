"""A directory that may become, or is, a data directory: it will be closed to everybody else."""

import os
import stat
from pathlib import Path

from mooring.errors import UsageError

OURS = ("mooring.db", "mooring.db.lock", "tokens.json", "pki", "kubeconfig", "node")
"""What a data directory holds, from its first start on or from what came before that."""
OTHERS_MAY = 0o077


def check_data_dir(directory: Path) -> None:
    """Before anything is written. Asks the disk.

    Refused is a directory of other things that others may enter: making it private would take
    those away from them. Raises: UsageError.
    """
    try:
        found = directory.stat()
        names = os.listdir(directory) if stat.S_ISDIR(found.st_mode) else []
    except OSError:
        return  # it is made, or whoever opens it says what is wrong
    if not names or any(name in OURS for name in names):
        return
    if found.st_mode & OTHERS_MAY or found.st_uid != os.geteuid():
        raise UsageError(
            f"{directory.resolve()} holds other things, and mooring would close it to everybody "
            "else: choose another --data-dir, or an empty one"
        )
