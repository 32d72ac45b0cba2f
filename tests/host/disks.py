"""Devices for tests: sparse files behind loop devices, and what to find on them."""

import struct
import subprocess
import zlib
from pathlib import Path

MIB = 1 << 20
SECTOR = 512
# The least that mkfs accepts.
LEAST_MIB = {"ext2": 8, "ext3": 8, "ext4": 8, "xfs": 300, "btrfs": 120}


class Disks:
    """Makes devices whose backing files are in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0

    def file(self, mib: int) -> Path:
        """A sparse file."""
        self._count += 1
        path = self._directory / f"disk{self._count}.img"
        with path.open("wb") as file:
            file.truncate(mib * MIB)
        return path

    def empty(self, mib: int = 8, *options: str) -> Path:
        """A device of zeros."""
        return self.device_of(self.file(mib), *options)

    def formatted(self, fs_type: str, mib: int | None = None) -> Path:
        """A device with a file system."""
        device = self.empty(mib or LEAST_MIB[fs_type])
        _run(f"mkfs.{fs_type}", *(("-q",) if fs_type != "vfat" else ()), str(device))
        return device

    def device_of(self, file: Path, *options: str) -> Path:
        return Path(_run("losetup", "--find", "--show", *options, str(file)).strip())

    def backing_of(self, device: Path) -> Path:
        return Path(_run("losetup", "-n", "-O", "BACK-FILE", str(device)).strip())


def gpt(mib: int) -> bytes:
    """The beginning of a disk with a GUID partition table that holds no partition."""
    last = mib * MIB // SECTOR - 1
    entries = bytes(128 * 128)
    disk_guid = bytes(range(16))
    layout = struct.Struct("<8sIIIIQQQQ16sQIII")

    def header(checksum: int) -> bytes:
        return layout.pack(
            b"EFI PART", 0x10000, layout.size, checksum, 0,
            1, last, 34, last - 33, disk_guid, 2, 128, 128, zlib.crc32(entries),
        )  # fmt: skip

    boot = bytearray(SECTOR)
    boot[446:462] = struct.pack("<B3sB3sII", 0, b"\0\2\0", 0xEE, b"\xff\xff\xff", 1, last)
    boot[510:512] = b"\x55\xaa"
    table = header(zlib.crc32(header(0)))
    return bytes(boot) + table.ljust(SECTOR, b"\0") + entries


def write(device: Path, content: bytes, at: int = 0) -> None:
    with device.open("r+b") as file:
        file.seek(at)
        file.write(content)


def read(device: Path, length: int, at: int = 0) -> bytes:
    with device.open("rb") as file:
        file.seek(at)
        return file.read(length)


def _run(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout  # noqa: S603  a test's own words
