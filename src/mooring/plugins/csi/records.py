"""Which data files are of a staged or published volume, and which only of an attempt.

A call that the driver certainly refused left nothing, and its data file may be removed; unless the
file is older than this process, or an earlier call succeeded: then there is something to undo.
"""

import os
from pathlib import Path

from mooring import log
from mooring.errors import HostError
from mooring.host.blocking import in_thread
from mooring.host.cleanup import remove_empty
from mooring.host.contract import MountOps
from mooring.host.refusal import refusals
from mooring.plugins.contract import Uncertain, VolumeError
from mooring.plugins.csi import data_file
from mooring.plugins.csi.data_file import VolumeData
from mooring.plugins.csi.source import csi_message
from mooring.plugins.directories import make_directories

_log = log.get("mooring.plugins.csi")


class Records:
    """One for all volumes of a node. A record is known by its path."""

    def __init__(self, mounts: MountOps) -> None:
        self._mounts = mounts
        self._tries: set[Path] = set()  # records that were made for a first try

    async def begin(self, directory: Path, data: VolumeData) -> None:
        """Put on record what a driver is about to be asked. Raises: HostError."""
        if await in_thread(data_file.save, directory, data):
            self._tries.add(directory)

    async def mark(self, file: Path) -> None:
        """The same for an empty file, whose name is the record. Raises: HostError."""
        if await in_thread(_touch, file):
            self._tries.add(file)

    def is_try(self, record: Path) -> bool:
        return record in self._tries

    def settle(self, record: Path) -> None:
        """It is no try any more: it succeeded, or is gone."""
        self._tries.discard(record)

    async def refused(self, place: Path, text: str) -> VolumeError:
        """A driver certainly did not do it at `place`: what to raise, and nothing is left.

        Something is left all the same when it was there before, or is mounted, or is not empty.
        """
        directory = place.parent
        if not self.is_try(directory):
            return VolumeError(text)
        try:
            is_gone = await in_thread(remove_place, self._mounts, place)
        except HostError as error:
            return Uncertain(f"{text}; and {error}")
        if not is_gone:
            return Uncertain(f"{text}; and yet something is mounted at {place}")
        self.settle(directory)
        return VolumeError(text)

    async def undone(self, place: Path) -> None:
        """After the driver's success at `place`: remove our record and directories.

        Raises: VolumeError when something is still mounted there; HostError.
        """
        if not await in_thread(remove_place, self._mounts, place):
            raise VolumeError(
                csi_message(f"the driver says that it is done, but {place} is still mounted")
            )
        self.settle(place.parent)

    async def clear(self, place: Path) -> None:
        """Clean up without a data file: at most empty directories from before it was written.

        Raises: VolumeError when something is mounted there, whose driver is unknown; HostError.
        """
        if not await in_thread(remove_place, self._mounts, place):
            path = place.parent / data_file.NAME
            text = f"failed to open volume data file [{path}]: no such file or directory"
            raise VolumeError(csi_message(text))


def remove_place(mounts: MountOps, place: Path) -> bool:
    """Remove an empty mount point, its data file and their directory; False: it is in use.

    Never more than that: below a mount that only seems to be gone is a user's data. Blocks.
    """
    if mounts.is_mount_point(place):
        _log.warning("a mount point is left as it is", path=place)
        return False
    remove_empty(place)
    data_file.remove(place.parent)
    remove_empty(place.parent)
    return True


def _touch(file: Path) -> bool:
    """Whether it was not there."""
    make_directories(file.parent)
    with refusals(f"create {file}"):
        try:
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o640))
        except FileExistsError:
            return False
    return True
