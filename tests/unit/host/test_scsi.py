"""SCSI disks in a tree of files that looks like sysfs and /dev."""

from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host.scsi import ScsiTree

IQN = "iqn.2026-11.com.example:disks"


def add_session(root: Path, host: int, iqn: str, address: str, persistent: str = "") -> Path:
    device = root / f"sys/class/iscsi_host/host{host}/device"
    session = device / "session1"
    (session / "iscsi_session/session1").mkdir(parents=True)
    (session / "iscsi_session/session1/targetname").write_text(f"{iqn}\n")
    connection = session / "connection1:0/iscsi_connection/connection1:0"
    connection.mkdir(parents=True)
    for kind, value in (("", address), ("persistent_", persistent or address)):
        (connection / f"{kind}address").write_text(f"{value}\n")
        (connection / f"{kind}port").write_text("3260\n")
    return session


def test_hosts_by_portal(tmp_path: Path) -> None:
    add_session(tmp_path, 3, IQN, "10.0.0.1")
    add_session(tmp_path, 4, IQN, "fd00::1")
    add_session(tmp_path, 5, "iqn.other", "10.0.0.9")
    assert ScsiTree(tmp_path).iscsi_hosts(IQN) == {"10.0.0.1:3260": 3, "[fd00::1]:3260": 4}


def test_a_portal_that_sent_us_elsewhere_has_both_addresses(tmp_path: Path) -> None:
    add_session(tmp_path, 3, IQN, "10.0.0.2", persistent="10.0.0.1")
    assert set(ScsiTree(tmp_path).iscsi_hosts(IQN)) == {"10.0.0.1:3260", "10.0.0.2:3260"}


def test_one_lun_is_looked_for(tmp_path: Path) -> None:
    scan = tmp_path / "sys/class/scsi_host/host3/scan"
    scan.parent.mkdir(parents=True)
    scan.touch()
    ScsiTree(tmp_path).scan(3, 7)
    assert scan.read_text() == "0 0 7"
    scan.unlink()
    scan.parent.rmdir()
    with pytest.raises(HostError, match="no such file"):
        ScsiTree(tmp_path).scan(3, 7)


@pytest.mark.parametrize(
    ("portal", "link", "is_tcp"),
    [
        ("10.0.0.1:3260", f"ip-10.0.0.1:3260-iscsi-{IQN}-lun-1", True),
        ("[fd00::1]:3260", f"ip-fd00::1:3260-iscsi-{IQN}-lun-1", True),
        ("10.0.0.1:3260", f"pci-0000:04:00.4-ip-10.0.0.1:3260-iscsi-{IQN}-lun-1", False),
    ],
)
def test_the_link_that_udev_makes(tmp_path: Path, portal: str, link: str, is_tcp: bool) -> None:  # noqa: FBT001  a row
    links = tmp_path / "dev/disk/by-path"
    links.mkdir(parents=True)
    (tmp_path / "dev/sdq").touch()
    (links / link).symlink_to("../../sdq")
    scsi = ScsiTree(tmp_path)
    assert scsi.find_iscsi_device(portal, IQN, 1, is_tcp=is_tcp) == tmp_path / "dev/sdq"
    assert scsi.find_iscsi_device(portal, IQN, 2, is_tcp=is_tcp) is None


def test_without_udev_the_session_tells(tmp_path: Path) -> None:
    session = add_session(tmp_path, 3, IQN, "10.0.0.1")
    for lun, disk in ((0, "sda"), (1, "sdb"), (11, "sdc")):
        (session / f"target3:0:0/3:0:0:{lun}/block" / disk).mkdir(parents=True)
        (tmp_path / "dev").mkdir(exist_ok=True)
        (tmp_path / "dev" / disk).touch()
    scsi = ScsiTree(tmp_path)
    assert scsi.find_iscsi_device("10.0.0.1:3260", IQN, 1) == tmp_path / "dev/sdb"
    assert scsi.find_iscsi_device("10.0.0.2:3260", IQN, 1) is None


def test_a_disk_that_is_gone_is_forgotten_already(tmp_path: Path) -> None:
    ScsiTree(tmp_path).remove(Path("/dev/sdz"))
    assert list(tmp_path.rglob("delete")) == []


def test_all_disks_of_a_session(tmp_path: Path) -> None:
    session = add_session(tmp_path, 3, IQN, "10.0.0.1")
    for lun, disk in ((0, "sdb"), (7, "sdc")):
        (session / f"target3:0:0/3:0:0:{lun}/block" / disk).mkdir(parents=True)
    scsi = ScsiTree(tmp_path)
    dev = tmp_path / "dev"
    assert scsi.iscsi_disks("10.0.0.1:3260", IQN) == (dev / "sdb", dev / "sdc")
    assert scsi.iscsi_disks("10.0.0.2:3260", IQN) == ()
