"""Volumes of the bundled driver as raw block devices."""

from pathlib import Path
from typing import Any

import pytest

from mooring.driver.refusal import OUT_OF_RANGE, PRECONDITION
from mooring.driver.settings import MIB
from mooring.host.mount import Mounts
from tests.host.disks import read, write
from tests.host.driver_life import Machine, a_machine
from tests.unit.driver.calls import Mode, refused


@pytest.fixture
def machine(place: Path, mounts: Mounts) -> Machine:
    return a_machine(place, mounts)


def test_devices_are_read_and_written(machine: Machine) -> None:
    volume = machine.driver.make(is_block=True).volume_id
    for content in (b"", b"bytes"):
        machine.stage(volume, is_block=True)
        target = machine.publish(volume, is_block=True)
        assert target.is_block_device()
        assert read(target, len(content)) == content
        write(target, b"bytes")
        assert machine.stats(volume, target).usage[0].total == 16 * MIB
        machine.put_away(volume)
        assert not target.exists()
        assert machine.devices() == []
    assert read(machine.driver.image(volume), 5) == b"bytes"


def test_devices_grow_while_they_are_used(machine: Machine) -> None:
    volume = machine.driver.make(is_block=True).volume_id
    machine.stage(volume, is_block=True)
    target = machine.publish(volume, is_block=True)
    assert not machine.driver.expand(volume, 32 * MIB).node_expansion_required
    assert machine.stats(volume, target).usage[0].total == 32 * MIB
    assert machine.expand(volume, target) == 32 * MIB
    with refused(OUT_OF_RANGE):
        machine.expand(volume, target, 64 * MIB)
    machine.put_away(volume)


def test_devices_for_readers_cannot_be_written_to(machine: Machine) -> None:
    many: dict[str, Any] = {"mode": Mode.SINGLE_NODE_MULTI_WRITER, "is_block": True}
    volume = machine.driver.make(**many).volume_id
    machine.stage(volume, **many)
    writer = machine.publish(volume, "writer", **many)
    readers = [machine.publish(volume, name, readonly=True, **many) for name in ("r1", "r2")]
    write(writer, b"x")
    for reader in readers:
        with pytest.raises(PermissionError):
            write(reader, b"y")
    machine.unpublish(volume, "r1")
    assert len(machine.devices()) == 2
    machine.start()
    assert len(machine.devices()) == 2
    machine.unpublish(volume, "r2")
    assert len(machine.devices()) == 1
    machine.put_away(volume, "writer")


def test_devices_of_reader_only_volumes_are_read_only(machine: Machine) -> None:
    many: dict[str, Any] = {"mode": Mode.MULTI_NODE_READER_ONLY, "is_block": True}
    volume = machine.driver.make(**many).volume_id
    machine.stage(volume, **many)
    target = machine.publish(volume, **many)
    with pytest.raises(PermissionError):
        write(target, b"y")
    with refused(PRECONDITION, "readers only"):
        machine.publish(volume, "writer", is_block=True)
    machine.put_away(volume)


def test_devices_that_are_used_are_copied_with_all_that_was_written(machine: Machine) -> None:
    volume = machine.driver.make(is_block=True).volume_id
    machine.stage(volume, is_block=True)
    target = machine.publish(volume, is_block=True)
    write(target, b"before")
    snapshot = machine.driver.snap(volume).snapshot_id
    image = machine.driver.core.state.snapshots.image(snapshot)
    assert read(image, 6) == b"before"
    machine.put_away(volume)
