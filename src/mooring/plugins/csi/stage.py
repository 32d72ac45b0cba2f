"""Staging a volume: what is done once for all of its pods."""

from pathlib import Path

from mooring.csi.capability import Mount, NodeCapability, VolumeCapability, first_mode, writers_of
from mooring.csi.outcome import Done, Refused
from mooring.csi.outcome import Uncertain as Lost
from mooring.csi.requests import StageVolume
from mooring.host.blocking import in_thread
from mooring.model.volume_source import CsiSource
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import DeviceRequest, Uncertain, VolumeError
from mooring.plugins.csi import data_file
from mooring.plugins.csi.data_file import VolumeData
from mooring.plugins.csi.fs_group import mount_group
from mooring.plugins.csi.services import Services, failure_of_undoing
from mooring.plugins.csi.source import csi_message, persistent
from mooring.plugins.directories import make_directories


class CsiDeviceMounter:
    """`DeviceMounter` and `DeviceUnmounter` of the contract."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def device_mount_path(self, use: VolumeUse) -> Path:
        """Raises: VolumeError."""
        source = _named(use)
        return self._services.paths.staging(source.driver, source.volume_handle)

    async def mount_device(
        self, use: VolumeUse, device: str, target: Path, request: DeviceRequest
    ) -> None:
        services, source = self._services, _named(use)
        failed = "attacher.MountDevice failed to create newCsiDriverClient"
        node, budget = services.node(source.driver, failed), services.budget()
        asked = "attacher.MountDevice failed to check for STAGE_UNSTAGE_VOLUME capability"
        capabilities = await services.capabilities(node, budget, asked)
        if NodeCapability.STAGE_UNSTAGE_VOLUME not in capabilities:
            return
        context = await services.publish_context(source, "")
        secrets = await services.secrets(source.node_stage_secret_ref, "NodeStageSecretRef")
        wanted = StageVolume(
            volume_id=source.volume_handle,
            staging_path=str(target),
            capability=_capability(use, source, capabilities, request),
            publish_context=context,
            volume_context=source.volume_attributes,
            secrets=secrets,
        )
        data = VolumeData(source.driver, source.volume_handle)
        await services.records.begin(target.parent, data)
        await in_thread(make_directories, target)
        match await node.stage(wanted, within=budget.left):
            case Done():
                services.records.settle(target.parent)
            case Refused() as refused:
                raise await services.records.refused(target, refused.text)
            case Lost() as lost:
                raise Uncertain(lost.text)

    async def unmount_device(self, target: Path) -> None:
        services = self._services
        data = await in_thread(data_file.find, target.parent)
        if data is None:
            await services.records.clear(target)
            return
        failed = "attacher.UnmountDevice failed to create newCsiDriverClient"
        node, budget = services.node(data.driver, failed), services.budget()
        asked = "attacher.UnmountDevice failed to check whether STAGE_UNSTAGE_VOLUME set"
        capabilities = await services.capabilities(node, budget, asked)
        if NodeCapability.STAGE_UNSTAGE_VOLUME in capabilities:
            told = await node.unstage(data.handle, str(target), within=budget.left)
            if failure := failure_of_undoing(told, "attacher.UnmountDevice failed"):
                raise failure
        await services.records.undone(target)


def _capability(
    use: VolumeUse,
    source: CsiSource,
    capabilities: frozenset[NodeCapability],
    request: DeviceRequest,
) -> VolumeCapability:
    flags = () if use.volume is None else use.volume.spec.mount_options
    group = mount_group(capabilities, request.fs_group)
    mode = first_mode(use.access_modes, writers_of(capabilities))
    return VolumeCapability(Mount(source.fs_type, flags, group), mode)


def _named(use: VolumeUse) -> CsiSource:
    """Raises: VolumeError."""
    try:
        source = persistent(use)
    except VolumeError as error:
        text = f"makeDeviceMountPath failed to get CSIPersistentVolumeSource: {error}"
        raise VolumeError(csi_message(text)) from error
    if not source.driver:
        raise VolumeError("makeDeviceMountPath failed, csi source driver name is empty")
    if not source.volume_handle:
        raise VolumeError(
            "makeDeviceMountPath failed, CSIPersistentVolumeSource volume handle is empty"
        )
    return source
