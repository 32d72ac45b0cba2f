"""Which process is a node: the one that runs on this root directory, on this machine."""

import socket
import uuid
from pathlib import Path

from mooring.errors import UsageError
from mooring.host.private_file import find_private, write_private

FILE = "node-instance"  # in the root directory
ANNOTATION = "mooring.dev/node-instance"  # of the node's Lease


def find_instance(root: Path) -> str:
    """`<host>_<id>`; the id is made once and kept in the root directory. Raises: UsageError."""
    path = root / FILE
    try:
        kept = (find_private(path) or b"").decode(errors="replace").strip()
        if not kept:
            kept = uuid.uuid4().hex
            write_private(path, f"{kept}\n".encode())
    except OSError as error:
        raise UsageError(f"a node cannot use {path}: {error.strerror}") from error
    return f"{socket.gethostname()}_{kept}"


def is_same(one: str, other: str) -> bool:
    """Whatever the machine is called by now."""
    return one.rpartition("_")[2] == other.rpartition("_")[2]


def host_of(instance: str) -> str:
    return instance.rpartition("_")[0] or "another machine"
