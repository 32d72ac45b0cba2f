"""Getting the disk to this node, by as many paths as there are, and letting it go.

Always true:

- The record of a disk is written before its first command, and removed after its last.
- A session is ended only if no other disk on this node has a record that needs it, and none of its
  disks is in use: the machine may have its own root there.
- Only the LUN that was asked for is looked for, and only devices of it are removed.
"""

import asyncio
from pathlib import Path
from weakref import WeakValueDictionary

from mooring import log
from mooring.errors import HostError
from mooring.host import command
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.scsi import ScsiTree
from mooring.plugins.contract import VolumeError
from mooring.plugins.iscsi import records
from mooring.plugins.iscsi.chap import Chap
from mooring.plugins.iscsi.disk import IscsiDisk
from mooring.plugins.iscsi.sessions import TCP, Sessions
from mooring.plugins.volume_host import Host

_log = log.get("mooring.plugins.iscsi")

ROUNDS = 5  # over the portals that have given no device yet
ENOUGH_ROUNDS, ENOUGH_PATHS = 2, 2
DEVICE_LOOKS = 30  # one a second
MULTIPATH_LOOKS = 10
MULTIPATH_SECONDS = 30.0


class IscsiDisks:
    def __init__(self, host: Host, sessions: Sessions, scsi: ScsiTree) -> None:
        self._host = host
        self._sessions = sessions
        self._scsi = scsi
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def attach(self, disk: IscsiDisk, directory: Path, chap: Chap) -> str:
        """The device. Attached already is a success.

        Raises: VolumeError, HostError when there is no path to it; nothing of it is left.
        """
        turn = self._turn(disk.iqn)
        async with turn:
            with taking(LONG_SECONDS):
                await in_thread(self._record, directory, disk)
                try:
                    return await self._attach(disk, chap)
                except (VolumeError, HostError):
                    await in_thread(self._give_up, directory, disk)
                    raise

    async def detach(self, directory: Path) -> None:
        """Nothing there is a success. Raises: VolumeError, HostError; can be called again."""
        disk = await in_thread(records.find, directory)
        if disk is None:
            return
        turn = self._turn(disk.iqn)
        async with turn:
            with taking(LONG_SECONDS):
                await in_thread(self._detach, directory, disk)

    def _turn(self, iqn: str) -> asyncio.Lock:
        return self._turns.setdefault(iqn, asyncio.Lock())

    def _record(self, directory: Path, disk: IscsiDisk) -> None:
        is_mounted = self._host.mounts.is_mount_point(directory)
        records.write(directory, disk, is_mounted=is_mounted)

    async def _attach(self, disk: IscsiDisk, chap: Chap) -> str:
        transport = await in_thread(self._sessions.prepare, disk)
        devices: dict[str, Path] = {}
        last = ""
        for number in range(1, ROUNDS + 1):
            for portal in disk.portals:
                if portal in devices:
                    continue
                try:
                    devices[portal] = await self._reach(disk, portal, chap, transport)
                except (VolumeError, HostError) as error:
                    _log.warning("no path by a portal", portal=portal, iqn=disk.iqn, error=error)
                    last = str(error)
            if not devices:
                text = f"failed to get any path for iscsi disk, last err seen:\n{last}"
                raise VolumeError(text)
            if len(devices) == len(disk.portals):
                break
            if len(devices) >= ENOUGH_PATHS and number >= ENOUGH_ROUNDS:
                break
        first = next(devices[portal] for portal in disk.portals if portal in devices)
        return str(await self._multipath(disk, first) or first)

    async def _reach(self, disk: IscsiDisk, portal: str, chap: Chap, transport: str) -> Path:
        lun = int(disk.lun)
        hosts = await in_thread(self._scsi.iscsi_hosts, disk.iqn)
        if portal not in hosts:
            await in_thread(self._sessions.log_in, disk, portal, chap)
            hosts = await in_thread(self._scsi.iscsi_hosts, disk.iqn)
        if portal not in hosts:
            raise VolumeError(
                f"could not get SCSI host number for portal {portal} after logging in"
            )
        await in_thread(self._scsi.scan, hosts[portal], lun)
        is_tcp = transport == TCP
        for look in range(DEVICE_LOOKS):
            if look:
                await self._host.clock.sleep(1.0)
            found = await in_thread(
                self._scsi.find_iscsi_device, portal, disk.iqn, lun, is_tcp=is_tcp
            )
            if found is not None:
                return found
        raise VolumeError(f"Could not attach disk: Timeout after {DEVICE_LOOKS}s")

    async def _multipath(self, disk: IscsiDisk, device: Path) -> Path | None:
        looks = MULTIPATH_LOOKS if len(disk.portals) > 1 else 1
        for look in range(looks):
            if look:
                await self._host.clock.sleep(1.0)
            found = await in_thread(self._scsi.find_multipath, device)
            if found is not None:
                return found
        return None

    def _give_up(self, directory: Path, disk: IscsiDisk) -> None:
        """What failed leaves no session behind, unless even that fails: then its record stays."""
        try:
            if not self._host.mounts.is_mount_point(directory):
                self._detach(directory, disk)
        except (VolumeError, HostError) as error:
            _log.warning("a session is left", iqn=disk.iqn, error=error)

    def _detach(self, directory: Path, disk: IscsiDisk) -> None:
        others = [
            one
            for other, one in records.every(self._host.layout)
            if other != directory and (one.iqn, one.iface) == (disk.iqn, disk.iface)
        ]
        if all(one.lun != disk.lun for one in others):  # else the same disk is in use otherwise
            self._remove_devices(disk)
        needed = {portal for one in others for portal in one.portals}
        used = {portal for portal in disk.portals if self._is_used(disk.iqn, portal)}
        for portal in disk.portals:
            if portal not in needed | used:
                self._sessions.log_out(disk, portal)
        if not needed | used:
            self._sessions.remove_iface(disk)
        records.remove(directory)

    def _remove_devices(self, disk: IscsiDisk) -> None:
        """Those that the sessions have now: the name of a lost one may be another disk's by now."""
        by_portal = (
            self._scsi.find_iscsi_device(portal, disk.iqn, int(disk.lun)) for portal in disk.portals
        )
        found = {path for path in by_portal if path is not None}
        mappings = {self._scsi.find_multipath(path) for path in found}
        for mapping in mappings:
            if mapping is not None:
                self._flush(mapping)
        for path in sorted(found):
            self._scsi.remove(path)

    def _is_used(self, iqn: str, portal: str) -> bool:
        """By the machine itself: it may have made the session, and have more disks by it."""
        used = [one for one in self._scsi.iscsi_disks(portal, iqn) if self._scsi.is_in_use(one)]
        if used:
            disks = " ".join(map(str, used))
            _log.warning("a session is left, since it is in use", portal=portal, disks=disks)
        return bool(used)

    def _flush(self, mapping: Path) -> None:
        ended = command.run(("multipath", "-f", str(mapping)), seconds=MULTIPATH_SECONDS)
        if ended.code:
            _log.warning("multipath -f failed", device=mapping, output=ended.output)
