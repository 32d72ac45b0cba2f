"""The fsGroup walk itself: the group of every entry below a directory, and its mode bits.

Runs inside Mooring, and as a helper program (`python -m`), so that other cores can take a share of
a large tree. A share is a set of inode numbers: every process reads all directories, which costs
little, and changes only the entries of its share. So no process waits for another, whatever the
shape of the tree.
"""

import ctypes
import os
import signal
import stat
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from typing import NamedTuple

from mooring.host import no_follow, same_mount, tree

REPORT_EVERY = 1_000  # entries
DONE = "done"
_PR_SET_PDEATHSIG = 1
_KIND = 0o170000  # the bits of a mode that tell a directory from a file
_SET_IDS = stat.S_ISUID | stat.S_ISGID


class Wanted(NamedTuple):
    """The group and mode bits that every entry gets. Mode bits are only added."""

    gid: int
    file_bits: int
    directory_bits: int


class Share(NamedTuple):
    """The entries whose inode number modulo `of` is `number`."""

    number: int = 0
    of: int = 1


class Tally:
    """The counts of a walk."""

    __slots__ = ("entries", "failures", "first_failure", "is_complete")

    def __init__(self, entries: int = 0, failures: int = 0, first_failure: str = "") -> None:
        self.entries = entries
        self.failures = failures
        self.first_failure = first_failure
        self.is_complete = False

    def fail(self, name: str, error: OSError) -> None:
        if isinstance(error, FileNotFoundError):
            return  # removed meanwhile
        self.failures += 1
        if not self.first_failure:
            self.first_failure = f"{name!r}: {error.strerror}"

    def add(self, other: "Tally") -> None:
        self.entries += other.entries
        self.failures += other.failures
        self.first_failure = self.first_failure or other.first_failure


def change_below(root: int, wanted: Wanted, share: Share, report: Callable[[Tally], None]) -> Tally:
    """Change a share of the entries below the directory `root`; not `root` itself, nor mounts.

    A refused change is counted and skipped. `report` is called every 1,000 entries.
    Raises: OSError when an entry or a directory cannot be read.
    """
    tally = Tally()
    device = os.fstat(root).st_dev
    with closing(tree.walk(root)) as visits:
        for directory, name, inode, _ in visits:
            if inode % share.of != share.number:
                continue
            try:
                seen = same_mount.find_here(directory, name, inode, device)
            except FileNotFoundError:
                continue
            if seen is None:  # a mount point: its name leads to another volume
                continue
            refused = change(directory, name, seen, wanted)
            if refused is not None:
                tally.fail(name, refused)
            tally.entries += 1
            if tally.entries % REPORT_EVERY == 0:
                report(tally)
    tally.is_complete = True
    return tally


def change(directory: int, name: str, seen: os.stat_result, wanted: Wanted) -> OSError | None:
    """Give one entry, whose stat is `seen`, the group and the mode bits it lacks.

    Returns the error of a refused change; the other change is made all the same.
    """
    mode = seen.st_mode
    kind = mode & _KIND
    if kind == stat.S_IFDIR:
        bits = wanted.directory_bits
    else:
        bits = wanted.file_bits if kind != stat.S_IFLNK else 0
    missing, refused = mode & bits != bits, None
    try:
        if seen.st_gid != wanted.gid:
            # chown clears setuid and setgid of a file: set them again.
            missing = missing or (kind == stat.S_IFREG and mode & _SET_IDS != 0)
            os.chown(name, -1, wanted.gid, dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        refused = error
    try:
        if missing:
            no_follow.change_mode(directory, name, stat.S_IMODE(mode) | bits)
    except OSError as error:
        refused = error
    return refused


def main(arguments: list[str]) -> None:
    """The helper program: change a share, and print reports."""
    parent, root, gid, file_bits, directory_bits, number, of = map(int, arguments)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return  # the parent died before its death signal was set
    wanted = Wanted(gid, file_bits, directory_bits)
    with suppress(OSError):  # the parent meets the same error when it walks again
        _print(change_below(root, wanted, Share(number, of), _print))


def arguments(root: int, wanted: Wanted, share: Share) -> list[str]:
    """The arguments of `main`, made by the process that starts it."""
    return [str(number) for number in (os.getpid(), root, *wanted, *share)]


def _print(tally: Tally) -> None:
    state = DONE if tally.is_complete else "at"
    text = f"{state} {tally.entries} {tally.failures} {tally.first_failure}\n"
    os.write(sys.stdout.fileno(), text.encode())


def read_line(text: bytes) -> Tally:
    """Parse one report of a helper. Raises: ValueError."""
    state, entries, failures, first = text.decode().split(" ", 3)
    tally = Tally(int(entries), int(failures), first)
    tally.is_complete = state == DONE
    return tally


if __name__ == "__main__":
    main(sys.argv[1:])
