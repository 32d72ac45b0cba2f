"""Device nodes: what a container is to see in /dev."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring.host.refusal import refusals
from mooring.oci.contract import Device, RuntimeRefused

DEV = Path("/dev")
# Of these a container has its own.
_OWN = frozenset(("pts", "shm", "fd", "mqueue", "console", "ptmx", "stdin", "stdout", "stderr"))


class DeviceNode(msgspec.Struct, frozen=True):
    path: str  # in the container
    kind: str  # "b" or "c"
    major: int
    minor: int
    mode: int = 0o666
    uid: int = 0
    gid: int = 0
    permissions: str = "rwm"


def look_up(device: Device) -> DeviceNode:
    """The node that `device` names, through links.

    Raises: HostError when there is none, RuntimeRefused when it is no device.
    """
    with refusals(f"stat {device.source}"):
        node = _node(device.target, device.source.stat(), device.permissions)
    if node is None:
        raise RuntimeRefused(f"{device.source} is no device")
    return node


def of_host(dev: Path = DEV) -> tuple[DeviceNode, ...]:
    """Every device of this machine, for privileged containers."""
    return tuple(sorted(_walk(dev, "/dev"), key=lambda node: node.path))


def merged(nodes: Sequence[DeviceNode]) -> tuple[DeviceNode, ...]:
    """One node for each path, the later winning."""
    return tuple({node.path: node for node in nodes}.values())


def _walk(directory: Path, shown: str) -> Iterator[DeviceNode]:
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name in _OWN or entry.name.startswith("."):
                continue
            path = f"{shown}/{entry.name}"
            with suppress(OSError):  # unplugged just now
                if entry.is_dir(follow_symlinks=False):
                    yield from _walk(Path(entry.path), path)
                elif node := _node(path, entry.stat(follow_symlinks=False), "rwm"):
                    yield node


def _node(path: str, found: os.stat_result, permissions: str) -> DeviceNode | None:
    kinds = {stat.S_IFBLK: "b", stat.S_IFCHR: "c"}
    kind = kinds.get(stat.S_IFMT(found.st_mode))
    if kind is None:
        return None
    return DeviceNode(
        path=path,
        kind=kind,
        major=os.major(found.st_rdev),
        minor=os.minor(found.st_rdev),
        mode=stat.S_IMODE(found.st_mode),
        uid=found.st_uid,
        gid=found.st_gid,
        permissions=permissions,
    )
