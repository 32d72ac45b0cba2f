"""A program that freezes file systems, and thaws them: on request, in time, or with its parent.

A process that freezes a file system and dies leaves all writers blocked, out of reach of signals.
So the driver, which works while the file system is frozen, starts this program to freeze it: its
only task is to thaw again. It waits for a byte on its standard input, then freezes, and thaws on
the next byte, or when that is closed, which also happens when the parent is killed.

Writers wait from the begin of a freeze, which first sends to the disk whatever is not there yet. So
that is done before, again and again until there is little of it.

Run by its path, with a number of seconds and the descriptor of a directory in each file system. It
freezes all of them or none, and prints one line each: `ready`; `frozen` and how many seconds that
took, or `refused`, the place of the one that could not be frozen, and an errno; then how the freeze
ended, see `End`.
"""

import ctypes
import errno
import fcntl
import os
import select
import signal
import sys
import time
from enum import Enum

FREEZE = 0xC0045877  # FIFREEZE
THAW = 0xC0045878  # FITHAW
READY = "ready"
FROZEN = "frozen"
REFUSED = "refused"
MOST_FLUSHES = 8
QUICK_FLUSH_SECONDS = 0.01
_STDIN, _STDOUT = 0, 1
_DEAF_TO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # signals meant for the parent


class End(Enum):
    THAWED = "thawed"  # nothing was written since it was frozen
    LATE = "late"  # its time had run out
    LOST = "lost"  # another process had thawed it


def main(arguments: list[str]) -> None:
    seconds, directories = float(arguments[0]), [int(each) for each in arguments[1:]]
    for number in _DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    ear = select.poll()
    ear.register(_STDIN, select.POLLIN)
    libc = ctypes.CDLL(None)
    _say(READY)
    if not os.read(_STDIN, 1):
        return  # the parent is gone already
    for _ in range(MOST_FLUSHES):
        began = time.monotonic()
        for directory in directories:
            libc.syncfs(directory)  # the freeze tells if the disk fails
        if time.monotonic() - began < QUICK_FLUSH_SECONDS:
            break
    began = time.monotonic()
    until = began + seconds
    still: list[int] = []
    try:
        for place, directory in enumerate(directories):
            try:
                fcntl.ioctl(directory, FREEZE, 0)
            except OSError as error:
                _say(f"{REFUSED} {place} {error.errno}")
                return
            still.append(directory)
        _say(f"{FROZEN} {time.monotonic() - began:.4f}")
        is_asked = bool(ear.poll(max(0.0, until - time.monotonic()) * 1000))
    finally:
        end = thaw_all(still)
    _say((End.LATE if end is End.THAWED and not is_asked else end).value)


def thaw_all(directories: list[int]) -> End:
    """Thaw them all, whatever becomes of one. Raises: OSError when one failed."""
    end, failed = End.THAWED, None
    for directory in directories:
        try:
            if thaw(directory) is End.LOST:
                end = End.LOST
        except OSError as error:
            failed = error
    if failed is not None:
        raise failed
    return end


def thaw(directory: int) -> End:
    """Thaw the file system. Raises: OSError when that failed."""
    try:
        fcntl.ioctl(directory, THAW, 0)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return End.LOST
    return End.THAWED


def _say(line: str) -> None:
    try:
        os.write(_STDOUT, f"{line}\n".encode())
    except OSError as error:
        if error.errno != errno.EPIPE:  # the parent does not read any more
            raise


if __name__ == "__main__":
    main(sys.argv[1:])
