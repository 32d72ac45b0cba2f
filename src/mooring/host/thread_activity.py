"""Whether a thread makes progress or is stuck in one system call, and where."""

import sys
from pathlib import Path

IDLE_WAKEUPS = 8  # wakeups without progress: the kernel wakes some waits only to check a timer
_MOST_LINES = 8

_SWITCHES = (b"voluntary_ctxt_switches:", b"nonvoluntary_ctxt_switches:")


def times_scheduled(thread: int) -> int:
    """How often the thread (by its kernel id) was scheduled; 0: unknown."""
    try:
        told = Path(f"/proc/self/task/{thread}/status").read_bytes()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in told.splitlines() if line.startswith(_SWITCHES))


def makes_progress(before: int, now: int) -> bool:
    """Whether the thread made progress between the two counts; a long walk is not stuck."""
    return now - before > IDLE_WAKEUPS


def find_path_of(python_thread: int) -> str:
    """The operation and path that a thread is at, by its innermost frames; or empty."""
    frame = sys._current_frames().get(python_thread)
    while frame is not None:
        paths = (value for value in frame.f_locals.values() if isinstance(value, Path))
        if (path := next(paths, None)) is not None:
            return f"{frame.f_code.co_name.strip('_')} {path}"
        frame = frame.f_back
    return ""


def stack_of(python_thread: int) -> str:
    """The innermost frames of a thread; empty when it is gone. Reads no source files."""
    frame = sys._current_frames().get(python_thread)
    lines: list[str] = []
    while frame is not None and len(lines) < _MOST_LINES:
        lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(lines)
