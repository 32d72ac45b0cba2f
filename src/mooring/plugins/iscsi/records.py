"""What a node keeps of its iSCSI disks while they are attached. All of it blocks.

`iscsi.json` in a disk's own directory is the kubelet's, which can take the node over; what is
mounted there hides it. So beside the directory is another, hidden one, written before anything is
done and removed when all is undone.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mooring.host.private_file import write_private
from mooring.host.refusal import refusals
from mooring.plugins.contract import VolumeError
from mooring.plugins.directories import make_directories
from mooring.plugins.iscsi.disk import NAME, IscsiDisk, read_place
from mooring.plugins.layout import DEVICES, Layout

KUBELETS = "iscsi.json"


def write(directory: Path, disk: IscsiDisk, *, is_mounted: bool) -> None:
    make_directories(directory)
    content = msgspec.json.encode(disk)
    with refusals(f"write {_beside(directory)}"):
        write_private(_beside(directory), content)
    if not is_mounted:
        with refusals(f"write {directory / KUBELETS}"):
            write_private(directory / KUBELETS, content)


def remove(directory: Path) -> None:
    """With the directory, in which nothing else may be. Repeated: success."""
    with refusals(f"remove {directory}"):
        for name in _leftovers(directory):
            name.unlink(missing_ok=True)
        if directory.exists():
            directory.rmdir()
    with refusals(f"remove {_beside(directory)}"):
        _beside(directory).unlink(missing_ok=True)


def find(directory: Path) -> IscsiDisk | None:
    """What is kept of the disk in this directory; read from its name where nothing else is."""
    for path in (_beside(directory), directory / KUBELETS):
        try:
            return msgspec.json.decode(path.read_bytes(), type=IscsiDisk)
        except (OSError, msgspec.MsgspecError):
            continue
    try:
        return read_place(directory, "") if directory.exists() else None
    except VolumeError:
        return None


def every(layout: Layout) -> Iterator[tuple[Path, IscsiDisk]]:
    """The directories of all disks, for files and as devices."""
    for top in (layout.plugin(NAME), layout.plugin(NAME) / DEVICES):
        for iface in sorted(top.glob("iface-*")):
            names = {path.name.removeprefix(".").removesuffix(".json") for path in _listed(iface)}
            for name in sorted(names):
                if (disk := find(iface / name)) is not None:
                    yield iface / name, disk


def _listed(iface: Path) -> Iterator[Path]:
    for path in iface.iterdir():
        if not path.name.startswith(".") or path.name.endswith(".json"):
            yield path


def _leftovers(directory: Path) -> Iterator[Path]:
    """Ours: what a write that was cut left, too."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return
    for name in names:
        if name == KUBELETS or name.startswith(f".{KUBELETS}."):
            yield directory / name


def _beside(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.json")
