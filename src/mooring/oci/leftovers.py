"""Processes of a predecessor that was killed: found by their words, and ended."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from mooring.host import tree
from mooring.oci import process

PROCESSES = Path("/proc")
SESSION = "exec-"  # how the files of a session begin


def is_about(pid: int, id: str, processes: Path = PROCESSES) -> bool:
    """Whether a process was started with the container's id among its words."""
    return id.encode() in _words(processes / str(pid))


def kill_about(id: str, processes: Path = PROCESSES) -> None:
    """Kill the shims and runtimes that still work on a container whose making was cut short."""
    for entry in processes.iterdir():
        if entry.name.isdecimal() and id.encode() in _words(entry):
            with suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGKILL)


def end_sessions(state: Path, processes: Path = PROCESSES) -> None:
    """End the exec processes of an earlier node process, and remove their files.

    Raises: HostError.
    """
    begin = os.fsencode(state / SESSION)
    for entry in processes.iterdir():
        if entry.name.isdecimal() and any(word.startswith(begin) for word in _words(entry)):
            pid = int(entry.name)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)  # so that it starts nothing more meanwhile
                process.kill_children(pid)
                os.kill(pid, signal.SIGKILL)
    for path in state.glob(f"{SESSION}*"):
        tree.remove_path(path)


def _words(entry: Path) -> list[bytes]:
    try:
        return (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return []
