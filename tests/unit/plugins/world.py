"""A node's disk for one plugin: its host, a pod, and pictures of what is there."""

import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

import msgspec

from mooring.errors import NotFound
from mooring.host.contract import MountOps
from mooring.model.config_map import ConfigMap
from mooring.model.container import ComputeResources, Container
from mooring.model.endpoints import Endpoints
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_volume import PodVolume
from mooring.model.secret import Secret
from mooring.model.selector import SelectorDocument
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import LocalSource
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import DeviceMountable, DeviceRequest, MountRequest, Plugin
from mooring.plugins.layout import Layout
from mooring.plugins.volume_host import Host, Token, TokenWish
from tests.fakes.clock import VirtualClock

POD_UID = "1c5d3a0e-0000-4000-8000-000000000001"
MANY_BYTES = str(1 << 40)


class EmptyApi:
    """`NodeObjects` of a cluster that holds nothing for this node."""

    def __init__(self, allocatable: Mapping[str, str]) -> None:
        self._allocatable = allocatable

    async def secret(self, key: Key) -> Secret:
        raise NotFound(f'secrets "{key.name}" not found')

    async def config_map(self, key: Key) -> ConfigMap:
        raise NotFound(f'configmaps "{key.name}" not found')

    async def endpoints(self, key: Key) -> Endpoints:
        raise NotFound(f'endpoints "{key.name}" not found')

    async def token(self, wish: TokenWish) -> Token:
        raise NotFound(f'serviceaccounts "{wish.account.name}" not found')

    async def forget_tokens(self, pod_uid: str) -> None:
        pass

    async def trust_bundle(self, name: str) -> str:
        raise NotFound(f'clustertrustbundles "{name}" not found')

    async def trust_bundles(self, signer: str, selector: SelectorDocument | None) -> Sequence[str]:
        return ()

    async def node_labels(self) -> Mapping[str, str]:
        return {}

    def allocatable(self) -> Mapping[str, str]:
        return self._allocatable


def a_host(root: Path, mounts: MountOps, allocatable: Mapping[str, str] | None = None) -> Host:
    return Host(
        layout=Layout(root / "node"),
        mounts=mounts,
        objects=EmptyApi(allocatable or {"memory": MANY_BYTES}),
        clock=VirtualClock(),
        rng=Random(1),  # noqa: S311  no secret depends on it
        node_name="n1",
    )


def a_container(name: str = "main", **resources: Mapping[str, str]) -> Container:
    return Container(
        name,
        resources=ComputeResources(
            requests=resources.get("requests", {}), limits=resources.get("limits", {})
        ),
    )


def a_pod(*containers: Container, uid: str = POD_UID) -> Pod:
    return Pod(
        metadata=ObjectMeta(name="web", namespace="default", uid=uid),
        spec=PodSpec(containers=containers or (a_container(),)),
    )


def inline(volume: PodVolume) -> VolumeUse:
    return VolumeUse(inline=volume)


def a_local_use(path: Path | str, *, read_only: bool = False, **spec: object) -> VolumeUse:
    fs_type = spec.pop("fs_type", None)
    source = LocalSource(path=str(path), fs_type=str(fs_type) if fs_type else None)
    volume = Volume(metadata=ObjectMeta(name="pv1"), spec=VolumeSpec(local=source))
    if spec:
        volume = msgspec.structs.replace(volume, spec=msgspec.structs.replace(volume.spec, **spec))
    return VolumeUse(volume=volume, read_only=read_only)


class Told:
    """What a pod was told, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def __call__(self, event_type: EventType, reason: str, message: str) -> None:
        self.events.append((event_type.value, reason, message))


def a_request(
    tell: Callable[[EventType, str, str], None] | None = None, fs_group: int | None = None
) -> MountRequest:
    return MountRequest(tell=tell or Told(), fs_group=fs_group)


class VolumeWorld:
    """One volume of one pod, set up and torn down as a node does it."""

    def __init__(
        self,
        root: Path,
        mounts: MountOps,
        make_plugin: Callable[[Host], Plugin],
        use: VolumeUse,
        pod: Pod | None = None,
    ) -> None:
        self.root = root
        self.host = a_host(root, mounts)
        self.use = use
        self.pod = pod or a_pod()
        self._make_plugin = make_plugin
        self.plugin = make_plugin(self.host)
        self.host.layout.volumes(self.pod.uid).mkdir(parents=True, exist_ok=True)

    def restart(self) -> None:
        """The node was killed and starts again; only the disk and the mounts are left."""
        self.plugin = self._make_plugin(self.host)

    async def set_up(self) -> None:
        if isinstance(self.plugin, DeviceMountable) and self.plugin.can_mount_device(self.use):
            devices = self.plugin.device_mounter()
            target = devices.device_mount_path(self.use)
            await devices.mount_device(self.use, "", target, DeviceRequest())
        await self.plugin.mounter(self.use, self.pod).set_up(a_request())

    async def tear_down(self) -> None:
        await self.plugin.unmounter(self.use.name, self.pod.uid).tear_down()
        await self.release_device()

    async def release_device(self) -> None:
        """What is mounted once for all pods goes after the last of them."""
        if isinstance(self.plugin, DeviceMountable) and self.plugin.can_mount_device(self.use):
            target = self.plugin.device_mounter().device_mount_path(self.use)
            await self.plugin.device_unmounter().unmount_device(target)

    def picture(self) -> tuple[tuple[str, ...], ...]:
        """Every file and mount of the node, told without their place on this disk."""
        node = self.host.layout.root
        files = [("file", *row) for row in picture_of(node)]
        mounts = [
            ("mount", str(entry.mount_point.relative_to(node.resolve())), entry.fs_type)
            for entry in self.host.mounts.table().below(node.resolve())
        ]
        return (*files, *mounts)

    def leftovers(self) -> tuple[tuple[str, ...], ...]:
        """What a pod that is gone must not leave: mounts, files, and its volume's directory."""
        volume = self.host.layout.volume(self.pod.uid, self.plugin.name, self.use.name)
        mine = str(volume.relative_to(self.host.layout.root))
        return tuple(
            row
            for row in self.picture()
            if row[0] == "mount" or row[1] == mine or not row[2].startswith("d")
        )


def picture_of(root: Path) -> list[tuple[str, ...]]:
    """Names, modes and link targets below a directory, sorted; links are not followed.

    What is named by rng, as a generation of written files is, has a fixed name here.
    """
    rows: list[tuple[str, ...]] = []
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(folder, name)
            mode = stat.filemode(path.lstat().st_mode)
            target = os.readlink(path) if path.is_symlink() else ""
            rows.append((_known(path.relative_to(root)), mode, _known(target)))
    return sorted(rows)


def _known(path: Path | str) -> str:
    return re.sub(r"\.\.\d{4}(_\d\d){5}\.\d+", "..generation", str(path))
