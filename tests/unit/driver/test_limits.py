"""Limits of volumes: parameters, and control groups that are only files here."""

import os
from pathlib import Path

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.backends import io_limits
from mooring.driver.parameters import limits_of
from mooring.driver.records import Limits, NoLimits
from mooring.driver.refusal import INVALID
from tests.unit.driver.calls import Driver, a_capability, refused

LOOP3 = os.makedev(7, 3)


@pytest.fixture
def cgroups(tmp_path: Path) -> Path:
    root = tmp_path / "cgroup"
    for group in ("mooring", "system.slice"):
        (root / group).mkdir(parents=True)
        (root / group / "io.max").write_text("")
    (root / "cgroup.controllers").write_text("cpu io memory\n")
    (root / "cgroup.subtree_control").write_text("cpu io memory\n")
    return root


def test_a_limit_is_set_on_every_group_at_the_top(cgroups: Path) -> None:
    assert io_limits.set_limits([LOOP3], Limits(read_bytes=1 << 20), cgroups) == ""
    assert [path.read_text() for path in cgroups.glob("*/io.max")] == [
        "7:3 rbps=1048576 wbps=max riops=max wiops=max"
    ] * 2


def test_limits_are_cleared_by_the_same_file(cgroups: Path) -> None:
    io_limits.set_limits([LOOP3], Limits(write_operations=9), cgroups)
    io_limits.set_limits([LOOP3], NoLimits, cgroups)
    told = (cgroups / "mooring" / "io.max").read_text()
    assert told == "7:3 rbps=max wbps=max riops=max wiops=max"


def test_the_controller_is_switched_on_where_it_is_not(cgroups: Path) -> None:
    (cgroups / "cgroup.subtree_control").write_text("cpu\n")
    io_limits.set_limits([LOOP3], NoLimits, cgroups)
    assert (cgroups / "cgroup.subtree_control").read_text() == "cpu\n"
    io_limits.set_limits([LOOP3], Limits(read_bytes=1), cgroups)
    assert (cgroups / "cgroup.subtree_control").read_text() == "+io"


def test_why_there_is_no_effect_is_told(cgroups: Path, tmp_path: Path) -> None:
    assert "no cgroup v2" in io_limits.set_limits([LOOP3], Limits(1), tmp_path / "none")
    (cgroups / "cgroup.controllers").write_text("cpu\n")
    assert "io controller" in io_limits.set_limits([LOOP3], Limits(1), cgroups)


READ = {
    "bytes as a quantity": ({"readBytesPerSecond": "10Mi"}, Limits(read_bytes=10 << 20)),
    "operations": ({"writeIOPS": "500"}, Limits(write_operations=500)),
    "no limit any more": ({"readIOPS": "max"}, NoLimits),
}


@pytest.mark.parametrize(("given", "limits"), READ.values(), ids=READ)
def test_how_limits_are_written(given: dict[str, str], limits: Limits) -> None:
    assert limits_of(given, Limits(read_operations=7)) == (
        limits
        if "readIOPS" in given
        else Limits(limits.read_bytes, limits.write_bytes, 7, limits.write_operations)
    )


@pytest.mark.parametrize("value", ["0", "-1", "", "much", "1e30"])
def test_what_is_no_limit_is_refused(tmp_path: Path, value: str) -> None:
    driver = Driver(tmp_path)
    volume = driver.make().volume_id
    with refused(INVALID, "readIOPS"):
        driver.modify(volume, readIOPS=value)
    assert driver.core.get_volume(volume).limits == NoLimits


def test_what_is_not_named_stays(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    volume = driver.make(parameters={"provisioning": "full", "readIOPS": "100"}).volume_id
    driver.modify(volume, writeBytesPerSecond="1Mi")
    record = Driver(tmp_path).core.get_volume(volume)
    assert record.limits == Limits(read_operations=100, write_bytes=1 << 20)
    assert record.is_allocated
    again = driver.make(parameters={"provisioning": "full", "readIOPS": "100"})
    assert again.volume_id == volume


def test_limits_are_among_what_is_validated(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    volume = driver.make(parameters={"readIOPS": "100"}).volume_id
    for told, is_confirmed in (("100", True), ("200", False)):
        answer = driver.ValidateVolumeCapabilities(
            csi.ValidateVolumeCapabilitiesRequest(
                volume_id=volume,
                volume_capabilities=[a_capability()],
                mutable_parameters={"readIOPS": told},
            )
        )
        assert answer.HasField("confirmed") == is_confirmed
