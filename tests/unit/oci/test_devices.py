"""Device nodes."""

import os
import stat
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.oci.contract import Device, RuntimeRefused
from mooring.oci.devices import DeviceNode, look_up, merged, of_host

NULL = os.stat("/dev/null")


def test_a_device_is_found_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    assert look_up(Device(link, "/dev/mine", "rw")) == DeviceNode(
        path="/dev/mine",
        kind="c",
        major=1,
        minor=3,
        mode=stat.S_IMODE(NULL.st_mode),
        uid=NULL.st_uid,
        gid=NULL.st_gid,
        permissions="rw",
    )


def test_what_is_no_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeRefused, match="is no device"):
        look_up(Device(tmp_path, "/dev/mine"))
    with pytest.raises(HostError, match="no such file"):
        look_up(Device(tmp_path / "none", "/dev/mine"))


def test_the_devices_of_the_host_are_those_that_a_container_does_not_have_itself() -> None:
    paths = [node.path for node in of_host()]
    assert "/dev/null" in paths
    assert paths == sorted(paths)
    assert not [path for path in paths if path.startswith(("/dev/pts", "/dev/shm"))]  # noqa: S108  named, not used


def test_what_is_no_device_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "below").mkdir()
    assert of_host(tmp_path) == ()
    assert of_host(tmp_path / "none") == ()


def test_of_two_with_one_name_the_later_counts() -> None:
    first, second = DeviceNode("/dev/a", "b", 1, 1), DeviceNode("/dev/a", "b", 2, 2)
    assert merged([first, second]) == (second,)
