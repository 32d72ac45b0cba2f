"""Block metadata of real images: what has data, what changed, from any byte, in any pages."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.csi.channel import Connection
from mooring.csi.outcome import Done, Refused
from mooring.csi.proto import csi_pb2 as csi
from mooring.csi.snapshot_metadata import Part, SnapshotMetadata
from mooring.driver.backends import block_ranges
from mooring.driver.backends.block_ranges import BLOCK, Step
from mooring.driver.refusal import INVALID, NOT_FOUND, OUT_OF_RANGE
from mooring.driver.serve import serving
from mooring.driver.settings import MIB
from tests.unit.driver.calls import Driver, refused

SIZE = 4 * MIB
KINDS = [b"\0", b"x", b"y"]


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def write(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def an_image(path: Path, blocks: dict[int, bytes]) -> Path:
    with path.open("wb") as file:
        file.truncate(SIZE)
    for number, content in blocks.items():
        write(path, number * BLOCK, content * BLOCK)
    return path


def covered(look: Callable[[int], Step], begin: int = 0) -> tuple[set[int], int]:
    """The numbers of the blocks in all ranges, and how many steps it took."""
    blocks: set[int] = set()
    position: int | None = begin
    steps, end = 0, 0
    while position is not None:
        step = look(position)
        steps += 1
        for one in step.ranges:
            assert end <= one.begin < one.end <= SIZE
            end = one.end
            blocks |= set(range(one.begin // BLOCK, -(-one.end // BLOCK)))
        assert step.go_on is None or step.go_on > position or steps == 1
        position = step.go_on
    return blocks, steps


CONTENTS = st.dictionaries(st.integers(0, SIZE // BLOCK - 1), st.sampled_from(KINDS), max_size=12)


@settings(max_examples=60, deadline=None)
@given(old=CONTENTS, new=CONTENTS, most=st.integers(1, 4), begin=st.integers(0, SIZE // BLOCK))
def test_the_changed_blocks_are_those_that_differ_from_any_byte_on(
    tmp_path_factory: pytest.TempPathFactory,
    old: dict[int, bytes],
    new: dict[int, bytes],
    most: int,
    begin: int,
) -> None:
    place = tmp_path_factory.mktemp("images")
    base, target = an_image(place / "old", old), an_image(place / "new", new)
    zero = b"\0"
    expected = {
        number
        for number in {*old, *new}
        if old.get(number, zero) != new.get(number, zero) and number >= begin
    }
    found, _ = covered(lambda at: block_ranges.changed(base, target, at, most), begin * BLOCK)
    assert found == expected


@settings(max_examples=30, deadline=None)
@given(contents=CONTENTS, most=st.integers(1, 4))
def test_every_block_with_data_is_allocated(
    tmp_path_factory: pytest.TempPathFactory, contents: dict[int, bytes], most: int
) -> None:
    path = an_image(tmp_path_factory.mktemp("images") / "image", contents)
    found, _ = covered(lambda at: block_ranges.allocated(path, at, most))
    assert found >= {number for number, content in contents.items() if content != b"\0"}
    assert found <= set(contents)


def test_a_long_scan_comes_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_ranges, "_STEP_BYTES", 1)
    monkeypatch.setattr("mooring.driver.backends.catching_up._PIECE", BLOCK)
    base = an_image(tmp_path / "old", {})
    target = an_image(tmp_path / "new", {1: b"x", 9: b"\0", 20: b"y"})
    found, steps = covered(lambda at: block_ranges.changed(base, target, at, 10))
    assert found == {1, 20}
    assert steps > 1


def test_a_target_that_was_grown_is_compared_with_zeros(tmp_path: Path) -> None:
    base = tmp_path / "old"
    base.write_bytes(b"x" * BLOCK)
    target = an_image(tmp_path / "new", {0: b"x", 5: b"y"})
    found, _ = covered(lambda at: block_ranges.changed(base, target, at, 10))
    assert found == {5}


def two_snapshots(driver: Driver) -> tuple[str, str]:
    volume = driver.make(size=SIZE * 4).volume_id
    write(driver.image(volume), 0, b"a" * BLOCK)
    first = driver.snap(volume, "first").snapshot_id
    write(driver.image(volume), 5 * BLOCK, b"b" * BLOCK)
    return first, driver.snap(volume, "second").snapshot_id


async def test_streams_over_the_socket(
    driver: Driver, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first, second = two_snapshots(driver)
    socket = tmp_path_factory.mktemp("s") / "csi.sock"
    async with serving(driver.core, f"unix://{socket}"), Connection(str(socket)) as connection:
        metadata = SnapshotMetadata(connection)
        pages = [each async for each in metadata.allocated(second, Part(0, 1), within=10)]
        assert [
            [(one.byte_offset, one.size_bytes) for one in page.value.ranges]
            for page in pages
            if isinstance(page, Done)
        ] == [[(0, BLOCK)], [(5 * BLOCK, BLOCK)]]
        (page,) = [each async for each in metadata.delta(first, second, within=10)]
        assert isinstance(page, Done)
        assert [one.byte_offset for one in page.value.ranges] == [5 * BLOCK]
        assert page.value.volume_capacity_bytes == SIZE * 4
        (same,) = [each async for each in metadata.delta(first, first, within=10)]
        assert isinstance(same, Done)
        assert same.value.ranges == ()
        (missing,) = [each async for each in metadata.allocated("snap-none", within=10)]
        assert isinstance(missing, Refused)
        with driver.core.in_flight.holding(first):
            (busy,) = [each async for each in metadata.allocated(first, within=10)]
            assert not isinstance(busy, Done)
    driver.unsnap(first)


def test_wrong_questions(driver: Driver) -> None:
    first, second = two_snapshots(driver)
    other = driver.snap(driver.make("other").volume_id, "third").snapshot_id
    with refused(INVALID, "different volumes"):
        driver.GetMetadataDelta(
            csi.GetMetadataDeltaRequest(base_snapshot_id=first, target_snapshot_id=other)
        )
    for offset in (-1, SIZE * 4 + 1):
        with refused(OUT_OF_RANGE, "starting_offset"):
            driver.GetMetadataAllocated(
                csi.GetMetadataAllocatedRequest(snapshot_id=second, starting_offset=offset)
            )
    with refused(INVALID, "max_results"):
        driver.GetMetadataAllocated(
            csi.GetMetadataAllocatedRequest(snapshot_id=second, max_results=-1)
        )
    with refused(NOT_FOUND, "no snapshot"):
        driver.GetMetadataAllocated(csi.GetMetadataAllocatedRequest(snapshot_id="x"))
