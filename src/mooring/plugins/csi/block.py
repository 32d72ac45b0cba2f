"""Block volumes: a device staged once, published as a file to each pod, and bound from there.

The file onto which a pod's device will be bound is made before the driver is called: so a restart
finds the pods that it may have been published to.
"""

import os
from pathlib import Path

from mooring.csi.capability import Block, NodeCapability, VolumeCapability, first_mode, writers_of
from mooring.csi.node import Node
from mooring.csi.outcome import Done, Refused
from mooring.csi.outcome import Uncertain as Lost
from mooring.csi.requests import PublishVolume, StageVolume
from mooring.errors import HostError
from mooring.host import tree
from mooring.host.blocking import in_thread
from mooring.host.cleanup import remove_empty
from mooring.host.contract import MountOps
from mooring.model.pod import Pod
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins.contract import Uncertain, Usage, VolumeError
from mooring.plugins.csi import data_file
from mooring.plugins.csi.attachment_name import attachment_name
from mooring.plugins.csi.data_file import VolumeData
from mooring.plugins.csi.paths import CsiPaths
from mooring.plugins.csi.pod_context import pod_info
from mooring.plugins.csi.services import Budget, Services, failure_of_undoing
from mooring.plugins.csi.source import csi_message, persistent
from mooring.plugins.csi.usage import measure
from mooring.plugins.directories import make_directories


class _CsiBlock:
    def __init__(self, services: Services, name: str, pod_uid: str) -> None:
        paths = services.paths
        self._services = services
        self._name = name
        self._staging = paths.block_staging(name)
        self._publish = paths.block_publishes(name) / pod_uid
        self._map = paths.block_map(name)
        self._bound = self._map / pod_uid
        self._record = paths.block_data(name)
        self._link = paths.layout.device_link(pod_uid, Plugin.CSI, name)

    def pod_device_link(self) -> Path:
        return self._link

    def _remove_published(self) -> bool:
        """The file that the driver made, if it has left it; False: it is in use. Blocks."""
        if self._services.host.mounts.is_mount_point(self._publish):
            return False
        remove_empty(self._publish)
        return True


class CsiBlockMapper(_CsiBlock):
    def __init__(self, services: Services, use: VolumeUse, pod: Pod) -> None:
        """Raises: VolumeError."""
        super().__init__(services, use.name, pod.uid)
        self._source = persistent(use)
        self._use = use
        self._pod = pod

    def global_map_path(self) -> Path:
        return self._map

    async def set_up_device(self) -> str:
        """Where it is staged; "" when the driver does not stage."""
        services = self._services
        node, budget = self._node("SetUpDevice"), services.budget()
        asked = "blockMapper.stageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability"
        capabilities = await services.capabilities(node, budget, asked)
        stages = NodeCapability.STAGE_UNSTAGE_VOLUME in capabilities
        wanted = await self._stage_request(capabilities) if stages else None
        await services.records.begin(self._record, self._data())
        if wanted is None:
            return ""
        await in_thread(make_directories, self._staging)
        match await node.stage(wanted, within=budget.left):
            case Done():
                services.records.settle(self._record)
                return str(self._staging)
            case Refused() as refused:
                raise await self._staging_refused(refused.text)
            case Lost() as lost:
                raise Uncertain(lost.text)

    async def map_pod_device(self) -> str:
        """Where the driver shows the device. Repeated: it is asked again."""
        services = self._services
        node, budget = self._node("MapPodDevice"), services.budget()
        asked = "blockMapper.publishVolumeForBlock failed to check capabilities"
        capabilities = await services.capabilities(node, budget, asked)
        wanted = await self._publish_request(capabilities)
        await services.records.begin(self._record, self._data())
        services.records.settle(self._record)  # it records the staged device from now on
        await services.records.mark(self._bound)
        await self._publish_device(node, wanted, budget)
        return str(self._publish)

    async def usage(self) -> Usage | None:
        source = self._source
        return await measure(self._services, source.driver, source.volume_handle, self._bound)

    def _node(self, step: str) -> Node:
        failed = f"blockMapper.{step} failed to get CSI client"
        return self._services.node(self._source.driver, failed)

    async def _stage_request(self, capabilities: frozenset[NodeCapability]) -> StageVolume:
        services, source = self._services, self._source
        failed = csi_message("blockMapper.SetupDevice failed to get volume attachment: ")
        context = await services.publish_context(source, failed)
        secrets = await services.secrets(source.node_stage_secret_ref, "NodeStageSecretRef")
        return StageVolume(
            volume_id=source.volume_handle,
            staging_path=str(self._staging),
            capability=self._capability(capabilities),
            publish_context=context,
            volume_context=source.volume_attributes,
            secrets=secrets,
        )

    async def _publish_request(self, capabilities: frozenset[NodeCapability]) -> PublishVolume:
        """With the staging path even if the driver does not stage: Kubernetes has it so."""
        services, source = self._services, self._source
        failed = csi_message("blockMapper.MapPodDevice failed to get volume attachment: ")
        about = pod_info(services.spec(source.driver), self._pod, is_inline=False)
        context = await services.publish_context(source, failed)
        secrets = await services.secrets(source.node_publish_secret_ref, "NodePublishSecretRef")
        return PublishVolume(
            volume_id=source.volume_handle,
            target_path=str(self._publish),
            capability=self._capability(capabilities),
            readonly=self._use.read_only,
            staging_path=str(self._staging),
            publish_context=context,
            volume_context={**source.volume_attributes, **about},
            secrets=secrets,
        )

    def _capability(self, capabilities: frozenset[NodeCapability]) -> VolumeCapability:
        return VolumeCapability(
            Block(), first_mode(self._use.access_modes, writers_of(capabilities))
        )

    def _data(self) -> VolumeData:
        source, node = self._source, self._services.host.node_name
        return VolumeData(
            source.driver,
            source.volume_handle,
            name=self._name,
            node=node,
            attachment=attachment_name(source.volume_handle, source.driver, node),
        )

    async def _publish_device(self, node: Node, wanted: PublishVolume, budget: Budget) -> None:
        await in_thread(make_directories, self._publish.parent)
        match await node.publish(wanted, within=budget.left):
            case Done():
                self._services.records.settle(self._bound)
            case Refused() as refused:
                raise await self._publishing_refused(refused.text)
            case Lost() as lost:
                raise Uncertain(lost.text)

    async def _staging_refused(self, text: str) -> VolumeError:
        services = self._services
        if not services.records.is_try(self._record):
            return VolumeError(text)
        try:
            await in_thread(_remove_traces, services.host.mounts, services.paths, self._name)
        except HostError as error:
            return Uncertain(f"{text}; and {error}")
        services.records.settle(self._record)
        return VolumeError(text)

    async def _publishing_refused(self, text: str) -> VolumeError:
        records = self._services.records
        if not records.is_try(self._bound):
            return VolumeError(text)
        try:
            if not await in_thread(self._remove_published):
                return Uncertain(f"{text}; and yet something is mounted at {self._publish}")
            await in_thread(remove_empty, self._bound)
        except HostError as error:
            return Uncertain(f"{text}; and {error}")
        records.settle(self._bound)
        return VolumeError(text)


