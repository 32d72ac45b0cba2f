"""No data is ever formatted over by the bundled driver; what was never data is."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.driver.records import Formatting
from mooring.driver.refusal import DATA_LOSS, PRECONDITION
from mooring.driver.settings import MIB
from mooring.host.mount import Mounts
from tests.host.conftest import NeedsTool
from tests.host.disks import read, write
from tests.host.driver_life import SIZES, Machine, a_machine
from tests.unit.driver.calls import refused

EVERY_TYPE = [pytest.param(fs_type, id=fs_type) for fs_type in SIZES]


@pytest.fixture
def machine(place: Path, mounts: Mounts) -> Machine:
    return a_machine(place, mounts)


@pytest.fixture
def fs_type(
    request: pytest.FixtureRequest, needs_tool: NeedsTool, needs_filesystem: NeedsTool
) -> str:
    name: str = getattr(request, "param", "ext4")
    needs_tool(f"mkfs.{name}")
    needs_filesystem(name)
    return name


@pytest.mark.usefixtures("fs_type")
class TestNothingIsFormattedOver:
    def test_a_file_system_that_was_destroyed_is_not_made_again(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        machine.unstage(volume)
        image = machine.driver.image(volume)
        write(image, bytes(MIB))  # its superblock, and more
        write(image, b"last words", at=8 * MIB)
        with refused(DATA_LOSS, "not formatted"):
            machine.stage(volume)
        assert read(image, 10, at=8 * MIB) == b"last words"
        assert machine.devices() == []

    def test_a_device_that_somebody_wrote_to_is_not_formatted(self, machine: Machine) -> None:
        device_id = machine.driver.make("device", is_block=True).volume_id
        write(machine.driver.image(device_id), b"no signature", at=4096)
        copy = machine.driver.make("copy", volume_id=device_id).volume_id
        with refused(PRECONDITION, "not formatted"):
            machine.stage(copy)
        assert read(machine.driver.image(copy), 12, at=4096) == b"no signature"

    def test_a_device_with_a_file_system_can_be_restored_as_one(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        (machine.staging / "file").write_text("here")
        machine.unstage(volume)
        raw = machine.driver.make("raw", volume_id=volume, is_block=True).volume_id
        copy = machine.driver.make("copy", volume_id=raw).volume_id
        machine.stage(copy)
        assert (machine.staging / "file").read_text() == "here"
        machine.unstage(copy)

    def test_a_file_system_stays_what_it_is_when_another_is_asked(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        machine.unstage(volume)
        before = machine.driver.image(volume).read_bytes()
        with refused(PRECONDITION):
            machine.stage(volume, fs_type="btrfs")
        assert machine.driver.image(volume).read_bytes() == before


@pytest.mark.parametrize("fs_type", EVERY_TYPE, indirect=True)
def test_a_format_that_was_cut_is_started_anew(machine: Machine, fs_type: str) -> None:
    volume = machine.made(fs_type)
    machine.stage(volume, fs_type=fs_type)  # leaves all its signatures
    machine.unstage(volume)
    record = machine.driver.core.get_volume(volume)
    cut = replace(record, contents=Formatting(fs_type))
    machine.driver.core.state.volumes.replace(cut)
    write(machine.driver.image(volume), bytes(512))
    machine.start()
    machine.stage(volume, fs_type=fs_type)
    (machine.staging / "file").write_text("here")
    machine.unstage(volume)
    machine.stage(volume, fs_type=fs_type)
    assert (machine.staging / "file").read_text() == "here"
    machine.unstage(volume)
