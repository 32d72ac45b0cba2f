"""A node's containers, seen from outside of Mooring: files, processes, control groups, mounts."""

import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mooring.host.loop_backing import SYSFS
from mooring.host.mount import Mounts
from mooring.host.mountinfo import canonical, read_table
from mooring.oci.records import RUN

PROMPTLY = 20  # seconds
GROUPS = Path("/sys/fs/cgroup")


class NodeContainers:
    """What a node with this root directory runs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def directory(self) -> Path:
        return self.root / "containers"

    @property
    def state(self) -> Path:
        """What the runtime keeps of them."""
        real = os.fsencode(os.path.realpath(self.root))
        return RUN / hashlib.sha256(real).hexdigest()[:12]

    @property
    def opened(self) -> Path:
        """What those with users of their own are made on."""
        return self.state.with_name(f"{self.state.name}-open")

    def close(self) -> None:
        for entry in reversed(read_table().below(self.opened)):
            Mounts().unmount(entry.mount_point)
        shutil.rmtree(self.opened, ignore_errors=True)

    def ids(self) -> list[str]:
        return sorted(os.listdir(self.directory)) if self.directory.is_dir() else []

    def id_of(self, pod_uid: str) -> str:
        """Of a pod that has one container, and had no other."""
        (found,) = (id for id in self.ids() if self._owner(id).get("pod_uid") == pod_uid)
        return found

    def pid_of(self, id: str) -> int:
        """Its first process."""
        return int((self.directory / id / "pid").read_text())

    def shim_of(self, id: str) -> int:
        return int((self.directory / id / "conmon.pid").read_text())

    def left(self, *pod_uids: str) -> dict[str, list[str]]:
        """What there is of these pods: containers, processes, control groups, mounts."""
        ids = [id for id in self.ids() if self._owner(id).get("pod_uid") in pod_uids]
        words = (*ids, *pod_uids)
        mounts = [entry.at for entry in read_table().below(canonical(self.root))]
        return {
            "containers": ids,
            "processes": [str(pid) for word in words for pid in processes_about(word)],
            "groups": [str(group) for uid in pod_uids for group in _groups(f"pod{uid}")],
            "mounts": [at for at in mounts if any(word in at for word in words)],
        }

    def take_away(self) -> None:
        """However the node ended, and whether or not its runtime still works."""
        for id in self.ids():
            groups = _groups(f"pod*/{id}")
            _kill(processes_about(id))
            for group in groups:
                _kill(_members(group))
            for group in groups:
                _remove(group)
        _kill(processes_about(str(self.state)))
        shutil.rmtree(self.state, ignore_errors=True)

    def _owner(self, id: str) -> dict[str, Any]:
        try:
            return dict(json.loads((self.directory / id / "record.json").read_text())["owner"])
        except (OSError, ValueError):
            return {}  # it has just gone, or is just being made


@contextmanager
def nothing_left_after(root: Path) -> Iterator[NodeContainers]:
    """No container, process, control group and mount of the node with this root directory."""
    containers = NodeContainers(root)
    try:
        yield containers
    finally:
        containers.take_away()
        containers.close()
        for entry in reversed(read_table().below(canonical(root))):
            # Lazily: what was killed a moment ago may still be on its way out.
            subprocess.run(["umount", "--lazy", entry.mount_point], check=True)  # noqa: S603, S607


def loop_devices(place: Path) -> dict[Path, str]:
    """Those whose files are below `place`, there still or not; and these files."""
    found = {}
    for file in SYSFS.glob("loop*/loop/backing_file"):
        try:
            backing = file.read_text().strip()
        except OSError:  # it has just been detached
            continue
        if backing.startswith(f"{canonical(place)}/"):
            found[Path("/dev") / file.parts[-3]] = backing
    return found


def processes_about(word: str, but: str = "mooring\0") -> list[int]:
    """Every process with `word` somewhere among its arguments; not ours, and none with `but`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                line = (entry / "cmdline").read_bytes()
                if word.encode() in line and but.encode() not in line:
                    found.append(int(entry.name))
    return found


def is_alive(pid: int) -> bool:
    """A process that has ended may still be a zombie, until its parent looks."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def _groups(inner: str) -> list[Path]:
    """In every tree of control groups, or in the one."""
    return [*GROUPS.glob(f"mooring/{inner}"), *GROUPS.glob(f"*/mooring/{inner}")]


def _members(group: Path) -> list[int]:
    members: list[int] = []
    for directory, _, _ in os.walk(group):
        with suppress(OSError):
            members += map(int, (Path(directory) / "cgroup.procs").read_text().split())
    return members


def _kill(pids: list[int]) -> None:
    """And wait for their ends, which are a moment later."""
    for pid in pids:
        with suppress(ProcessLookupError):
            opened = os.pidfd_open(pid)
            try:
                signal.pidfd_send_signal(opened, signal.SIGKILL)
                select.select([opened], [], [], PROMPTLY)
            finally:
                os.close(opened)


def _remove(group: Path) -> None:
    """With those below it, and that of its pod, if this was the last one there."""
    for directory, _, _ in os.walk(group, topdown=False):
        with suppress(OSError):
            Path(directory).rmdir()
    with suppress(OSError):
        group.parent.rmdir()
