"""Freezing mounted file systems, so that their images are consistent while they are copied.

A separate process freezes them (`host/freezer.py`), and thaws them when this process is killed or
when the time is over, even if this process hangs.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mooring.errors import HostError, KernelRefused
from mooring.host import freezer
from mooring.host.freezer import End
from mooring.host.mountinfo import MountEntry
from mooring.host.refusal import reason, refusals
from mooring.host.same_mount import mount_of
from mooring.processes import STARTING

_libc = ctypes.CDLL(None, use_errno=True)


class ThawedEarly(HostError):
    """The file system was thawed too early: the copy is not consistent."""


@contextmanager
def frozen(
    mounts: Sequence[MountEntry], seconds: float, before: Callable[[], None] = lambda: None
) -> Iterator[float]:
    """Inside the block all earlier writes are in the images, and writers wait.

    They wait for `seconds` at most, and no longer than this process lives. `before` is called right
    before the freeze, when all is prepared. Yields how many seconds they have waited already.
    Raises: ThawedEarly when one was thawed before the end of the block; HostError.
    """
    with ExitStack() as stack:
        directories = [stack.enter_context(_directory_of(one, "freeze")) for one in mounts]
        helper = _Freezer(mounts, directories, seconds)
        try:
            helper.wait_ready()
            before()
            yield helper.freeze()
        except BaseException:
            with suppress(ThawedEarly):  # the block's own error says more
                helper.thaw()
            raise
        helper.thaw()


def thaw(mount: MountEntry) -> None:
    """Thaw the file system; not frozen is success. Raises: HostError."""
    with _directory_of(mount, "thaw") as directory, refusals(f"thaw {mount.at}"):
        freezer.thaw(directory)


def flush_all(mount: MountEntry) -> None:
    """Write the file system's cached data, so that less is left to do once it is frozen.

    Raises: HostError.
    """
    with _directory_of(mount, "flush") as directory, refusals(f"flush {mount.at}"):
        if _libc.syncfs(directory):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


def flush(device: Path) -> None:
    """Flush the writes to a device to its image. Raises: HostError."""
    with refusals(f"flush {device}"):
        descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Freezer:
    """The parent's side of the freezer process."""

    def __init__(
        self, mounts: Sequence[MountEntry], directories: Sequence[int], seconds: float
    ) -> None:
        self._mounts = mounts
        self._directories = directories
        self._seconds = seconds
        self._places = ", ".join(str(mount.at) for mount in mounts)
        self._may_be_frozen = True  # until the process reports that it is not
        # By its path, not as a module: without importing the package it starts at once.
        numbers = [str(seconds), *map(str, directories)]
        argv = [sys.executable, "-I", "-S", freezer.__file__, *numbers]
        with refusals(f"freeze {self._places}"), STARTING:
            self._process = subprocess.Popen(  # noqa: S603  our own module, and numbers
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=tuple(directories),
                start_new_session=True,
            )

    def wait_ready(self) -> None:
        """Starting a process takes longer than freezing. Raises: HostError."""
        if self._listen() != freezer.READY:
            raise self._died()

    def freeze(self) -> float:
        """Freeze the file systems; returns how many seconds that took.

        Raises: HostError; then none is frozen.
        """
        assert self._process.stdin is not None  # noqa: S101  for the type: a pipe was asked for
        with suppress(BrokenPipeError):
            self._process.stdin.write(b"!")
            self._process.stdin.flush()
        said, *more = self._listen().split() or [""]
        if said == freezer.REFUSED:
            self._may_be_frozen = False
            place, number = map(int, more)
            raise KernelRefused(f"freeze {self._mounts[place].at}: {reason(number)}", number)
        if said != freezer.FROZEN:
            raise self._died()
        return float(more[0])

    def thaw(self) -> None:
        """After: all are thawed, and the process has ended. Raises: ThawedEarly, HostError."""
        assert self._process.stdin is not None  # noqa: S101  for the type: a pipe was asked for
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        said = self._listen()
        self._process.wait()
        assert self._process.stdout is not None  # noqa: S101  for the type
        self._process.stdout.close()
        if said in {End.LATE.value, End.LOST.value}:
            how = "for longer than the limit of" if said == End.LATE.value else "within"
            text = f"{self._places} did not stand still {how} {self._seconds:g} s"
            raise ThawedEarly(text)
        if said != End.THAWED.value and self._may_be_frozen:  # it was killed
            with refusals(f"thaw {self._places}"):
                freezer.thaw_all(list(self._directories))

    def _died(self) -> HostError:
        return HostError(f"freeze {self._places}: the process that should do it has died")

    def _listen(self) -> str:
        assert self._process.stdout is not None  # noqa: S101  for the type: a pipe was asked for
        return self._process.stdout.readline().decode().strip()


@contextmanager
def _directory_of(mount: MountEntry, verb: str) -> Iterator[int]:
    """A descriptor of the root of a mount."""
    with refusals(f"{verb} {mount.at}"):
        directory = os.open(mount.at, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with refusals(f"{verb} {mount.at}"):
            # If it was unmounted meanwhile, this would freeze the machine's own file system.
            if mount_of(directory) != mount.id:
                raise HostError(f"{verb} {mount.at}: another file system is there")
        yield directory
    finally:
        os.close(directory)
