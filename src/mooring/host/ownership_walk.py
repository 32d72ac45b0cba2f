"""The fsGroup walk itself: the group of every entry below a directory, and its mode bits.

Runs within Mooring, and as a program of its own (`python -m`), so that other cores can take a
share of a large tree. A share is made of inode numbers; everyone reads all directories, which
costs little, and changes what is his. So nobody waits for anybody, whatever the tree looks like.
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
    """What every entry shall have. Mode bits are only ever added."""

    gid: int
    file_bits: int
    directory_bits: int


class Share(NamedTuple):
    """The entries whose inode number leaves the rest `number` when divided by `of`."""

    number: int = 0
    of: int = 1


class Tally:
    """What a walk has come to."""

    __slots__ = ("entries", "failures", "first_failure", "is_complete")

    def __init__(self, entries: int = 0, failures: int = 0, first_failure: str = "") -> None:
        self.entries = entries
        self.failures = failures
        self.first_failure = first_failure
        self.is_complete = False

    def fail(self, name: str, error: OSError) -> None:
        if isinstance(error, FileNotFoundError):
            return  # removed meanwhile: nothing to own
        self.failures += 1
        if not self.first_failure:
            self.first_failure = f"{name!r}: {error.strerror}"

    def add(self, other: "Tally") -> None:
        self.entries += other.entries
        self.failures += other.failures
        self.first_failure = self.first_failure or other.first_failure


def change_below(root: int, wanted: Wanted, share: Share, report: Callable[[Tally], None]) -> Tally:
    """Change a share of what is below the directory `root`; not `root` itself, nor what is mounted.

    A refused change is counted and passed over. `report` is called every 1,000 entries.
    Raises: OSError when an entry cannot be looked at, or a directory not be read.
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
            if seen is None:  # mounted upon: what its name leads to is somebody else's
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
    """Give one entry, which looked like `seen`, the group and the mode bits it lacks.

    What was refused is returned; the rest is done all the same.
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
            # Another group takes setuid and setgid off a file: they have to be put back.
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
    """Be a helper: take a share, and print how far it is."""
    parent, root, gid, file_bits, directory_bits, number, of = map(int, arguments)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return  # it died before it could take us along
    wanted = Wanted(gid, file_bits, directory_bits)
    with suppress(OSError):  # the parent will meet it too, when it hears that we are not done
        _print(change_below(root, wanted, Share(number, of), _print))


def arguments(root: int, wanted: Wanted, share: Share) -> list[str]:
    """What `main` is told by the process that starts it."""
    return [str(number) for number in (os.getpid(), root, *wanted, *share)]


def _print(tally: Tally) -> None:
    state = DONE if tally.is_complete else "at"
    text = f"{state} {tally.entries} {tally.failures} {tally.first_failure}\n"
    os.write(sys.stdout.fileno(), text.encode())


def read_line(text: bytes) -> Tally:
    """What a helper printed. Raises: ValueError for anything else."""
    state, entries, failures, first = text.decode().split(" ", 3)
    tally = Tally(int(entries), int(failures), first)
    tally.is_complete = state == DONE
    return tally


if __name__ == "__main__":
    main(sys.argv[1:])
