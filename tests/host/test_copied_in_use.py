"""Pods that start and end while their volume is copied: none waits, and every copy is whole."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.driver.backends import freeze, image
from mooring.driver.in_flight import contents_of
from mooring.driver.refusal import ABORTED
from mooring.host.mount import Mounts
from tests.host.conftest import NeedsTool
from tests.host.driver_life import SIZES, Machine, a_machine
from tests.unit.driver.calls import refused


@pytest.fixture
def machine(place: Path, mounts: Mounts, needs_tool: NeedsTool) -> Iterator[Machine]:
    needs_tool("mkfs.ext4")
    machine = a_machine(place, mounts)
    yield machine
    for entry in mounts.table().below(machine.place):
        freeze.thaw(entry)


def while_copied(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Once, after the image was copied, and before the copy is finished."""
    really, left = image.Copy.make, [act]

    def make(copy: image.Copy) -> None:
        really(copy)
        if left:
            left.pop()()

    monkeypatch.setattr(image.Copy, "make", make)


def files_of_copy(machine: Machine, volume: str) -> dict[str, str]:
    """What a snapshot of the volume, restored, holds."""
    snapshot = machine.driver.snap(volume).snapshot_id
    if machine.driver.core.get_volume(volume).stage is not None:
        machine.unstage(volume)
    copy = machine.driver.make(
        "restored", size=SIZES["ext4"], snapshot_id=snapshot, fs_type="ext4"
    ).volume_id
    machine.stage(copy)
    found = {
        path.name: path.read_text() for path in sorted(machine.staging.iterdir()) if path.is_file()
    }
    machine.unstage(copy)
    return found


def write(machine: Machine, name: str) -> None:
    with (machine.staging / name).open("w") as file:
        file.write(name)
        os.fsync(file.fileno())


def test_a_pod_that_starts_meanwhile_is_in_the_copy(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = machine.made("ext4")
    machine.stage(volume)
    write(machine, "before")
    machine.unstage(volume)

    def start() -> None:
        machine.stage(volume)
        machine.publish(volume)
        write(machine, "meanwhile")
        machine.unpublish(volume)

    while_copied(monkeypatch, start)
    assert files_of_copy(machine, volume) == {"before": "before", "meanwhile": "meanwhile"}


def test_the_first_pod_of_a_volume_may_start_while_it_is_copied(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = machine.made("ext4")

    def start() -> None:
        machine.stage(volume)  # makes the file system, in a new image
        write(machine, "first")

    while_copied(monkeypatch, start)
    assert files_of_copy(machine, volume) == {"first": "first"}


def test_a_pod_that_ends_meanwhile_has_written_all_it_wrote(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = machine.made("ext4")
    machine.stage(volume)
    machine.publish(volume)

    def end() -> None:
        write(machine, "last")
        machine.put_away(volume)

    while_copied(monkeypatch, end)
    assert files_of_copy(machine, volume) == {"last": "last"}


def test_a_pod_that_is_replaced_meanwhile_has_another_device_and_is_followed_too(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = machine.place / "beside"
    beside.mkdir()
    volume = machine.made("ext4")
    machine.stage(volume)

    def replace() -> None:
        write(machine, "old")
        machine.unstage(volume)
        other = machine.made("ext4", "other")
        machine.stage(other, beside)  # takes the device that is free now
        machine.stage(volume)
        write(machine, "new")
        machine.unstage(other, beside)

    while_copied(monkeypatch, replace)
    assert files_of_copy(machine, volume) == {"old": "old", "new": "new"}


def test_what_would_tear_the_copy_waits_and_is_told_so(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = machine.driver
    volume = machine.made("ext4")
    raw = driver.make("raw", is_block=True).volume_id

    def disturb() -> None:
        for one in (volume, raw):
            with refused(ABORTED, f"a copy of {one} is still being made"):
                driver.delete(one)
            with refused(ABORTED, f"a copy of {one} is still being made"):
                driver.expand(one, 64 << 20)
        with refused(ABORTED, f"a copy of {raw} is still being made"):
            machine.stage(raw, is_block=True)  # it cannot be frozen

    while_copied(monkeypatch, disturb)
    with driver.core.in_flight.holding(reading=[contents_of(raw)]):
        driver.snap(volume)
    machine.stage(raw, is_block=True)
    machine.unstage(raw)
    driver.delete(raw)
    driver.delete(volume)


def test_two_copies_of_one_volume_are_made_at_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = machine.made("ext4")
    machine.stage(volume)

    def snap_too() -> None:
        write(machine, "inner")
        machine.driver.snap(volume, "inner")
        write(machine, "outer")

    while_copied(monkeypatch, snap_too)
    assert files_of_copy(machine, volume) == {"inner": "inner", "outer": "outer"}
