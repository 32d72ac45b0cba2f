"""The plugin that serves volumes of CSI drivers."""

from pathlib import Path

from mooring.client.contract import Client
from mooring.csi.outcome import Code
from mooring.errors import ApiError, ConnectionLost
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.pod_volume import InlineCsiSource, PodVolume
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import CsiSource
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins.contract import GrowthRequest, NotStarted, VolumeError
from mooring.plugins.csi import data_file, expand
from mooring.plugins.csi.attach import CsiAttacher
from mooring.plugins.csi.attachment_name import SEPARATOR
from mooring.plugins.csi.block import CsiBlockMapper, CsiBlockUnmapper
from mooring.plugins.csi.data_file import VolumeData
from mooring.plugins.csi.drivers import Drivers
from mooring.plugins.csi.mount import CsiMounter, CsiUnmounter
from mooring.plugins.csi.reconstruct import find_staged
from mooring.plugins.csi.services import DriverObjects, Services
from mooring.plugins.csi.source import csi_message, find_driver_name, is_inline, persistent
from mooring.plugins.volume_host import Host


class CsiPlugin:
    name = Plugin.CSI
    takes_mount_options = True

    def __init__(
        self, host: Host, client: Client, drivers: Drivers, objects: DriverObjects
    ) -> None:
        self._services = Services(host, client, drivers, objects)
        self._attacher = CsiAttacher(self._services)

    def supports(self, use: VolumeUse) -> bool:
        return find_driver_name(use) is not None

    def volume_name(self, use: VolumeUse) -> str:
        """Raises: VolumeError."""
        try:
            source = persistent(use)
        except VolumeError as error:
            text = f"plugin.GetVolumeName failed to extract volume source from spec: {error}"
            raise VolumeError(csi_message(text)) from error
        return f"{source.driver}{SEPARATOR}{source.volume_handle}"

    def wants_remount(self, use: VolumeUse) -> bool:
        """False while the CSIDriver is unknown; the caller asks again."""
        driver = find_driver_name(use)
        try:
            return driver is not None and self._services.spec(driver).requires_republish
        except NotStarted:
            return False

    # files

    def mounter(self, use: VolumeUse, pod: Pod) -> CsiMounter:
        return CsiMounter(self._services, use, pod)

    def unmounter(self, name: str, pod_uid: str) -> CsiUnmounter:
        return CsiUnmounter(self._services, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        paths = self._services.paths
        staged = find_staged(paths, name)
        data = _get_data(paths.target(pod_uid, name).parent if staged is None else staged)
        if data.is_inline:
            inline = PodVolume(name=data.name or name, csi=InlineCsiSource(data.driver))
            return VolumeUse(inline=inline)
        return _persistent(data, name, VolumeMode.FILESYSTEM)

    # what is done once for all pods

    def can_mount_device(self, use: VolumeUse) -> bool:
        return not is_inline(use)

    def can_attach(self, use: VolumeUse) -> bool:
        """Raises: NotStarted while the CSIDriver is unknown: a wrong True would wait for ever."""
        return not is_inline(use) and self._services.spec(persistent(use).driver).attach_required

    def attacher(self) -> CsiAttacher:
        return self._attacher

    def detacher(self) -> CsiAttacher:
        return self._attacher

    def device_mounter(self) -> CsiAttacher:
        return self._attacher

    def device_unmounter(self) -> CsiAttacher:
        return self._attacher

    async def is_node_full(self, use: VolumeUse, node: str) -> bool:
        """Only of drivers that allow for limits that change; the driver is then asked anew."""
        try:
            source = persistent(use)
            if self._services.spec(source.driver).node_allocatable_update_period_seconds is None:
                return False
            failed = (await self._services.attachment(source, node)).status.attach_error
        except (VolumeError, ApiError, ConnectionLost):
            return False
        is_full = failed is not None and failed.error_code == Code.RESOURCE_EXHAUSTED
        if is_full:
            self._services.drivers.found_full(source.driver)
        return is_full

    # devices

    def block_mapper(self, use: VolumeUse, pod: Pod) -> CsiBlockMapper:
        return CsiBlockMapper(self._services, use, pod)

    def block_unmapper(self, name: str, pod_uid: str) -> CsiBlockUnmapper:
        return CsiBlockUnmapper(self._services, name, pod_uid)

    def rebuild_block(self, name: str, pod_uid: str) -> VolumeUse:
        data = _get_data(self._services.paths.block_data(name))
        return _persistent(data, name, VolumeMode.BLOCK)

    # growth

    def needs_node_growth(self, use: VolumeUse) -> bool:
        return True

    async def grow_on_node(self, request: GrowthRequest) -> bool:
        return await expand.grow(self._services, request)


def _get_data(directory: Path) -> VolumeData:
    """Raises: VolumeError."""
    data = data_file.find(directory)
    if data is None:
        text = f"failed to open volume data file [{directory / data_file.NAME}]: no such file"
        raise VolumeError(csi_message(text))
    return data


def _persistent(data: VolumeData, name: str, mode: VolumeMode) -> VolumeUse:
    spec = VolumeSpec(csi=CsiSource(data.driver, data.handle), volume_mode=mode)
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name=data.name or name), spec=spec))
