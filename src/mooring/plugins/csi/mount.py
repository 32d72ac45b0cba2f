"""Publishing a volume to a pod, and taking it back."""

import os
from enum import Enum
from pathlib import Path

from mooring.csi.capability import Mount, NodeCapability, VolumeCapability, first_mode, writers_of
from mooring.csi.node import Node
from mooring.csi.outcome import Done, Refused
from mooring.csi.outcome import Uncertain as Lost
from mooring.csi.requests import PublishVolume
from mooring.csi.secrets import NO_SECRETS
from mooring.errors import HostError
from mooring.host import ownership
from mooring.host.blocking import in_thread
from mooring.host.contract import MountOps
from mooring.host.ownership import ChangePolicy, FsGroup
from mooring.model.csi_driver import CsiDriver
from mooring.model.event import EventType
from mooring.model.pod import Pod
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Attributes, MountRequest, NotStarted, Uncertain, Usage
from mooring.plugins.csi import data_file
from mooring.plugins.csi.attachment_name import attachment_name
from mooring.plugins.csi.data_file import VolumeData
from mooring.plugins.csi.fs_group import mount_group, node_gives_to_group
from mooring.plugins.csi.pod_context import account_tokens, pod_info
from mooring.plugins.csi.services import UNDEFINED, Budget, Services, failure_of_undoing
from mooring.plugins.csi.source import Published, csi_message, persistent, published
from mooring.plugins.csi.usage import measure
from mooring.plugins.slow_walk import SlowWalk

NOT_MOUNTED = "VolumeNotMounted"

_LOOK_AT = (
    "look at the log of its node plugin, and whether its container has the kubelet's directory "
    "with mountPropagation: Bidirectional"
)


class CsiMounter:
    def __init__(self, services: Services, use: VolumeUse, pod: Pod) -> None:
        self._volume = published(use, pod)
        self.path = services.paths.target(pod.uid, use.name)
        self.attributes = Attributes(
            read_only=self._volume.read_only,
            is_managed=not self._volume.read_only,
            wants_relabel=True,
        )
        self._services = services
        self._use = use
        self._pod = pod

    async def set_up(self, request: MountRequest) -> None:
        """Repeated: the driver is asked again, in the same words but for fresh secrets."""
        services, volume = self._services, self._volume
        node = services.node(volume.driver, "mounter.SetUpAt failed to get CSI client")
        budget = services.budget()
        definition = services.find_object(volume.driver)
        _check_lifecycle(definition, volume)
        told = "mounter.SetUpAt failed to check for STAGE_UNSTAGE_VOLUME capability"
        capabilities = await services.capabilities(node, budget, told)
        wanted = await self._request(definition, capabilities, request)
        await services.records.begin(self.path.parent, self._data())
        is_first = services.records.is_try(self.path.parent)
        await self._publish(node, wanted, budget)
        await self._look(request if is_first else None)
        delegates = NodeCapability.VOLUME_MOUNT_GROUP in capabilities
        policy = (UNDEFINED if definition is None else definition.spec).fs_group_policy
        if request.fs_group is not None and not delegates:
            read_only = volume.read_only
            if node_gives_to_group(policy, self._use, volume.fs_type, read_only=read_only):
                await self._give_to(request.fs_group, request)

    async def usage(self) -> Usage | None:
        volume = self._volume
        return await measure(self._services, volume.driver, volume.handle, self.path)

    async def _request(
        self,
        definition: CsiDriver | None,
        capabilities: frozenset[NodeCapability],
        request: MountRequest,
    ) -> PublishVolume:
        """Read the objects for the driver's request from the API. Raises: NotStarted."""
        services, volume, use = self._services, self._volume, self._use
        spec = UNDEFINED if definition is None else definition.spec
        staging, context = "", {}
        if not volume.is_inline:
            if NodeCapability.STAGE_UNSTAGE_VOLUME in capabilities:
                staging = str(services.paths.staging(volume.driver, volume.handle))
            failed = csi_message("mounter.SetUpAt failed to fetch publishContext: ")
            context = dict(await services.publish_context(persistent(use), failed))
        secrets = await services.secrets(volume.secret, "NodePublishSecretRef")
        tokens = await account_tokens(services.host.objects, spec, self._pod)
        in_secrets = bool(spec.service_account_token_in_secrets)
        flags = () if use.volume is None else use.volume.spec.mount_options
        group = mount_group(capabilities, request.fs_group)
        about = pod_info(spec, self._pod, is_inline=volume.is_inline)
        mode = first_mode(use.access_modes, writers_of(capabilities))
        return PublishVolume(
            volume_id=volume.handle,
            target_path=str(self.path),
            capability=VolumeCapability(Mount(volume.fs_type, flags, group), mode),
            readonly=volume.read_only,
            staging_path=staging,
            publish_context=context,
            volume_context={**volume.attributes, **about},
            secrets=secrets.merged(tokens) if in_secrets else secrets,
            secret_context=NO_SECRETS if in_secrets else tokens,
        )

    async def _publish(self, node: Node, wanted: PublishVolume, budget: Budget) -> None:
        records, directory = self._services.records, self.path.parent
        match await node.publish(wanted, within=budget.left):
            case Done():
                records.settle(directory)
            case Refused() as refused:
                raise await records.refused(self.path, refused.text)
            case Lost() as lost:
                raise Uncertain(lost.text)

    async def _look(self, request: MountRequest | None) -> None:
        """Whether the driver has done what it says; with a request, a doubt is told.

        A plain directory is what some drivers mean to show, and a driver whose mounts stay in its
        own container leaves one too. Raises: Uncertain when there is nothing at all.
        """
        driver = self._volume.driver
        found = await in_thread(_find_place, self._services.host.mounts, self.path)
        if found is _Place.NOTHING:
            said = f'CSI driver "{driver}" says that it has published volume {self._volume.handle}'
            raise Uncertain(f"{said}, but there is nothing at {self.path}; {_LOOK_AT}")
        if found is _Place.DIRECTORY and request is not None:
            said = f'CSI driver "{driver}" says that it has published volume "{self._use.name}"'
            where = f"but nothing is mounted at {self.path}: the pod sees a directory of this node"
            request.tell(EventType.WARNING, NOT_MOUNTED, f"{said}, {where}; {_LOOK_AT}")

    async def _give_to(self, gid: int, request: MountRequest) -> None:
        """A pod that cannot use its files must not start; but the files are there by now."""
        group = FsGroup(gid, policy=ChangePolicy(request.ownership.value))
        news = SlowWalk(request.tell, self._services.host.clock, self.path, self._pod.uid)
        try:
            await in_thread(ownership.apply, self.path, group, news)
        except HostError as error:
            text = f"applyFSGroup failed for vol {self._volume.handle}: {error}"
            raise Uncertain(text) from error

    def _data(self) -> VolumeData:
        volume, node = self._volume, self._services.host.node_name
        return VolumeData(
            volume.driver,
            volume.handle,
            name=self._use.name,
            node=node,
            attachment=attachment_name(volume.handle, volume.driver, node),
            mode=volume.mode.value,
        )