class CsiBlockUnmapper(_CsiBlock):
    """Takes the driver and the volume handle from the data file."""

    def global_map_path(self, use: VolumeUse) -> Path:
        return self._map

    async def unmap_pod_device(self) -> None:
        """Asked even if nothing is to be seen: an earlier call may still be under way."""
        services = self._services
        data = await in_thread(data_file.find, self._record)
        if data is not None:
            failed = "blockMapper.UnmapPodDevice failed to get CSI client"
            node = services.node(data.driver, failed)
            target, within = str(self._publish), services.budget().left
            told = await node.unpublish(data.handle, target, within=within)
            if failure := failure_of_undoing(told, "blockMapper.unpublishVolumeForBlock failed"):
                raise failure
        if not await in_thread(self._remove_published):
            raise VolumeError(
                csi_message(f"{self._publish} is still mounted, and nobody unmounts it")
            )
        services.records.settle(self._bound)

    async def tear_down_device(self, map_path: Path, device: str) -> None:
        services = self._services
        data = await in_thread(data_file.find, self._record)
        if data is not None and await in_thread(os.path.lexists, self._staging):
            failed = "blockMapper.TearDownDevice failed to get CSI client"
            node, budget = services.node(data.driver, failed), services.budget()
            asked = "blockMapper.unstageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME"
            capabilities = await services.capabilities(node, budget, f"{asked} capability")
            if NodeCapability.STAGE_UNSTAGE_VOLUME in capabilities:
                told = await node.unstage(data.handle, str(self._staging), within=budget.left)
                if failure := failure_of_undoing(told, "blockMapper.unstageVolumeForBlock failed"):
                    raise failure
        await in_thread(_remove_traces, services.host.mounts, services.paths, self._name)
        services.records.settle(self._record)


def _remove_traces(mounts: MountOps, paths: CsiPaths, name: str) -> None:
    """All that was made for the volume, the data file last. Blocks.

    Raises: HostError when something is mounted there still, which is never entered.
    """
    published, staging = paths.block_publishes(name), paths.block_staging(name)
    for path in (published, staging):
        if mounts.is_mount_point(path):
            raise HostError(f"{path} is still mounted")
    remove_empty(published)
    for path in (staging, paths.block_map(name)):
        if os.path.lexists(path):
            tree.remove_path(path)
    record = paths.block_data(name)
    data_file.remove(record)
    remove_empty(record)
    remove_empty(record.parent)
