"""A Fibre Channel volume on a machine that is only a tree of files."""

from pathlib import Path

from mooring.host.contract import MountOps
from mooring.host.scsi import ScsiTree
from mooring.model.meta import ObjectMeta
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import FcSource
from mooring.model.volume_use import VolumeUse
from mooring.plugins.fc.plugin import Fc
from tests.unit.plugins.iscsi.world import AttachedWorld, no_format
from tests.unit.plugins.world import VolumeWorld

WWN = "50060e801049cfd1"
WWID = "3600508b400105e210000900000490000"


def by_port(name: str = "pv1", lun: int = 0) -> VolumeUse:
    return _claimed(name, FcSource(target_wwns=(WWN,), lun=lun))


def by_id(*wwids: str) -> VolumeUse:
    return _claimed("pv1", FcSource(wwids=wwids))


def _claimed(name: str, source: FcSource) -> VolumeUse:
    spec = VolumeSpec(fc=source)
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name=name), spec=spec))


def add_disk(root: Path, disk: str, *, path: str = "", name: str = "") -> None:
    """With its links in /dev/disk, as udev makes them."""
    (root / "sys/block" / disk / "device").mkdir(parents=True)
    (root / "sys/block" / disk / "device/delete").touch()
    (root / "dev").mkdir(exist_ok=True)
    (root / "dev" / disk).touch()
    for kind, link in (("by-path", path), ("by-id", name)):
        if link:
            (root / "dev/disk" / kind).mkdir(parents=True, exist_ok=True)
            (root / "dev/disk" / kind / link).symlink_to(f"../../{disk}")


def an_fc_disk(root: Path, mounts: MountOps) -> VolumeWorld:
    machine = root / "machine"
    machine.mkdir()
    add_disk(machine, "sda", path=f"pci-0000:41:00.0-fc-0x{WWN}-lun-0")
    scsi = ScsiTree(machine)
    return AttachedWorld(root, mounts, lambda host: Fc(host, scsi, no_format), by_port())
