"""Group snapshots of volumes in use: all of one moment, and nobody waits for long."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.backends import freeze
from mooring.driver.refusal import PRECONDITION
from mooring.host.mount import Mounts
from tests.host.conftest import NeedsTool
from tests.host.driver_life import Machine, a_machine
from tests.unit.driver.calls import Driver, refused


@pytest.fixture
def machine(place: Path, mounts: Mounts, needs_tool: NeedsTool) -> Iterator[Machine]:
    needs_tool("mkfs.ext4")
    machine = a_machine(place, mounts)
    yield machine
    for entry in mounts.table().below(machine.place):
        freeze.thaw(entry)


def two_volumes(machine: Machine) -> dict[str, Path]:
    """Staged, by id."""
    staged: dict[str, Path] = {}
    for name in ("one", "two"):
        at = machine.place / f"staged-{name}"
        at.mkdir()
        volume = machine.made("ext4", name)
        machine.stage(volume, at)
        staged[volume] = at
    return staged


def group(driver: Driver, *volumes: str) -> csi.VolumeGroupSnapshot:
    request = csi.CreateVolumeGroupSnapshotRequest(name="night", source_volume_ids=volumes)
    made: csi.VolumeGroupSnapshot = driver.CreateVolumeGroupSnapshot(request).group_snapshot
    return made


class Pairs:
    """Writes a number to one volume, then to the other, again and again, each to the disk."""

    def __init__(self, first: Path, second: Path) -> None:
        self._files = (first / "number", second / "number")
        for file in self._files:
            file.write_text("0")
        self.is_over = threading.Event()
        self.count = 0
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while not self.is_over.is_set():
            for file in self._files:
                fresh = file.with_suffix(".new")
                with fresh.open("w") as open_file:
                    open_file.write(str(self.count))
                    open_file.flush()
                    os.fsync(open_file.fileno())
                fresh.rename(file)
                descriptor = os.open(file.parent, os.O_RDONLY)
                os.fsync(descriptor)
                os.close(descriptor)
            self.count += 1


def test_no_volume_is_ahead_of_the_one_that_is_written_first(machine: Machine) -> None:
    staged = two_volumes(machine)
    (first, second) = staged
    pairs = Pairs(staged[first], staged[second])
    try:
        made = group(machine.driver, *staged)
    finally:
        pairs.is_over.set()
        pairs.thread.join(30)
    assert not any(volume.is_frozen for volume in machine.driver.core.state.volumes.all())
    found: dict[str, int] = {}
    for one in made.snapshots:
        copy = machine.driver.make(
            f"copy-{one.source_volume_id}", snapshot_id=one.snapshot_id, fs_type="ext4"
        ).volume_id
        machine.stage(copy)
        found[one.source_volume_id] = int((machine.staging / "number").read_text())
        machine.unstage(copy)
    assert found[second] <= found[first] <= found[second] + 1
    for volume, at in staged.items():
        machine.unstage(volume, at)


def test_when_one_cannot_be_frozen_none_stays_frozen(machine: Machine, mounts: Mounts) -> None:
    staged = two_volumes(machine)
    other = mounts.table().find(list(staged.values())[1])
    assert other is not None
    with (
        freeze.frozen([other], 30),  # by somebody else, so it cannot be frozen again
        pytest.raises(Exception, match="freeze"),
    ):
        group(machine.driver, *staged)
    for at in staged.values():
        (at / "written").write_text("writers go on")
    assert len(group(machine.driver, *staged).snapshots) == 2
    for volume, at in staged.items():
        machine.unstage(volume, at)


def test_a_raw_device_in_use_is_no_part_of_a_group(machine: Machine) -> None:
    volume = machine.driver.make("raw", is_block=True).volume_id
    assert len(group(machine.driver, volume).snapshots) == 1
    machine.stage(volume, is_block=True)
    request = csi.CreateVolumeGroupSnapshotRequest(name="other", source_volume_ids=[volume])
    with refused(PRECONDITION, "raw device in use"):
        machine.driver.CreateVolumeGroupSnapshot(request)
    machine.unstage(volume)
