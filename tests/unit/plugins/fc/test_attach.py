"""Finding a Fibre Channel disk in a tree of files, and letting it go."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.errors import HostError
from mooring.host.contract import MountOps
from mooring.host.scsi import ScsiTree
from mooring.model.pod_volume import PodVolume
from mooring.model.volume_source import FcSource
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import DeviceRequest, VolumeError
from mooring.plugins.fc.disk import NAME
from mooring.plugins.fc.plugin import Fc
from tests.fakes.mounts import FakeMounts
from tests.fakes.programs import FakePrograms
from tests.unit.plugins.fc.world import WWID, WWN, add_disk, by_id, by_port
from tests.unit.plugins.iscsi.world import HurriedClock, no_format
from tests.unit.plugins.world import a_host, a_pod

BY_PORT = f"fc-0x{WWN}-lun-0"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "machine"
    for number in (0, 1):
        (path / f"sys/class/scsi_host/host{number}").mkdir(parents=True)
        (path / f"sys/class/scsi_host/host{number}/scan").touch()
    return path


@pytest.fixture
def plugin(tmp_path: Path, machine: Path) -> Fc:
    host = replace(a_host(tmp_path, FakeMounts()), clock=HurriedClock())
    return Fc(host, ScsiTree(machine), no_format)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePrograms:
    (tmp_path / "bin").mkdir()
    return FakePrograms(tmp_path / "bin", monkeypatch)


async def attach(plugin: Fc, use: VolumeUse) -> str:
    return await plugin.attacher().wait_for_attach(use, "", a_pod())


def scans(machine: Path) -> list[str]:
    return [path.read_text() for path in sorted(machine.glob("sys/class/scsi_host/*/scan"))]


@pytest.mark.parametrize("link", [BY_PORT, f"pci-0000:41:00.0-{BY_PORT}"])
async def test_by_the_port_of_its_target(plugin: Fc, machine: Path, link: str) -> None:
    add_disk(machine, "sdb", path=link)
    add_disk(machine, "sdc", path=f"fc-0x{WWN}-lun-01")
    assert await attach(plugin, by_port()) == str(machine / "dev/sdb")
    assert scans(machine) == ["- - -", "- - -"]


async def test_by_its_own_name(plugin: Fc, machine: Path) -> None:
    add_disk(machine, "sdb", name=f"scsi-{WWID}")
    assert await attach(plugin, by_id(WWID)) == str(machine / "dev/sdb")


async def test_a_mapping_is_taken_before_its_paths_and_without_a_scan(
    plugin: Fc, machine: Path
) -> None:
    add_disk(machine, "sdb", path=BY_PORT)
    (machine / "sys/block/dm-3/slaves/sdb").mkdir(parents=True)
    assert await attach(plugin, by_port()) == str(machine / "dev/dm-3")
    assert scans(machine) == ["", ""]


async def test_no_such_disk(plugin: Fc, machine: Path, tmp_path: Path) -> None:
    with pytest.raises(VolumeError, match=r"^no fc disk found$"):
        await attach(plugin, by_port())
    assert list((tmp_path / "node").rglob("*.json")) == []


async def test_its_paths_are_flushed_and_forgotten(
    plugin: Fc, machine: Path, programs: FakePrograms
) -> None:
    programs.add("multipath", "")
    programs.add("blockdev", "")
    for disk in ("sdb", "sdc"):
        add_disk(machine, disk, path=BY_PORT if disk == "sdb" else "")
        (machine / "sys/block/dm-3/slaves" / disk).mkdir(parents=True)
    attacher = plugin.attacher()
    target = attacher.device_mount_path(by_port())
    device = await attach(plugin, by_port())
    await attacher.mount_device(by_port(), device, target, DeviceRequest())
    await attacher.unmount_device(target)
    dev = machine / "dev"
    assert programs.runs() == [
        f"multipath -f {dev}/dm-3",
        f"blockdev --flushbufs {dev}/sdb",
        f"blockdev --flushbufs {dev}/sdc",
    ]
    for disk in ("sdb", "sdc"):
        assert (machine / "sys/block" / disk / "device/delete").read_text() == "1"
    assert not target.exists()


async def test_a_busy_mapping_is_asked_every_ten_seconds_for_two_minutes(
    plugin: Fc, machine: Path, programs: FakePrograms
) -> None:
    programs.add("multipath", "echo map in use; exit 1")
    add_disk(machine, "sdb", path=BY_PORT)
    (machine / "sys/block/dm-3/slaves/sdb").mkdir(parents=True)
    attacher = plugin.attacher()
    target = attacher.device_mount_path(by_port())
    device = await attach(plugin, by_port())
    with pytest.raises(Exception, match="map in use"):
        await attacher.mount_device(by_port(), "", target, DeviceRequest())
    assert device
    assert len(programs.runs()) == 12
    assert (machine / "sys/block/sdb/device/delete").read_text() == ""


async def test_a_logical_volume_on_it_is_not_taken_for_a_mapping_of_its_paths(
    plugin: Fc, machine: Path
) -> None:
    add_disk(machine, "sdb", path=BY_PORT)
    (machine / "sys/block/dm-0/slaves/sdb").mkdir(parents=True)
    (machine / "sys/block/dm-0/dm").mkdir()
    (machine / "sys/block/dm-0/dm/uuid").write_text("LVM-Xj3\n")
    assert await attach(plugin, by_port()) == str(machine / "dev/sdb")


async def test_a_disk_that_another_volume_has_by_another_name_is_kept(
    plugin: Fc, machine: Path, programs: FakePrograms
) -> None:
    programs.add("blockdev", "")
    add_disk(machine, "sdb", path=BY_PORT, name=f"scsi-{WWID}")
    attacher = plugin.attacher()
    for use in (by_port(), by_id(WWID)):
        device = await attach(plugin, use)
        target = attacher.device_mount_path(use)
        await attacher.mount_device(use, device, target, DeviceRequest())
    await attacher.unmount_device(attacher.device_mount_path(by_port()))
    assert (machine / "sys/block/sdb/device/delete").read_text() == ""
    await attacher.unmount_device(attacher.device_mount_path(by_id(WWID)))
    assert (machine / "sys/block/sdb/device/delete").read_text() == "1"


class MountedByOthers(ScsiTree):
    """Each disk of the machine is in use, as that with the root file system is."""

    def is_in_use(self, disk: Path) -> bool:
        return True


async def test_a_disk_that_somebody_uses_is_not_forgotten_after_a_failed_mount(
    tmp_path: Path, machine: Path, programs: FakePrograms
) -> None:
    programs.add("blockdev", "")
    add_disk(machine, "sda", name=f"scsi-{WWID}")
    host = replace(a_host(tmp_path, FakeMounts()), clock=HurriedClock())
    plugin = Fc(host, MountedByOthers(machine), refused)
    device = await attach(plugin, by_id(WWID))
    target = plugin.attacher().device_mount_path(by_id(WWID))
    with pytest.raises(HostError, match="already mounted"):
        await plugin.attacher().mount_device(by_id(WWID), device, target, DeviceRequest())
    assert (machine / "sys/block/sda/device/delete").read_text() == ""
    assert not target.exists()


def refused(
    mounts: MountOps, device: Path, target: Path, fs_type: str, options: Sequence[str]
) -> None:
    raise HostError(f"{device} already mounted or mount point busy")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (FcSource(), "no fc disk information"),
        (FcSource(target_wwns=(WWN,)), "no fc disk information"),
        (FcSource(target_wwns=(WWN,), lun=1, wwids=(WWID,)), "no fc disk information"),
        (FcSource(target_wwns=("../x",), lun=1), "must not lead"),
        (FcSource(wwids=("-x",)), "must not begin"),
        (FcSource(wwids=("a\nb",)), "must not hold"),
    ],
)
async def test_what_is_no_disk_is_refused(plugin: Fc, source: FcSource, text: str) -> None:
    use = VolumeUse(inline=PodVolume(name="data", fc=source))
    with pytest.raises(VolumeError, match=text):
        await attach(plugin, use)


@pytest.mark.parametrize(
    ("use", "place", "name"),
    [
        (by_port(lun=2), f"{WWN}-lun-2", f"[{WWN}]:2"),
        (by_id("a b", "c"), "a_b-c", "[a b c]"),
    ],
)
async def test_what_it_is_called(plugin: Fc, use: VolumeUse, place: str, name: str) -> None:
    assert plugin.volume_name(use) == name
    path = plugin.attacher().device_mount_path(use)
    assert path.parts[-3:] == (*NAME.split("/"), place)
