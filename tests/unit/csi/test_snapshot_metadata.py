"""Streams of block ranges: in pages, from an offset, and held to their order."""

from contextlib import aclosing

import pytest
from google.protobuf.message import Message

from mooring.csi.channel import TOO_LATE, Connection
from mooring.csi.outcome import Code, Done, Outcome, Refused, Uncertain
from mooring.csi.proto import csi_pb2 as pb
from mooring.csi.snapshot_metadata import BlockRange, Blocks, BlockType, Part, SnapshotMetadata
from tests.fakes.csi_driver import Fails, FakeCsiDriver, Hangs, Replies

GIB = 1 << 30


def blocks(*ranges: tuple[int, int]) -> Outcome[Blocks]:
    return Done(Blocks(BlockType.VARIABLE_LENGTH, GIB, tuple(BlockRange(*each) for each in ranges)))


@pytest.fixture
def metadata(driver: FakeCsiDriver, connection: Connection) -> SnapshotMetadata:
    driver.state.blocks = {"s1": [(0, 10), (20, 5), (40, 1)], "s2": [(0, 10), (20, 6)]}
    return SnapshotMetadata(connection)


async def test_a_stream_comes_in_messages_of_max_results(metadata: SnapshotMetadata) -> None:
    part = Part(max_results=2)
    assert [each async for each in metadata.allocated("s1", part, within=5)] == [
        blocks((0, 10), (20, 5)),
        blocks((40, 1)),
    ]


async def test_a_stream_goes_on_after_the_last_range(metadata: SnapshotMetadata) -> None:
    part = Part(starting_offset=25)
    assert [each async for each in metadata.allocated("s1", part, within=5)] == [blocks((40, 1))]


async def test_what_changed_between_two_snapshots(metadata: SnapshotMetadata) -> None:
    assert [each async for each in metadata.delta("s1", "s2", within=5)] == [blocks((20, 6))]


async def test_a_failure_is_the_last_item(
    driver: FakeCsiDriver, metadata: SnapshotMetadata
) -> None:
    driver.next("GetMetadataAllocated", Fails(Code.NOT_FOUND, "no such"), Hangs())
    assert [each async for each in metadata.allocated("s1", within=5)] == [
        Refused(Code.NOT_FOUND, "no such")
    ]
    assert [each async for each in metadata.allocated("s1", within=0.05)] == [TOO_LATE]


async def test_a_stream_that_is_left_early_is_cancelled(
    driver: FakeCsiDriver, metadata: SnapshotMetadata
) -> None:
    part = Part(max_results=1)
    async with aclosing(metadata.allocated("s1", part, within=5)) as stream:
        async for each in stream:
            assert each == blocks((0, 10))
            break
    assert [each async for each in metadata.delta("s1", "s2", within=5)] == [blocks((20, 6))]


WRONG = {
    "ranges that overlap": ([(0, 10), (9, 5)], "VARIABLE_LENGTH"),
    "ranges that go back": ([(20, 5), (0, 5)], "VARIABLE_LENGTH"),
    "an empty range": ([(20, 0)], "VARIABLE_LENGTH"),
    "ranges of no type": ([(0, 5)], "UNKNOWN"),
}


@pytest.mark.parametrize(("ranges", "kind"), WRONG.values(), ids=WRONG)
async def test_a_driver_is_held_to_the_order_of_ranges(
    ranges: list[tuple[int, int]], kind: str, driver: FakeCsiDriver, metadata: SnapshotMetadata
) -> None:
    def change(_: Message) -> Message:
        told = [pb.BlockMetadata(byte_offset=at, size_bytes=size) for at, size in ranges]
        return pb.GetMetadataAllocatedResponse(
            block_metadata_type=kind, volume_capacity_bytes=GIB, block_metadata=told
        )

    driver.next("GetMetadataAllocated", Replies(change))
    (said,) = [each async for each in metadata.allocated("s1", within=5)]
    assert isinstance(said, Uncertain)
    assert said.code is None
