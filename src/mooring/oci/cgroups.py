"""The cgroups of containers: their paths, their processes, and their removal.

The runtime makes them; this looks into them, in version 1 (one tree per controller, with or
without a version 2 tree beside them) and in version 2 (one tree).
"""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mooring.errors import HostError
from mooring.host.refusal import refusals
from mooring.oci import process

ROOT = Path("/sys/fs/cgroup")
TOP = "mooring"
SHIMS = "conmon"  # beside the pods
_SWEEPS = 100  # a fork bomb may be faster than one sweep; each sweep leaves it fewer


def inner_path(pod_uid: str, id: str) -> str:
    """The runtime's `cgroupsPath`: the path below the root of every tree."""
    return f"/{TOP}/pod{pod_uid}/{id}"


def is_v2(root: Path = ROOT) -> bool:
    """Whether there is one tree for all controllers."""
    return (root / "cgroup.controllers").exists()


def directories(inner: str, root: Path = ROOT) -> tuple[Path, ...]:
    """The directories of a group, in every tree that has it."""
    return tuple(place for tree in _trees(root) if (place := tree / inner.lstrip("/")).is_dir())


def oom_kills(inner: str, root: Path = ROOT) -> int:
    """How often the kernel has killed a process of the group for want of memory."""
    counts = [0]
    for place in directories(inner, root):
        for name in ("memory.events", "memory.oom_control"):
            with suppress(OSError):
                found = re.search(r"^oom_kill (\d+)$", (place / name).read_text(), re.MULTILINE)
                counts.append(int(found[1]) if found else 0)
    return max(counts)


def kill_all(inner: str, root: Path = ROOT) -> None:
    """Kill every process of the group. Raises: HostError when some cannot be killed."""
    for _ in range(_SWEEPS):
        pids = {pid for place in directories(inner, root) for pid in _pids(place)}
        if not pids:
            return
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            process.wait_a_moment(pid)
    raise HostError(f"processes of the control group {inner} cannot be killed")


def find(id: str, root: Path = ROOT) -> frozenset[str]:
    """The cgroups of a container whose pod is unknown."""
    places = (place for tree in _trees(root) for place in (tree / TOP).glob(f"pod*/{id}"))
    return frozenset(f"/{TOP}/{place.parent.name}/{id}" for place in places)


def remove(inner: str, root: Path = ROOT) -> None:
    """Take away a group of which the runtime may know nothing.

    One that is killed while it makes a container leaves it, and perhaps processes in it.
    Repeated: nothing. Raises: HostError.
    """
    kill_all(inner, root)
    for place in directories(inner, root):
        for directory, _, _ in os.walk(place, topdown=False):
            with refusals(f"rmdir {directory}"), suppress(FileNotFoundError):
                os.rmdir(directory)


def remove_pod(pod_uid: str, root: Path = ROOT) -> None:
    """Take away the group of a pod that has no container any more; one that is in use stays."""
    for place in directories(f"/{TOP}/pod{pod_uid}", root):
        with suppress(OSError):
            place.rmdir()


def is_in_service(membership: Path = Path("/proc/self/cgroup")) -> bool:
    """Whether this process belongs to a unit of systemd, which kills all of it on a restart."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return False
    return any(
        line.split(":", 2)[1] in ("", "name=systemd") and ".service" in line for line in lines
    )


def adopt_shim(pid: int, root: Path = ROOT) -> None:
    """Move a shim out of our own group, so that it outlives the service that we run in."""
    for tree in (root,) if is_v2(root) else (root / "systemd", root / "unified"):
        if (tree / "cgroup.procs").exists():
            group = tree / TOP / SHIMS
            try:
                group.mkdir(parents=True, exist_ok=True)
                (group / "cgroup.procs").write_text(str(pid))
            except OSError as error:
                raise HostError(f"cannot move a shim to {group}: {error.strerror}") from error


def _trees(root: Path) -> Iterator[Path]:
    if is_v2(root):
        yield root
        return
    with suppress(OSError):
        yield from (Path(entry.path) for entry in os.scandir(root) if entry.is_dir())


def _pids(place: Path) -> list[int]:
    """Of the group and of those that a container made below it."""
    found: list[int] = []
    for directory, _, _ in os.walk(place):
        with suppress(OSError):
            found += map(int, (Path(directory) / "cgroup.procs").read_text().split())
    return [pid for pid in found if pid > 0]  # 0 is one that another pid namespace hides
