"""A program that freezes a file system, and thaws it: on demand, in time, or with its parent.

Whoever froze a file system and dies leaves all its writers waiting, where no signal reaches them.
So the process that has work to do while everything stands still does not freeze; this one does,
and it has nothing else to do than to thaw. It is told of the end by a byte, or by the closing of
its standard input, which a killed parent does too.

Run by its path, with the descriptor of a directory and a number of seconds. What it says, a
line each: `frozen`, or `refused` and an error number; then how that ended, see `End`.
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
_DEAF_TO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # the parent has its own end in mind


class End(Enum):
    THAWED = "thawed"  # nothing was written since it was frozen
    LATE = "late"  # the time was over
    LOST = "lost"  # somebody else had thawed it


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
    """Let writers go on. Raises: OSError when they cannot."""
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
        if error.errno != errno.EPIPE:  # nobody listens any more
            raise


if __name__ == "__main__":
    main(sys.argv[1:])
