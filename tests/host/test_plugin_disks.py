"""Disks of network plugins that are really this machine's own."""

from pathlib import Path

import pytest

from mooring.host.mount import Mounts
from mooring.host.scsi import ScsiTree
from mooring.plugins.contract import DeviceRequest, VolumeError
from mooring.plugins.fc.plugin import Fc
from tests.host.disks import Disks
from tests.unit.plugins.fc.world import WWID, by_id
from tests.unit.plugins.world import a_host, a_pod


def machine_with(root: Path, device: Path) -> ScsiTree:
    """A machine where udev has named this device."""
    links = root / "machine/dev/disk/by-id"
    links.mkdir(parents=True)
    (links / f"scsi-{WWID}").symlink_to(device)
    (root / "machine/sys/block" / device.name / "device").mkdir(parents=True)
    (root / "machine/sys/block" / device.name / "device/delete").touch()
    return ScsiTree(root / "machine")


async def test_a_disk_that_the_machine_itself_has_mounted_is_neither_mounted_nor_forgotten(
    mounts: Mounts, disks: Disks, place: Path, target: Path
) -> None:
    device = disks.formatted("ext4")
    mounts.mount(str(device), target, "ext4")
    scsi = machine_with(place, device)
    attacher = Fc(a_host(place, mounts), scsi).attacher()
    path = attacher.device_mount_path(by_id(WWID))
    found = await attacher.wait_for_attach(by_id(WWID), "", a_pod())
    with pytest.raises(VolumeError, match=f"is mounted at {target}: it is this machine"):
        await attacher.mount_device(by_id(WWID), found, path, DeviceRequest())
    assert not path.exists()
    deleted = place / "machine/sys/block" / device.name / "device/delete"
    assert deleted.read_text() == ""
    mounts.unmount(target)
    await attacher.wait_for_attach(by_id(WWID), "", a_pod())
    await attacher.mount_device(by_id(WWID), found, path, DeviceRequest())
    assert mounts.is_mount_point(path)
    await attacher.unmount_device(path)
    assert deleted.read_text() == "1"
