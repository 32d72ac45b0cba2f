"""The SnapshotMetadata service: which blocks of a snapshot hold data, or changed since another."""

from collections.abc import AsyncGenerator
from enum import IntEnum

import msgspec

from mooring.csi.channel import BadReply, Connection, method
from mooring.csi.outcome import Outcome
from mooring.csi.proto import csi_pb2
from mooring.csi.secrets import NO_SECRETS, Secrets

_SERVICE = csi_pb2.DESCRIPTOR.services_by_name["SnapshotMetadata"]
_ALLOCATED = method(
    _SERVICE,
    "GetMetadataAllocated",
    csi_pb2.GetMetadataAllocatedRequest,
    csi_pb2.GetMetadataAllocatedResponse,
)
_DELTA = method(
    _SERVICE,
    "GetMetadataDelta",
    csi_pb2.GetMetadataDeltaRequest,
    csi_pb2.GetMetadataDeltaResponse,
)


class BlockType(IntEnum):
    FIXED_LENGTH = 1
    VARIABLE_LENGTH = 2


class BlockRange(msgspec.Struct, frozen=True):
    byte_offset: int
    size_bytes: int

    @property
    def end(self) -> int:
        return self.byte_offset + self.size_bytes


class Blocks(msgspec.Struct, frozen=True):
    """One message of a stream."""

    type: BlockType
    volume_capacity_bytes: int
    ranges: tuple[BlockRange, ...] = ()


class Part(msgspec.Struct, frozen=True):
    """Where to begin, and how many ranges a message may have; 0: as the driver likes."""

    starting_offset: int = 0
    max_results: int = 0


WHOLE = Part()


class SnapshotMetadata:
    """Streams: every item but a last one that failed is Done. To go on after a failure, ask again
    from the end of the last range."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def allocated(
        self,
        snapshot_id: str,
        part: Part = WHOLE,
        secrets: Secrets = NO_SECRETS,
        *,
        within: float,
    ) -> AsyncGenerator[Outcome[Blocks], None]:
        """Ranges that hold data; `within` seconds for the whole stream."""

        def build() -> csi_pb2.GetMetadataAllocatedRequest:
            return csi_pb2.GetMetadataAllocatedRequest(
                snapshot_id=snapshot_id,
                starting_offset=part.starting_offset,
                max_results=part.max_results,
                secrets=secrets.reveal(),
            )

        read = _Reader(part.starting_offset)
        return self._connection.stream(_ALLOCATED, build, read, within=within, secrets=secrets)

    def delta(
        self,
        base_snapshot_id: str,
        target_snapshot_id: str,
        part: Part = WHOLE,
        secrets: Secrets = NO_SECRETS,
        *,
        within: float,
    ) -> AsyncGenerator[Outcome[Blocks], None]:
        """Ranges of the target that may differ from the base."""

        def build() -> csi_pb2.GetMetadataDeltaRequest:
            return csi_pb2.GetMetadataDeltaRequest(
                base_snapshot_id=base_snapshot_id,
                target_snapshot_id=target_snapshot_id,
                starting_offset=part.starting_offset,
                max_results=part.max_results,
                secrets=secrets.reveal(),
            )

        read = _Reader(part.starting_offset)
        return self._connection.stream(_DELTA, build, read, within=within, secrets=secrets)


class _Reader:
    """Reads the messages of one stream, and holds the driver to the order of its ranges."""

    def __init__(self, starting_offset: int) -> None:
        self._is_first = True
        self._end = starting_offset

    def __call__(
        self, reply: csi_pb2.GetMetadataAllocatedResponse | csi_pb2.GetMetadataDeltaResponse
    ) -> Blocks:
        if int(reply.block_metadata_type) not in BlockType.__members__.values():
            raise BadReply("the driver does not say of which type its ranges are")
        ranges = tuple(
            BlockRange(each.byte_offset, each.size_bytes) for each in reply.block_metadata
        )
        for each in ranges:
            overlaps = each.end <= self._end if self._is_first else each.byte_offset < self._end
            if each.byte_offset < 0 or each.size_bytes <= 0 or overlaps:
                raise BadReply(f"the driver's ranges are out of order at byte {each.byte_offset}")
            self._is_first, self._end = False, each.end
        kind = BlockType(int(reply.block_metadata_type))
        return Blocks(kind, reply.volume_capacity_bytes, ranges)
