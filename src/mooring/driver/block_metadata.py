"""The SnapshotMetadata service: which blocks of a snapshot hold data, or changed since another.

An answer is a stream. Each message of it is found in a step of its own, which begins at a byte of
the image; so a stream that was cut off goes on from any byte.
"""

from collections.abc import Callable

import msgspec

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.backends import block_ranges
from mooring.driver.backends.block_ranges import Step
from mooring.driver.core import Core
from mooring.driver.records import SnapshotRecord
from mooring.driver.refusal import INVALID, OUT_OF_RANGE, CallRefused, need

DEFAULT_RESULTS = 1024  # ranges in a message, unless the request says otherwise
MOST_RESULTS = 64 << 10  # a message stays below a megabyte or two

Answer = csi.GetMetadataAllocatedResponse | csi.GetMetadataDeltaResponse


class Scan(msgspec.Struct, frozen=True):
    """A stream to be: `look` finds the ranges of one message, and blocks."""

    begin: int
    snapshots: tuple[str, ...]  # that must not be deleted meanwhile
    look: Callable[[int], Step]
    message: Callable[[Step], Answer]


class MetadataCalls:
    """Each call checks a request, and raises CallRefused."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def GetMetadataAllocated(self, request: csi.GetMetadataAllocatedRequest) -> Scan:
        snapshot = self._core.get_snapshot(need(request.snapshot_id, "snapshot_id"))
        begin = _checked_offset(request.starting_offset, snapshot)
        most = _checked_results(request.max_results)
        path = self._core.state.snapshot_image(snapshot)

        def message(step: Step) -> Answer:
            return csi.GetMetadataAllocatedResponse(
                block_metadata_type=csi.VARIABLE_LENGTH,
                volume_capacity_bytes=snapshot.size_bytes,
                block_metadata=_blocks(step),
            )

        return Scan(
            begin,
            (snapshot.id,),
            lambda position: block_ranges.allocated(path, position, most),
            message,
        )

    def GetMetadataDelta(self, request: csi.GetMetadataDeltaRequest) -> Scan:
        need(request.base_snapshot_id, "base_snapshot_id")
        need(request.target_snapshot_id, "target_snapshot_id")
        base = self._core.get_snapshot(request.base_snapshot_id)
        target = self._core.get_snapshot(request.target_snapshot_id)
        if base.volume_id != target.volume_id:
            text = f"{base.id} and {target.id} are snapshots of different volumes"
            raise CallRefused(INVALID, text)
        begin = _checked_offset(request.starting_offset, target)
        most = _checked_results(request.max_results)
        old, new = map(self._core.state.snapshot_image, (base, target))

        def message(step: Step) -> Answer:
            return csi.GetMetadataDeltaResponse(
                block_metadata_type=csi.VARIABLE_LENGTH,
                volume_capacity_bytes=target.size_bytes,
                block_metadata=_blocks(step),
            )

        return Scan(
            begin,
            (base.id, target.id),
            lambda position: block_ranges.changed(old, new, position, most),
            message,
        )


def _blocks(step: Step) -> list[csi.BlockMetadata]:
    return [
        csi.BlockMetadata(byte_offset=one.begin, size_bytes=one.end - one.begin)
        for one in step.ranges
    ]


def _checked_offset(offset: int, snapshot: SnapshotRecord) -> int:
    if not 0 <= offset <= snapshot.size_bytes:
        text = f"starting_offset {offset} is not in {snapshot.id}, of {snapshot.size_bytes} bytes"
        raise CallRefused(OUT_OF_RANGE, text)
    return offset


def _checked_results(most: int) -> int:
    if most < 0:
        raise CallRefused(INVALID, f"max_results is negative: {most}")
    return min(most or DEFAULT_RESULTS, MOST_RESULTS)
