"""A state directory that somebody removed while its volumes were in use."""

import shutil
from pathlib import Path

import pytest

from mooring.driver.refusal import NOT_FOUND
from mooring.host.mount import Mounts
from tests.host.driver_life import Machine, a_machine
from tests.unit.driver.calls import refused


@pytest.fixture
def machine(place: Path, mounts: Mounts) -> Machine:
    return a_machine(place, mounts)


@pytest.mark.parametrize("is_block", [False, True], ids=["files", "a device"])
def test_its_volumes_are_unmounted_when_they_are_let_go_and_their_devices_with_them(
    machine: Machine, mounts: Mounts, *, is_block: bool
) -> None:
    volume = machine.driver.make(is_block=is_block).volume_id
    machine.stage(volume, is_block=is_block)
    target = machine.publish(volume, is_block=is_block)
    shutil.rmtree(machine.state)
    machine.start()
    assert mounts.is_mount_point(target), "a container may use it still"

    machine.unpublish(volume)
    machine.unstage(volume)

    assert not mounts.is_mount_point(target)
    assert not mounts.is_mount_point(machine.staging)
    assert machine.devices() == []
    machine.unpublish(volume)
    machine.unstage(volume)


def test_what_is_not_its_volume_stays_mounted(machine: Machine, mounts: Mounts) -> None:
    volume = machine.driver.make().volume_id
    machine.stage(volume)
    shutil.rmtree(machine.state)
    machine.start()
    other = machine.driver.make("other").volume_id
    elsewhere = machine.place / "elsewhere"
    elsewhere.mkdir()
    machine.stage(other, elsewhere)
    with refused(NOT_FOUND):
        machine.unstage(volume, elsewhere)
    with refused(NOT_FOUND):
        machine.unstage("vol-nobody-knows", machine.staging)
    assert mounts.is_mount_point(elsewhere)
    assert mounts.is_mount_point(machine.staging)
    machine.unstage(volume)
    machine.unstage(other, elsewhere)
    assert machine.devices() == []
