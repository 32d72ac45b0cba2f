"""A program that freezes a file system, and thaws it: on request, in time, or with its parent.

A process that freezes a file system and dies leaves all writers blocked, out of reach of signals.
So the driver, which works while the file system is frozen, starts this program to freeze it: its
only task is to thaw again. It thaws on a byte on its standard input, or when that is closed, which
also happens when the parent is killed.

Run by its path, with the descriptor of a directory and a number of seconds. It prints one line
each: `frozen`, or `refused` and an errno; then how the freeze ended, see `End`.
"""

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
FROZEN = "frozen"
REFUSED = "refused"
_STDIN, _STDOUT = 0, 1
_DEAF_TO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # signals meant for the parent


class End(Enum):
    THAWED = "thawed"  # nothing was written since it was frozen
    LATE = "late"  # its time had run out
    LOST = "lost"  # another process had thawed it


def main(arguments: list[str]) -> None:
    directory, seconds = int(arguments[0]), float(arguments[1])
    for number in _DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    ear = select.poll()
    ear.register(_STDIN, select.POLLIN)
    if ear.poll(0):
        return  # the parent is gone already
    until = time.monotonic() + seconds
    try:
        fcntl.ioctl(directory, FREEZE, 0)
    except OSError as error:
        _say(f"{REFUSED} {error.errno}")
        return
    try:
        _say(FROZEN)
        is_asked = bool(ear.poll(max(0.0, until - time.monotonic()) * 1000))
    finally:
        end = thaw(directory)
    _say((End.LATE if end is End.THAWED and not is_asked else end).value)


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
