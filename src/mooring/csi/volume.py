"""Volumes and snapshots as a driver tells of them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import IntEnum

import msgspec

from mooring.csi.channel import BadReply
from mooring.csi.proto import csi_pb2
from mooring.csi.topology import Topology, TopologyRequirement

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CapacityRange(msgspec.Struct, frozen=True):
    required_bytes: int = 0  # 0: no lower bound
    limit_bytes: int = 0  # 0: no upper bound


class FromSnapshot(msgspec.Struct, frozen=True):
    snapshot_id: str


class FromVolume(msgspec.Struct, frozen=True):
    volume_id: str


ContentSource = FromSnapshot | FromVolume


class Volume(msgspec.Struct, frozen=True):
    volume_id: str
    capacity_bytes: int = 0  # 0: the driver does not say
    context: Mapping[str, str] = msgspec.field(default_factory=dict)
    source: ContentSource | None = None
    topologies: tuple[Topology, ...] = ()


class Condition(msgspec.Struct, frozen=True):
    abnormal: bool
    message: str


class VolumeState(msgspec.Struct, frozen=True):
    """A volume with what the driver knows of its use."""

    volume: Volume
    published_node_ids: tuple[str, ...] = ()
    condition: Condition | None = None


class Snapshot(msgspec.Struct, frozen=True):
    snapshot_id: str
    source_volume_id: str
    created: datetime
    created_nanoseconds: int  # since 1970; more exact than `created`
    ready_to_use: bool
    size_bytes: int = 0
    group_snapshot_id: str = ""


class Unit(IntEnum):
    BYTES = 1
    INODES = 2


class Usage(msgspec.Struct, frozen=True):
    unit: Unit
    total: int
    available: int = 0
    used: int = 0


class VolumeStats(msgspec.Struct, frozen=True):
    usage: tuple[Usage, ...] = ()
    condition: Condition | None = None

    def find(self, unit: Unit) -> Usage | None:
        return next((usage for usage in self.usage if usage.unit is unit), None)


# ---- to and from the wire ----


def capacity_to_wire(capacity: CapacityRange | None) -> csi_pb2.CapacityRange | None:
    if capacity is None:
        return None
    return csi_pb2.CapacityRange(
        required_bytes=capacity.required_bytes, limit_bytes=capacity.limit_bytes
    )


def source_to_wire(source: ContentSource | None) -> csi_pb2.VolumeContentSource | None:
    wire = csi_pb2.VolumeContentSource
    match source:
        case None:
            return None
        case FromSnapshot(snapshot_id):
            return wire(snapshot=wire.SnapshotSource(snapshot_id=snapshot_id))
        case FromVolume(volume_id):
            return wire(volume=wire.VolumeSource(volume_id=volume_id))


def source_from_wire(message: csi_pb2.VolumeContentSource) -> ContentSource | None:
    match message.WhichOneof("type"):
        case "snapshot":
            return FromSnapshot(message.snapshot.snapshot_id)
        case "volume":
            return FromVolume(message.volume.volume_id)
        case _:
            return None


def topology_to_wire(topology: Topology | None) -> csi_pb2.Topology | None:
    return None if topology is None else csi_pb2.Topology(segments=topology.segments)


def requirement_to_wire(
    requirement: TopologyRequirement | None,
) -> csi_pb2.TopologyRequirement | None:
    if requirement is None:
        return None
    return csi_pb2.TopologyRequirement(
        requisite=[csi_pb2.Topology(segments=each.segments) for each in requirement.requisite],
        preferred=[csi_pb2.Topology(segments=each.segments) for each in requirement.preferred],
    )


def volume_from_wire(message: csi_pb2.Volume) -> Volume:
    """Raises: BadReply."""
    if not message.volume_id:
        raise BadReply("the driver returned a volume without an id")
    if message.capacity_bytes < 0:
        raise BadReply(f"the driver returned a volume of {message.capacity_bytes} bytes")
    return Volume(
        volume_id=message.volume_id,
        capacity_bytes=message.capacity_bytes,
        context=dict(message.volume_context),
        source=source_from_wire(message.content_source),
        topologies=tuple(Topology(dict(each.segments)) for each in message.accessible_topology),
    )


def state_from_wire(
    message: csi_pb2.ListVolumesResponse.Entry | csi_pb2.ControllerGetVolumeResponse,
) -> VolumeState:
    """Raises: BadReply."""
    status = message.status
    return VolumeState(
        volume=volume_from_wire(message.volume),
        # Some drivers put an empty name there before a volume was ever published.
        published_node_ids=tuple(node for node in status.published_node_ids if node),
        condition=condition_from_wire(status),
    )


def condition_from_wire(
    message: csi_pb2.NodeGetVolumeStatsResponse
    | csi_pb2.ListVolumesResponse.VolumeStatus
    | csi_pb2.ControllerGetVolumeResponse.VolumeStatus,
) -> Condition | None:
    if not message.HasField("volume_condition"):
        return None
    return Condition(message.volume_condition.abnormal, message.volume_condition.message)


def snapshot_from_wire(message: csi_pb2.Snapshot) -> Snapshot:
    """Raises: BadReply."""
    if not message.snapshot_id:
        raise BadReply("the driver returned a snapshot without an id")
    nanoseconds = message.creation_time.seconds * 1_000_000_000 + message.creation_time.nanos
    try:
        created = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        raise BadReply("the driver returned a snapshot from outside of time") from None
    return Snapshot(
        snapshot_id=message.snapshot_id,
        source_volume_id=message.source_volume_id,
        created=created,
        created_nanoseconds=nanoseconds,
        ready_to_use=message.ready_to_use,
        size_bytes=message.size_bytes,
        group_snapshot_id=message.group_snapshot_id,
    )


def usage_from_wire(message: csi_pb2.VolumeUsage) -> Usage | None:
    """None for a unit that this version of the protocol does not know."""
    if int(message.unit) not in Unit.__members__.values():
        return None
    return Usage(Unit(int(message.unit)), message.total, message.available, message.used)
