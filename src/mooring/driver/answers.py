"""Volumes and snapshots as CSI messages."""

from google.protobuf.timestamp_pb2 import Timestamp

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.records import GroupRecord, SnapshotRecord, VolumeRecord
from mooring.driver.settings import DriverSettings
from mooring.driver.topology import of_node


def volume(record: VolumeRecord, settings: DriverSettings) -> csi.Volume:
    source = None
    if record.source and record.source.snapshot_id:
        snapshot = csi.VolumeContentSource.SnapshotSource(snapshot_id=record.source.snapshot_id)
        source = csi.VolumeContentSource(snapshot=snapshot)
    elif record.source:
        copied = csi.VolumeContentSource.VolumeSource(volume_id=record.source.volume_id)
        source = csi.VolumeContentSource(volume=copied)
    return csi.Volume(
        capacity_bytes=record.size_bytes,
        volume_id=record.id,
        content_source=source,
        accessible_topology=[of_node(settings)],
    )


def snapshot(record: SnapshotRecord, settings: DriverSettings) -> csi.Snapshot:
    return csi.Snapshot(
        size_bytes=record.size_bytes,
        snapshot_id=record.id,
        source_volume_id=record.volume_id,
        creation_time=_timestamp(record.created_ns),
        ready_to_use=True,
        group_snapshot_id=record.group_id,
        accessible_topology=[of_node(settings)],
    )


def group(record: GroupRecord, settings: DriverSettings) -> csi.VolumeGroupSnapshot:
    return csi.VolumeGroupSnapshot(
        group_snapshot_id=record.id,
        snapshots=[snapshot(one, settings) for one in record.snapshots],
        creation_time=_timestamp(record.created_ns),
        ready_to_use=True,
    )


def _timestamp(nanoseconds: int) -> Timestamp:
    seconds, nanos = divmod(nanoseconds, 1_000_000_000)
    return Timestamp(seconds=seconds, nanos=nanos)
