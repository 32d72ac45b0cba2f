"""This machine's data, read from the kernel. Nothing here raises: unreadable data is left out."""

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.node.options import LOOPBACK

KIBI = 1024

_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "i686": "386",
    "ppc64le": "ppc64le",
    "s390x": "s390x",
    "riscv64": "riscv64",
}
_ELSEWHERE = "192.0.2.1"  # TEST-NET-1: only the route to it is looked up
_ELSEWHERE_6 = "2001:db8::1"


class KubeletEndpoint(msgspec.Struct, frozen=True):
    """Where the node serves logs, exec and attach, and how to know that it is the node."""

    address: str  # "": at any that the node has
    port: int
    fingerprint: str  # sha256 of its certificate, in hex


class Identity(msgspec.Struct, frozen=True):
    """What stays the same until the machine, or the node on it, is started anew."""

    architecture: str = ""
    kernel: str = ""
    os_image: str = ""
    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""
    addresses: tuple[str, ...] = ()
    endpoint: KubeletEndpoint | None = None  # None: it serves nothing
    release: KubernetesVersion = NEWEST  # that the node follows


class Amounts(msgspec.Struct, frozen=True):
    """In bytes, but for CPUs and inodes. What is free changes all the time, the rest hardly."""

    cpus: int = 1
    memory: int = 0
    memory_free: int = 0
    storage: int = 0  # of the file system that pods' directories are on
    storage_free: int = 0
    inodes: int = 0
    inodes_free: int = 0
    huge_pages: Mapping[int, int] = msgspec.field(default_factory=dict)  # in all, by page size


def read_identity(tree: Path = Path("/")) -> Identity:
    uname = os.uname()
    return Identity(
        architecture=_ARCHITECTURES.get(uname.machine, uname.machine),
        kernel=uname.release,
        os_image=_os_image(_text(tree / "etc/os-release")),
        machine_id=_text(tree / "etc/machine-id"),
        system_uuid=_text(tree / "sys/class/dmi/id/product_uuid"),
        boot_id=_text(tree / "proc/sys/kernel/random/boot_id"),
        addresses=own_addresses(),
    )


def read_amounts(storage: Path, tree: Path = Path("/")) -> Amounts:
    memory = _memory(_text(tree / "proc/meminfo"))
    try:
        room = os.statvfs(storage)
    except OSError:
        room = None
    return Amounts(
        cpus=os.cpu_count() or 1,
        memory=memory.get("MemTotal", 0),
        memory_free=memory.get("MemAvailable", memory.get("MemFree", 0)),
        storage=room.f_blocks * room.f_frsize if room else 0,
        storage_free=room.f_bavail * room.f_frsize if room else 0,
        inodes=room.f_files if room else 0,
        inodes_free=room.f_favail if room else 0,
        huge_pages=_huge_pages(tree / "sys/kernel/mm/hugepages"),
    )


def own_addresses() -> tuple[str, ...]:
    """Where others reach this machine, one of each family at most; none without a network."""
    asked = ((socket.AF_INET, _ELSEWHERE), (socket.AF_INET6, _ELSEWHERE_6))
    return tuple(found for family, to in asked if (found := _address_towards(family, to)))


def own_address() -> str:
    """Where other machines find this one; loopback if there is no other address."""
    return next(iter(own_addresses()), LOOPBACK)


def _address_towards(family: socket.AddressFamily, other: str) -> str:
    """The address that packets to `other` would carry; none is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((other, 9))
            return str(asking.getsockname()[0])
    except OSError:
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _os_image(release: str) -> str:
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)"?$', release, re.MULTILINE)
    return found[1] if found else "Linux"


def _memory(text: str) -> Mapping[str, int]:
    lines = re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)
    return {name: int(kibibytes) * KIBI for name, kibibytes in lines}


def _huge_pages(directory: Path) -> Mapping[int, int]:
    found: dict[int, int] = {}
    for each in sorted(directory.glob("hugepages-*kB")):
        size = each.name.removeprefix("hugepages-").removesuffix("kB")
        count = _text(each / "nr_hugepages")
        if size.isdecimal() and count.isdecimal():
            found[int(size) * KIBI] = int(count) * int(size) * KIBI
    return found