class CsiUnmounter:
    """Takes the driver and the volume handle from the data file."""

    def __init__(self, services: Services, name: str, pod_uid: str) -> None:
        self.path: Path = services.paths.target(pod_uid, name)
        self._services = services

    async def tear_down(self) -> None:
        services = self._services
        data = await in_thread(data_file.find, self.path.parent)
        if data is None:
            await services.records.clear(self.path)
            return
        node = services.node(data.driver, "Unmounter.TearDownAt failed to get CSI client")
        told = await node.unpublish(data.handle, str(self.path), within=services.budget().left)
        if failure := failure_of_undoing(told, "Unmounter.TearDownAt failed"):
            raise failure
        await services.records.undone(self.path)


class _Place(Enum):
    NOTHING = "there is nothing"
    DIRECTORY = "something, that is not mounted"
    MOUNT = "something is mounted, or nobody can say"


def _find_place(mounts: MountOps, path: Path) -> _Place:
    try:
        if mounts.is_mount_point(path):
            return _Place.MOUNT
    except HostError:
        return _Place.MOUNT
    return _Place.DIRECTORY if os.path.lexists(path) else _Place.NOTHING


def _check_lifecycle(definition: CsiDriver | None, volume: Published) -> None:
    """Raises: NotStarted; the CSIDriver may yet be changed, or come."""
    if definition is None:
        if not volume.is_inline:
            return
        why = "no CSIDriver object"
    elif volume.mode in definition.spec.volume_lifecycle_modes:
        return
    else:
        modes = " ".join(f'"{mode.value}"' for mode in definition.spec.volume_lifecycle_modes)
        why = f"only supports [{modes}]"
    text = f'volume mode "{volume.mode.value}" not supported by driver {volume.driver} ({why})'
    raise NotStarted(csi_message(f"mounter.SetupAt failed to check volume lifecycle mode: {text}"))
