"""An iSCSI volume on a played initiator, set up as a node does it: attached, mounted, bound."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mooring.host.contract import MountOps
from mooring.host.scsi import ScsiTree
from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import PodVolume
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import IscsiSource
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Attachable, DeviceRequest, Plugin
from mooring.plugins.iscsi.chap import ChapRecords
from mooring.plugins.iscsi.plugin import Iscsi
from mooring.plugins.iscsi.sessions import Sessions
from mooring.plugins.volume_host import Host
from tests.fakes.clock import VirtualClock
from tests.fakes.iscsi import FakeInitiator, FakeScsi
from tests.unit.plugins.world import VolumeWorld, a_request

IQN = "iqn.2026-11.com.example:disks"
PORTAL = "10.0.0.1"


def a_source(**fields: object) -> IscsiSource:
    return IscsiSource(**{"target_portal": PORTAL, "iqn": IQN, "lun": 1, **fields})  # type: ignore[arg-type]


def in_pod(**fields: object) -> VolumeUse:
    return VolumeUse(inline=PodVolume(name="data", iscsi=a_source(**fields)))


def claimed(name: str = "pv1", **fields: object) -> VolumeUse:
    spec = VolumeSpec(iscsi=a_source(**fields))
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name=name), spec=spec))


def no_format(
    mounts: MountOps, device: Path, target: Path, fs_type: str, options: Sequence[str]
) -> None:
    """Mounts what a played disk holds."""
    mounts.mount(str(device), target, fs_type, options)


class HurriedClock(VirtualClock):
    """Whoever sleeps wakes at once, that much later."""

    async def sleep(self, seconds: float) -> None:
        self._elapsed += seconds


class AttachedWorld(VolumeWorld):
    """Of a plugin whose volumes are attached before they are mounted."""

    async def set_up(self) -> None:
        plugin = self.plugin
        assert isinstance(plugin, Attachable)
        attacher = plugin.attacher()
        device = await attacher.wait_for_attach(self.use, "", self.pod)
        target = attacher.device_mount_path(self.use)
        await attacher.mount_device(self.use, device, target, DeviceRequest())
        await self.plugin.mounter(self.use, self.pod).set_up(a_request())


def an_iscsi_plugin(
    initiator: FakeInitiator, scsi: ScsiTree, records: Path
) -> Callable[[Host], Plugin]:
    sessions = Sessions(initiator, ChapRecords(records))
    return lambda host: Iscsi(host, sessions, scsi, no_format)


def an_iscsi_disk(root: Path, mounts: MountOps) -> VolumeWorld:
    initiator = FakeInitiator()
    make = an_iscsi_plugin(initiator, FakeScsi(initiator), root)
    return AttachedWorld(root, mounts, make, claimed())
