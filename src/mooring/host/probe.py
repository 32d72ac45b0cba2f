"""What a device holds, before anything is written to it."""

from pathlib import Path
from typing import TypeAlias

import msgspec

from mooring.errors import HostError
from mooring.host import command

PROBE_SECONDS = 300.0  # a device may need a while to wake up
NOTHING_FOUND = 2  # what blkid exits with


class Empty(msgspec.Struct, frozen=True):
    """No file system, no partitions, no other signature that blkid knows."""


class Holds(msgspec.Struct, frozen=True):
    """A file system, or something else with a signature (LVM, LUKS, RAID), by its blkid name."""

    fs_type: str


class Partitions(msgspec.Struct, frozen=True):
    """A partition table; all other data belongs to its partitions."""


Contents: TypeAlias = Empty | Holds | Partitions


def probe(device: Path) -> Contents:
    """Ask blkid for the contents of `device`, past its cache.

    An unreadable or missing device is `Empty` too; a caller that wants to write must check.
    Raises: HostError when blkid fails, or finds two contradicting signatures.
    """
    argv = ["blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", str(device)]
    ended = command.run(argv, seconds=PROBE_SECONDS)
    if ended.code == NOTHING_FOUND:
        return Empty()
    if ended.code != 0:
        raise ended.failed(f"failed to get disk format of disk {device}: {ended.status}")
    return parse_export(ended.output)


def parse_export(output: str) -> Contents:
    """Read what `blkid -o export` prints.

    Raises: HostError for a line that is not `NAME=value`.
    """
    found: dict[str, str] = {}
    for line in output.split("\n"):
        if line:
            match line.split("="):
                case [name, value]:
                    found[name] = value
                case _:
                    raise HostError(f"blkid returns invalid output: {output}")
    if found.get("PTTYPE"):
        return Partitions()
    return Holds(found["TYPE"]) if found.get("TYPE") else Empty()


def describe(contents: Contents) -> str:
    """The contents in upstream's words."""
    match contents:
        case Empty():
            return ""
        case Holds(fs_type):
            return fs_type
        case Partitions():
            return "unknown data, probably partitions"
