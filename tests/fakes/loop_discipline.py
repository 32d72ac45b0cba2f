"""Catches calls to a file system that are made on the event loop instead of in a thread."""

import asyncio
import builtins
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mooring

NAMES = [
    "access",
    "chdir",
    "chmod",
    "chown",
    "lchown",
    "link",
    "listdir",
    "listxattr",
    "lstat",
    "mkdir",
    "mkfifo",
    "mknod",
    "open",
    "readlink",
    "remove",
    "rename",
    "replace",
    "rmdir",
    "scandir",
    "stat",
    "statvfs",
    "symlink",
    "truncate",
    "unlink",
    "utime",
]
KERNEL = ("/proc", "/sys", "/dev/fd", "/dev/fuse", "/dev/null", "/dev/urandom")  # no disk behind
OURS = str(Path(mooring.__file__).parent)


@contextmanager
def calls_on_the_loop(monkeypatch: Any) -> Iterator[list[str]]:
    """What was called with which path, and by whom; of Mooring's own code alone."""
    caught: list[str] = []
    with monkeypatch.context() as patch:
        for name in NAMES:
            patch.setattr(os, name, _watched(f"os.{name}", getattr(os, name), caught))
        patch.setattr(builtins, "open", _watched("open", open, caught))
        patch.setattr(io, "open", _watched("open", io.open, caught))
        yield caught


def _watched(name: str, really: Callable[..., Any], caught: list[str]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if _is_on_loop() and not _is_harmless(args):
            codes = [*_codes()]
            ours = [line for line in codes if line.startswith(OURS)]
            if ours and not any("importlib" in line for line in codes):
                where = " < ".join(line.removeprefix(OURS) for line in ours[:3])
                caught.append(f"{name}({args[0] if args else ''}) at {where}")
        return really(*args, **kwargs)

    return call


def _codes() -> Iterator[str]:
    """The lines of code that led here, innermost first, down to the next test's."""
    frame = sys._getframe(2)
    for _ in range(14):
        name = frame.f_code.co_filename
        if frame.f_back is None or "/tests/" in name:
            return
        yield f"{name}:{frame.f_lineno} {frame.f_code.co_name}"
        frame = frame.f_back


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _is_harmless(args: tuple[Any, ...]) -> bool:
    if not args or isinstance(args[0], int):
        return bool(args)
    return os.fsdecode(args[0]).startswith(KERNEL)
