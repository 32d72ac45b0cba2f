"""The Controller service: snapshots. Each is an image of its own, and outlives its volume."""

from datetime import datetime

from mooring import log
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver import answers
from mooring.driver.copying import Wanted, copy_volume
from mooring.driver.core import Core
from mooring.driver.identifiers import is_snapshot_id, snapshot_id_of
from mooring.driver.in_flight import contents_of
from mooring.driver.parameters import check_snapshot_parameters
from mooring.driver.records import SnapshotRecord
from mooring.driver.refusal import EXISTS, INVALID, PRECONDITION, CallRefused, need
from mooring.driver.topology import check_reachable

_log = log.get("mooring.driver.snapshots")


class SnapshotCalls:
    """RPCs on snapshots. Each blocks, and raises CallRefused or HostError."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._snapshots = core.state.snapshots

    def CreateSnapshot(self, request: csi.CreateSnapshotRequest) -> csi.CreateSnapshotResponse:
        identifier = snapshot_id_of(request.name)
        volume_id = need(request.source_volume_id, "source_volume_id")
        check_snapshot_parameters(request.parameters)
        check_reachable(request.accessibility_requirements, self._core.settings)
        with self._core.in_flight.holding(identifier, reading=[contents_of(volume_id)]):
            snapshot = self._snapshots.find(identifier)
            if snapshot is None:
                snapshot = self._cut(identifier, request.name, volume_id)
            elif snapshot.volume_id != volume_id:
                text = f"snapshot {request.name!r} exists, of volume {snapshot.volume_id}"
                raise CallRefused(EXISTS, text)
        return csi.CreateSnapshotResponse(snapshot=self._answer(snapshot))

    def DeleteSnapshot(self, request: csi.DeleteSnapshotRequest) -> csi.DeleteSnapshotResponse:
        identifier = need(request.snapshot_id, "snapshot_id")
        if is_snapshot_id(identifier):
            with self._core.in_flight.holding(identifier):
                found = self._core.state.find_snapshot(identifier)
                if found is None:
                    self._snapshots.finish_removal(identifier)
                else:
                    if found.group_id:
                        text = f"{identifier} is part of {found.group_id}, and goes with it"
                        raise CallRefused(INVALID, text)
                    if not self._core.devices.is_soon_closed(self._snapshots.image(identifier)):
                        raise CallRefused(
                            PRECONDITION, f"{identifier} is still in use on this node"
                        )
                    self._snapshots.remove(identifier)
                    _log.info("snapshot deleted", snapshot=identifier)
        return csi.DeleteSnapshotResponse()

    def GetSnapshot(self, request: csi.GetSnapshotRequest) -> csi.GetSnapshotResponse:
        snapshot = self._core.get_snapshot(request.snapshot_id)
        return csi.GetSnapshotResponse(snapshot=self._answer(snapshot))

    def _answer(self, snapshot: SnapshotRecord) -> csi.Snapshot:
        return answers.snapshot(snapshot, self._core.settings)

    def _cut(self, identifier: str, name: str, volume_id: str) -> SnapshotRecord:
        volume = self._core.get_volume(volume_id)
        source = self._core.image_of(volume)
        with (
            self._core.room.reserved(identifier, self._core.images.allocated_bytes(source)),
            self._snapshots.making(identifier) as path,
        ):
            copied = copy_volume(self._core, Wanted(volume.id, path, volume.size_bytes))
            volume = copied.volumes[0]
            snapshot = SnapshotRecord(
                identifier,
                name,
                volume.id,
                volume.access_type,
                volume.fs_type,
                volume.size_bytes,
                nanoseconds(copied.moment),
                volume.contents,
                copied.shared_bytes[0],
            )
            self._snapshots.add(snapshot)
        shared = snapshot.shared_bytes
        _log.info("snapshot cut", snapshot=identifier, volume=volume.id, shared=shared)
        return snapshot


def nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1000
