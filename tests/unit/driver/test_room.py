from pathlib import Path

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.backends.loop import GRAIN_BYTES, DiskSpace
from mooring.driver.records import AccessType
from mooring.driver.refusal import EXHAUSTED, INVALID, OUT_OF_RANGE
from mooring.driver.room import Room, choose_size
from mooring.driver.settings import GIB, MIB
from mooring.driver.state import open_state
from mooring.host import usage
from mooring.host.usage import FilesystemUsage
from tests.unit.driver.calls import Driver, refused

SIZES = {
    "what is required": (GIB, 0, "ext4", 0, GIB),
    "nothing required is the default": (0, 0, "ext4", 0, GIB),
    "the default within the limit": (0, 100 * MIB, "ext4", 0, 100 * MIB),
    "a size is a multiple of 4096": (16 * MIB + 1, 0, "ext4", 0, 16 * MIB + 4096),
    "at least what xfs needs": (MIB, 0, "xfs", 0, 300 * MIB),
    "at least what btrfs needs": (MIB, 0, "btrfs", 0, 128 * MIB),
    "at least what ext4 needs": (1, 0, "ext4", 0, 8 * MIB),
    "at least the size of what is copied": (0, 0, "ext4", 20 * MIB, 20 * MIB),
    "a limit that is just reached": (16 * MIB, 16 * MIB, "ext4", 0, 16 * MIB),
}


@pytest.mark.parametrize(
    ("required", "limit", "fs_type", "least", "then"), SIZES.values(), ids=SIZES
)
def test_the_size_of_a_new_volume(
    required: int, limit: int, fs_type: str, least: int, then: int
) -> None:
    wanted = csi.CapacityRange(required_bytes=required, limit_bytes=limit)
    assert choose_size(wanted, AccessType.MOUNT, fs_type, least, GRAIN_BYTES) == then


IMPOSSIBLE = {
    "more required than the limit": (2 * GIB, GIB, 0, OUT_OF_RANGE),
    "a limit below what the file system needs": (0, MIB, 0, OUT_OF_RANGE),
    "a limit below the size of what is copied": (0, 16 * MIB, 20 * MIB, OUT_OF_RANGE),
    "a limit that no multiple of 4096 meets": (8 * MIB + 1, 8 * MIB + 2, 0, OUT_OF_RANGE),
    "a negative size": (-1, 0, 0, INVALID),
    "a negative limit": (0, -1, 0, INVALID),
}


@pytest.mark.parametrize(
    ("required", "limit", "least", "code"), IMPOSSIBLE.values(), ids=IMPOSSIBLE
)
def test_sizes_that_cannot_be(required: int, limit: int, least: int, code: object) -> None:
    wanted = csi.CapacityRange(required_bytes=required, limit_bytes=limit)
    with refused(code):
        choose_size(wanted, AccessType.MOUNT, "ext4", least, GRAIN_BYTES)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk of 100 MiB, of which 60 are free."""

    def told(_: Path) -> FilesystemUsage:
        return FilesystemUsage(100 * MIB, 60 * MIB, 40 * MIB, 10, 5)

    monkeypatch.setattr(usage, "of_filesystem", told)


def test_what_was_promised_is_not_promised_again(disk: None, tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    driver.make("a", size=40 * MIB)
    assert driver.core.room.available_bytes() == 20 * MIB
    with refused(EXHAUSTED, "left to promise"):
        driver.make("b", size=40 * MIB)
    assert driver.ids() == [driver.make("a", size=40 * MIB).volume_id]
    with refused(EXHAUSTED):
        driver.expand(driver.ids()[0], 80 * MIB)


def test_blocks_that_a_volume_has_are_not_promised_any_more(disk: None, tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    volume = driver.make("a", size=40 * MIB)
    driver.image(volume.volume_id).write_bytes(b"x" * (10 * MIB))
    assert driver.core.room.available_bytes() == pytest.approx(30 * MIB, abs=65536)


def test_more_than_the_disk_has_is_out_of_range(disk: None, tmp_path: Path) -> None:
    with refused(OUT_OF_RANGE, "more than the disk has"):
        Driver(tmp_path).make(size=GIB)


def test_overcommitted_there_is_more(disk: None, tmp_path: Path) -> None:
    driver = Driver(tmp_path, overcommit=10)
    driver.make("a", size=500 * MIB)
    assert driver.core.room.available_bytes() == 100 * MIB


def test_what_is_just_being_made_counts(disk: None, tmp_path: Path) -> None:
    room = Room(open_state(tmp_path), 1.0, DiskSpace(tmp_path))
    with room.reserved("a", 50 * MIB):
        assert room.available_bytes() == 10 * MIB
        with refused(EXHAUSTED), room.reserved("b", 20 * MIB):
            pass
    assert room.available_bytes() == 60 * MIB
