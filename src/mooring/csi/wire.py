"""Values to and from the messages of the protocol."""

from datetime import UTC, datetime, timedelta

from mooring.csi.capability import Block, Mount, VolumeCapability, WireMode
from mooring.csi.channel import BadReply
from mooring.csi.proto import csi_pb2
from mooring.csi.topology import Topology, TopologyRequirement
from mooring.csi.volume import (
    CapacityRange,
    Condition,
    ContentSource,
    FromSnapshot,
    FromVolume,
    GroupSnapshot,
    Snapshot,
    Unit,
    Usage,
    Volume,
    VolumeState,
)

_TIME_BITS = 63  # nanoseconds in a VolumeSnapshotContent: from 1677 to 2262
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def capability_to_wire(capability: VolumeCapability) -> csi_pb2.VolumeCapability:
    mode = csi_pb2.VolumeCapability.AccessMode(mode=capability.mode.name)
    match capability.access:
        case Block():
            return csi_pb2.VolumeCapability(
                block=csi_pb2.VolumeCapability.BlockVolume(), access_mode=mode
            )
        case Mount(fs_type, flags, group):
            return csi_pb2.VolumeCapability(
                mount=csi_pb2.VolumeCapability.MountVolume(
                    fs_type=fs_type, mount_flags=flags, volume_mount_group=group
                ),
                access_mode=mode,
            )


def capability_from_wire(message: csi_pb2.VolumeCapability) -> VolumeCapability | None:
    """None for a capability unknown to this version of CSI: such an entry confirms nothing."""
    number = int(message.access_mode.mode)
    if message.WhichOneof("access_type") is None or number not in WireMode.__members__.values():
        return None
    access: Mount | Block = Block()
    if message.HasField("mount"):
        mount = message.mount
        access = Mount(mount.fs_type, tuple(mount.mount_flags), mount.volume_mount_group)
    return VolumeCapability(access, WireMode(number))


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
    if message.size_bytes < 0:
        raise BadReply(f"the driver returned a snapshot of {message.size_bytes} bytes")
    created, nanoseconds = _time_from_wire(message)
    return Snapshot(
        snapshot_id=message.snapshot_id,
        source_volume_id=message.source_volume_id,
        created=created,
        created_nanoseconds=nanoseconds,
        ready_to_use=message.ready_to_use,
        size_bytes=message.size_bytes,
        group_snapshot_id=message.group_snapshot_id,
        topologies=tuple(Topology(dict(each.segments)) for each in message.accessible_topology),
    )


def group_snapshot_from_wire(message: csi_pb2.VolumeGroupSnapshot) -> GroupSnapshot:
    """Raises: BadReply."""
    if not message.group_snapshot_id:
        raise BadReply("the driver returned a group snapshot without an id")
    created, nanoseconds = _time_from_wire(message)
    return GroupSnapshot(
        group_snapshot_id=message.group_snapshot_id,
        snapshots=tuple(snapshot_from_wire(each) for each in message.snapshots),
        created=created,
        created_nanoseconds=nanoseconds,
        ready_to_use=message.ready_to_use,
    )


def _time_from_wire(
    message: csi_pb2.Snapshot | csi_pb2.VolumeGroupSnapshot,
) -> tuple[datetime, int]:
    """Raises: BadReply."""
    nanoseconds = message.creation_time.seconds * 1_000_000_000 + message.creation_time.nanos
    if nanoseconds.bit_length() > _TIME_BITS:
        raise BadReply("the driver returned a snapshot from outside of time")
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000), nanoseconds


def usage_from_wire(message: csi_pb2.VolumeUsage) -> Usage | None:
    """None for a unit that this version of the protocol does not know."""
    if int(message.unit) not in Unit.__members__.values():
        return None
    return Usage(Unit(int(message.unit)), message.total, message.available, message.used)
