"""Attaching a volume by its driver, and mounting its device once for all pods."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mooring.errors import MooringError
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.cleanup import PathState, clean_up, examine, remove_empty
from mooring.host.filesystem import DEFAULT_TYPE, format_and_mount
from mooring.model.pod import Pod
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import DeviceRequest, Uncertain, VolumeError
from mooring.plugins.directories import make_directories
from mooring.plugins.flex import records
from mooring.plugins.flex.controller import FlexControl
from mooring.plugins.flex.driver import Driver
from mooring.plugins.flex.options import volume_options
from mooring.plugins.flex.paths import device_mount
from mooring.plugins.flex.reply import Call
from mooring.plugins.flex.source import is_read_only, source_of
from mooring.plugins.volume_host import Host


class FlexAttacher:
    """`Attacher` and `Detacher` of the contract."""

    def __init__(self, driver: Driver, host: Host) -> None:
        self._driver = driver
        self._host = host
        self._control = FlexControl(driver)

    async def attach(self, use: VolumeUse, node: str) -> str:
        return await self._control.attach(use, node)

    async def detach(self, volume_name: str, node: str) -> None:
        await self._control.detach(volume_name, node)

    async def are_attached(self, uses: Sequence[VolumeUse], node: str) -> Mapping[str, bool]:
        """Nothing at all, of a driver that cannot say."""
        told = {use.name: await self._control.is_attached(use, node) for use in uses}
        return {name: said for name, said in told.items() if said is not None}

    async def wait_for_attach(self, use: VolumeUse, device: str, pod: Pod) -> str:
        answer = await self._driver.ask(Call.WAIT_FOR_ATTACH, device, volume_options(use))
        return device if answer is None else answer.device

    def device_mount_path(self, use: VolumeUse) -> Path:
        return device_mount(self._host.layout, self._driver.name, use.name)

    async def mount_device(
        self, use: VolumeUse, device: str, target: Path, request: DeviceRequest
    ) -> None:
        if await in_thread(self._host.mounts.is_mount_point, target):
            await in_thread(records.check, target, use)
            return
        options = volume_options(use)
        await in_thread(make_directories, target)
        await in_thread(records.write, target, use)
        try:
            answer = await self._driver.ask(Call.MOUNT_DEVICE, str(target), device, options)
            if answer is None and device:
                with taking(LONG_SECONDS):
                    await in_thread(self._format_and_mount, use, Path(device), target)
        except MooringError as error:
            await self._undo(target, error)
            raise

    async def unmount_device(self, target: Path) -> None:
        await self._unmount_device(target)
        await in_thread(records.remove, target)

    async def _unmount_device(self, target: Path) -> None:
        is_mounted = await in_thread(self._host.mounts.is_mount_point, target)
        if not is_mounted:
            state = await in_thread(examine, target)
            if state is PathState.MISSING:
                return
            is_mounted = state is PathState.BROKEN
        if is_mounted:
            if await self._driver.ask(Call.UNMOUNT_DEVICE, str(target)) is None:
                await in_thread(clean_up, self._host.mounts, target)
                return
            if await in_thread(self._host.mounts.is_mount_point, target):
                raise VolumeError(f"{target} is still mounted, although the driver says Success")
        await in_thread(remove_empty, target)

    def _format_and_mount(self, use: VolumeUse, device: Path, target: Path) -> None:
        """A device without a file system is formatted; one with another is left alone."""
        fs_type = source_of(use).fs_type or DEFAULT_TYPE
        mode = "ro" if is_read_only(use) else "rw"
        format_and_mount(self._host.mounts, device, target, fs_type, [mode])

    async def _undo(self, target: Path, error: MooringError) -> None:
        try:
            await self.unmount_device(target)
        except MooringError as left:
            raise Uncertain(f"{error}; and what it has left cannot be undone: {left}") from error
