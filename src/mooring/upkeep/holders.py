"""Who keeps a mount from being unmounted: processes with a file, a directory or a program there."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring.host import same_mount
from mooring.host.loop_backing import sysfs_backing_path, used_devices
from mooring.host.mountinfo import MountEntry

_PROC = Path("/proc")
_MOUNT_ID = re.compile(rb"^mnt_id:\s*(\d+)$", re.MULTILINE)
_MOST_TOLD = 3


class Holder(msgspec.Struct, frozen=True):
    pid: int
    command: str

    def __str__(self) -> str:
        return f"pid {self.pid}, {self.command}"


def find_holders(mounts: Iterable[MountEntry], proc: Path = _PROC) -> dict[int, list[Holder]]:
    """By the mount's id; each process once. What ends meanwhile, or is closed to us, is left out.

    No file system is asked: one that hangs would keep us too.
    """
    sought = {entry.id: entry for entry in mounts}
    found: dict[int, list[Holder]] = {}
    for entry in proc.iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            for number in set(_mounts_of(entry)) | set(_mapped(entry, sought.values())):
                if number in sought:
                    holder = Holder(int(entry.name), _command(entry))
                    found.setdefault(number, []).append(holder)
    return found


def find_openers(device: Path, proc: Path = _PROC) -> list[Holder]:
    """Who has a device open by its usual name."""
    return [
        Holder(int(process.name), _command(process))
        for process in proc.iterdir()
        if process.name.isdecimal() and str(device) in _opened(process)
    ]


def find_users_below(directory: Path, proc: Path = _PROC) -> list[Holder]:
    """Who has a file open below it, or works in a directory there; itself, empty, is no matter."""
    inside = f"{directory}/"
    found = []
    for process in proc.iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            names = [*_opened(process), *_works_in(process)]
            if any(name.startswith(inside) for name in names):
                found.append(Holder(int(process.name), _command(process)))
    return found


def _works_in(process: Path) -> Iterator[str]:
    with suppress(OSError):
        yield os.readlink(process / "cwd")


def _opened(process: Path) -> Iterator[str]:
    with suppress(OSError):
        for name in os.listdir(process / "fd"):
            with suppress(OSError):
                yield os.readlink(process / "fd" / name)


def tell_holders(entry: MountEntry, holders: Iterable[Holder]) -> str:
    """Who it is, for people; or what else it may be."""
    told = [f"({holder})" for holder in holders]
    if told:
        more = f" and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
        return f"in use by {', '.join(told[:_MOST_TOLD])}{more}: end it, then try again"
    inside = f"{entry.at}/"
    devices = [name for name in used_devices() if sysfs_backing_path(name).startswith(inside)]
    if devices:
        return f"in use by the loop device /dev/{devices[0]}: detach it, then try again"
    return (
        "in use, by nobody that can be seen from here: stop the CSI drivers and registrars whose "
        "sockets are in it (or is it in another mount namespace?), then try again"
    )


def _mounts_of(process: Path) -> Iterator[int]:
    """On which mounts its open files, its directories and its program are."""
    for name in ("cwd", "root", "exe"):
        found = same_mount.find_mount_at(process / name, follow=True)
        if found is not None:
            yield found
    with suppress(OSError):
        for name in os.listdir(process / "fdinfo"):
            with suppress(OSError):
                told = _MOUNT_ID.search((process / "fdinfo" / name).read_bytes())
                if told is not None:
                    yield int(told[1])


def _mapped(process: Path, sought: Iterable[MountEntry]) -> Iterator[int]:
    """Mounts with a file that is mapped into its memory, and may be closed."""
    try:
        maps = (process / "maps").read_bytes()
    except OSError:
        return
    for entry in sought:
        if b" " + os.fsencode(entry.at) + b"/" in maps:
            yield entry.id


def _command(process: Path) -> str:
    """As `ps` shows it, cut short; the words may hold anything."""
    with suppress(OSError):
        words = (process / "cmdline").read_bytes().replace(b"\0", b" ").strip()
        if words:
            line = words.decode(errors="replace")
            line = "".join(char if char.isprintable() else "?" for char in line)
            return line if len(line) <= 60 else f"{line[:57]}..."
        return f"[{(process / 'comm').read_text().strip()}]"
    return "unknown"
