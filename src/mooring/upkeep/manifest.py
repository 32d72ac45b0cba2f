"""What a backup says of itself: when and where it was made, and the checksum of all that is in it.

A backup is a tar file of plain files, `data/...`, then `manifest.json`, then `manifest.sha256`.
An image of a volume is two of them: `image.map` says where its bytes go, `image.data` has them; the
rest are holes.
"""

import hashlib
import socket
from datetime import datetime
from pathlib import Path

import msgspec

from mooring.upkeep.counted import counted
from mooring.upkeep.printable import printable

FORMAT = 1
MANIFEST = "manifest.json"
SEAL = "manifest.sha256"
DATA = "data/"
MAP, BYTES = ".map", ".data"
_MACHINE_ID = Path("/etc/machine-id")


class Member(msgspec.Struct, frozen=True):
    size: int
    sha256: str


class Machine(msgspec.Struct, frozen=True):
    host: str
    id: str  # empty: it has none


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int = FORMAT
    version: str  # of Mooring
    created: datetime
    machine: Machine
    nodes: tuple[str, ...]  # all that the database knows
    revision: int
    objects: int
    volumes: int  # of the bundled driver
    has_volumes: bool  # their contents, and those of hostPath claims, are here too
    data_dir: str = ""  # where it was; the paths of hostPath claims begin with it
    directories: int = 0  # of hostPath claims
    members: dict[str, Member]


class SparseMap(msgspec.Struct, frozen=True):
    """Where the bytes of a sparse file are: begin and length."""

    size: int
    pieces: tuple[tuple[int, int], ...]


def this_machine() -> Machine:
    try:
        id = _MACHINE_ID.read_text().strip()
    except OSError:
        id = ""
    return Machine(socket.gethostname(), id)


def seal_of(manifest: bytes) -> bytes:
    return f"{hashlib.sha256(manifest).hexdigest()}  {MANIFEST}\n".encode()


def differences(manifest: Manifest, here: Machine, data_dir: Path) -> list[str]:
    """What somebody who restores it to `data_dir` here should know, one line each."""
    found = []
    if manifest.machine != here:
        found.append(
            f"it was made on another machine ({printable(manifest.machine.host)}): volumes of type "
            "local, and hostPath volumes made by hand, are on its disks"
        )
    if manifest.nodes and here.host.lower() not in manifest.nodes:
        names = printable(", ".join(manifest.nodes))
        found.append(
            f"its node was {names}, and here it would be {here.host.lower()}: to reach volumes "
            f"that are bound to it, start with --node-name {printable(manifest.nodes[0])}"
        )
    kept_elsewhere = [
        counted(manifest.volumes, "volume of the bundled driver", "volumes of the bundled driver"),
        counted(manifest.directories, "hostPath claim", "hostPath claims"),
    ]
    if not manifest.has_volumes and any(kept_elsewhere):
        found.append(
            f"the contents of {' and of '.join(filter(None, kept_elsewhere))} are not in it: it "
            "was made without --with-volumes"
        )
    if manifest.directories and manifest.data_dir not in ("", str(data_dir)):
        found.append(
            f"its hostPath claims have their directories below {printable(manifest.data_dir)}: to "
            "have them found, restore to that path"
        )
    return found
