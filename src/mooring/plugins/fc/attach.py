"""Finding the disk on this node, and letting the kernel forget it."""

from pathlib import Path

from mooring import log
from mooring.errors import HostError
from mooring.host import command
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.scsi import ScsiTree
from mooring.plugins.contract import VolumeError
from mooring.plugins.fc import records
from mooring.plugins.fc.disk import FcDisk
from mooring.plugins.volume_host import Host

_log = log.get("mooring.plugins.fc")

COMMAND_SECONDS = 30.0
TRIES = 12  # of a mapping that is busy
AGAIN_SECONDS = 10.0


class FcDisks:
    def __init__(self, host: Host, scsi: ScsiTree) -> None:
        self._host = host
        self._scsi = scsi

    async def attach(self, disk: FcDisk, directory: Path) -> str:
        """Raises: VolumeError, HostError when there is no such disk."""
        await in_thread(records.write, directory, disk)
        with taking(LONG_SECONDS):
            device = await in_thread(self._find, disk)
        if device is None:
            await in_thread(self._give_up, directory)
            raise VolumeError("no fc disk found")
        return str(device)

    async def detach(self, directory: Path) -> None:
        """Nothing there is a success. A mapping that is busy is asked for two minutes: if the
        whole were tried again, its device could not be found any more."""
        disk = await in_thread(records.find, directory)
        if disk is None:
            return
        for turn in range(TRIES):
            try:
                await in_thread(self._remove, directory, disk)
                break
            except HostError as error:
                if turn == TRIES - 1:
                    raise
                _log.warning("a disk is not let go yet", disk=disk.place, error=error)
            await self._host.clock.sleep(AGAIN_SECONDS)
        await in_thread(records.remove, directory)

    def _give_up(self, directory: Path) -> None:
        if not self._host.mounts.is_mount_point(directory):
            records.remove(directory)

    def _find(self, disk: FcDisk) -> Path | None:
        """By several paths if there are; a rescan looks for a mapping once more."""
        first = self._look(disk)
        if first is not None and (mapping := self._scsi.find_multipath(first)) is not None:
            return mapping
        self._scsi.scan_everything()
        found = self._look(disk)
        return None if found is None else self._scsi.find_multipath(found) or found

    def _look(self, disk: FcDisk) -> Path | None:
        by_path = (
            self._scsi.find_by_path(name) for name in self._scsi.paths() if disk.is_path(name)
        )
        by_id = (self._scsi.find_by_id(name) for name in disk.ids)
        found = [path for path in (*by_path, *by_id) if path is not None]
        with_paths = (path for path in found if self._scsi.find_multipath(path) is not None)
        return next(with_paths, next(iter(found), None))

    def _remove(self, directory: Path, disk: FcDisk) -> None:
        """Unless another volume has the same disk, perhaps by another of its names."""
        path = self._look(disk)
        others = (one for at, one in records.every(self._host.layout) if at != directory)
        if path is None or path in map(self._look, others):
            return
        mapping = self._scsi.find_multipath(path)
        disks = (path,) if mapping is None else self._scsi.slaves(mapping)
        if mapping is not None:
            command.check(("multipath", "-f", str(mapping)), seconds=COMMAND_SECONDS)
        for one in disks:
            command.run(("blockdev", "--flushbufs", str(one)), seconds=COMMAND_SECONDS)
            self._scsi.remove(one)
