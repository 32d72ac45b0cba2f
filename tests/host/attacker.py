"""Somebody with a hand in the volume, who swaps what we are about to open."""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_libc = ctypes.CDLL(None, use_errno=True)


def exchange(one: Path, other: Path) -> None:
    """Let two names change places, in one moment."""
    names = os.fsencode(one), os.fsencode(other)
    if _libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(one))


@contextmanager
def attacking(one: Path, other: Path) -> Iterator[None]:
    """Exchange two names without rest, in a thread beside."""
    enough, begun = threading.Event(), threading.Event()

    def swap() -> None:
        while not enough.is_set():
            exchange(one, other)
            begun.set()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        assert begun.wait(10)
        yield
    finally:
        enough.set()
        thread.join()
