"""What a node keeps of its Fibre Channel disks: a directory's name does not tell all. Blocks."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from mooring.host.private_file import write_private
from mooring.host.refusal import refusals
from mooring.plugins.directories import make_directories
from mooring.plugins.fc.disk import NAME, FcDisk
from mooring.plugins.layout import DEVICES, Layout


def write(directory: Path, disk: FcDisk) -> None:
    make_directories(directory)
    with refusals(f"write {_beside(directory)}"):
        write_private(_beside(directory), msgspec.json.encode(disk))


def find(directory: Path) -> FcDisk | None:
    try:
        return msgspec.json.decode(_beside(directory).read_bytes(), type=FcDisk)
    except (OSError, msgspec.MsgspecError):
        return _read_name(directory.name) if directory.exists() else None


def remove(directory: Path) -> None:
    """With the directory, which is empty. Repeated: success."""
    with refusals(f"remove {directory}"):
        if directory.exists():
            directory.rmdir()
        _beside(directory).unlink(missing_ok=True)


def every(layout: Layout) -> Iterator[tuple[Path, FcDisk]]:
    """The directories of all disks, for files and as devices."""
    for top in (layout.plugin(NAME), layout.plugin(NAME) / DEVICES):
        names = {
            path.name.removeprefix(".").removesuffix(".json")
            for path in (top.iterdir() if top.is_dir() else ())
            if path.name != DEVICES and not path.name.endswith(".tmp")
        }
        for name in sorted(names):
            if (disk := find(top / name)) is not None:
                yield top / name, disk


def _read_name(name: str) -> FcDisk:
    """Of a kubelet's directory, which has no record."""
    ports, separator, lun = name.rpartition("-lun-")
    if separator and lun.isdecimal():
        return FcDisk("", tuple(ports.split("-")), int(lun))
    return FcDisk("", wwids=(name,))


def _beside(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.json")
