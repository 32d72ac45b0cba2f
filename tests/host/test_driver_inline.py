"""Inline ephemeral volumes on a real machine."""

from pathlib import Path

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.refusal import INVALID
from mooring.driver.settings import MIB
from mooring.host import usage
from mooring.host.mount import Mounts
from tests.host.conftest import NeedsTool
from tests.host.driver_life import Machine, a_machine
from tests.unit.driver.calls import refused

HANDLE = f"csi-{'0' * 64}"


@pytest.fixture
def machine(place: Path, mounts: Mounts, needs_tool: NeedsTool) -> Machine:
    needs_tool("mkfs.ext4")
    return a_machine(place, mounts)


def test_an_inline_volume_lives_as_long_as_it_is_published(machine: Machine) -> None:
    target = machine.publish_inline(HANDLE, size="32Mi")
    (target / "file").write_text("kept")
    assert machine.publish_inline(HANDLE, size="32Mi") == target
    machine.start()
    assert machine.publish_inline(HANDLE, size="32Mi") == target
    assert (target / "file").read_text() == "kept"
    assert 24 * MIB < usage.of_filesystem(target).capacity_bytes <= 32 * MIB
    assert machine.driver.ids() == []  # the controller service did not make it
    assert not machine.stats(HANDLE, target).volume_condition.abnormal
    health = machine.driver.NodeGetVolumeHealth(csi.NodeGetVolumeHealthRequest(volume_id=HANDLE))
    assert health.volume_health == csi.VolumeHealth(volume_id=HANDLE)
    for _ in range(2):
        machine.unpublish(HANDLE, HANDLE)
    assert not target.exists()
    assert machine.devices() == []
    assert list((machine.state / "volumes").iterdir()) == []
    assert list((machine.state / "inline").iterdir()) == []


def test_a_reboot_does_not_cost_its_files(machine: Machine, mounts: Mounts) -> None:
    target = machine.publish_inline(HANDLE)
    (target / "file").write_text("kept")
    for entry in reversed(mounts.table().below(machine.place)):
        mounts.unmount(entry.mount_point)
    machine.start()
    assert machine.devices() == []
    assert (machine.publish_inline(HANDLE) / "file").read_text() == "kept"
    machine.unpublish(HANDLE, HANDLE)
    assert list((machine.state / "volumes").iterdir()) == []


WRONG = {
    "a size that is none": {"size": "big"},
    "a negative size": {"size": "-1"},
    "an attribute that is not known": {"colour": "red"},
    "a limit that is none": {"readIOPS": "many"},
}


@pytest.mark.parametrize("attributes", WRONG.values(), ids=WRONG)
def test_what_has_no_effect_is_refused(machine: Machine, attributes: dict[str, str]) -> None:
    with refused(INVALID):
        machine.publish_inline(HANDLE, **attributes)
    assert list((machine.state / "volumes").iterdir()) == []
