"""The GroupController service: snapshots of several volumes, all of one moment.

A group is one directory: it appears with all its snapshots, and disappears with them.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from datetime import datetime

from mooring import log
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver import answers
from mooring.driver.copying import Wanted, copy_together
from mooring.driver.core import Core, shown
from mooring.driver.identifiers import group_id_of, is_group_id, member_id_of
from mooring.driver.in_flight import contents_of
from mooring.driver.parameters import check_snapshot_parameters
from mooring.driver.records import GroupRecord, SnapshotRecord, VolumeRecord
from mooring.driver.refusal import EXISTS, INVALID, NOT_FOUND, PRECONDITION, CallRefused, need
from mooring.driver.snapshots import nanoseconds

Rpc = csi.GroupControllerServiceCapability.RPC

_log = log.get("mooring.driver.groups")


class GroupCalls:
    """RPCs on group snapshots. Each blocks, and raises CallRefused or HostError."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._groups = core.state.groups

    def GroupControllerGetCapabilities(
        self, _: csi.GroupControllerGetCapabilitiesRequest
    ) -> csi.GroupControllerGetCapabilitiesResponse:
        rpc = Rpc(type=Rpc.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT)
        return csi.GroupControllerGetCapabilitiesResponse(
            capabilities=[csi.GroupControllerServiceCapability(rpc=rpc)]
        )

    def CreateVolumeGroupSnapshot(
        self, request: csi.CreateVolumeGroupSnapshotRequest
    ) -> csi.CreateVolumeGroupSnapshotResponse:
        identifier = group_id_of(request.name)
        check_snapshot_parameters(request.parameters)
        volumes = _each_once(request.source_volume_ids, "source_volume_ids")
        with self._core.in_flight.holding(identifier, reading=[*map(contents_of, volumes)]):
            group = self._groups.find(identifier)
            if group is None:
                group = self._cut(identifier, request.name, volumes)
            elif [one.volume_id for one in group.snapshots] != volumes:
                text = f"group snapshot {request.name!r} exists, of other volumes"
                raise CallRefused(EXISTS, text)
        return csi.CreateVolumeGroupSnapshotResponse(group_snapshot=self._answer(group))

    def DeleteVolumeGroupSnapshot(
        self, request: csi.DeleteVolumeGroupSnapshotRequest
    ) -> csi.DeleteVolumeGroupSnapshotResponse:
        identifier = need(request.group_snapshot_id, "group_snapshot_id")
        if is_group_id(identifier):
            group = self._groups.find(identifier)
            members = [one.id for one in group.snapshots] if group else []
            with self._core.in_flight.holding(identifier, *members):
                group = self._groups.find(identifier)
                if group is not None:
                    _check_members(group, request.snapshot_ids)
                    self._check_unused(group)
                    self._groups.remove(identifier)
                    _log.info("group snapshot deleted", group=identifier)
                else:
                    self._groups.finish_removal(identifier)
        return csi.DeleteVolumeGroupSnapshotResponse()

    def GetVolumeGroupSnapshot(
        self, request: csi.GetVolumeGroupSnapshotRequest
    ) -> csi.GetVolumeGroupSnapshotResponse:
        identifier = need(request.group_snapshot_id, "group_snapshot_id")
        group = self._groups.find(identifier)
        if group is None:
            raise CallRefused(NOT_FOUND, f"there is no group snapshot {shown(identifier)}")
        _check_members(group, request.snapshot_ids)
        return csi.GetVolumeGroupSnapshotResponse(group_snapshot=self._answer(group))

    def _answer(self, group: GroupRecord) -> csi.VolumeGroupSnapshot:
        return answers.group(group, self._core.settings)

    def _check_unused(self, group: GroupRecord) -> None:
        for one in group.snapshots:
            if not self._core.devices.is_soon_closed(self._core.state.snapshot_image(one)):
                raise CallRefused(PRECONDITION, f"{one.id} is still in use on this node")

    def _cut(self, identifier: str, name: str, volume_ids: list[str]) -> GroupRecord:
        core = self._core
        volumes = [core.get_volume(each) for each in volume_ids]
        with ExitStack() as stack:
            needed = sum(core.images.allocated_bytes(core.image_of(volume)) for volume in volumes)
            stack.enter_context(core.room.reserved(identifier, needed))
            draft = stack.enter_context(self._groups.drafting(identifier))
            wanted = [
                Wanted(volume.id, draft / member_id_of(identifier, volume.id), volume.size_bytes)
                for volume in volumes
            ]
            copied = copy_together(core, wanted)
            pairs = zip(copied.volumes, copied.shared_bytes, strict=True)
            members = tuple(
                _member(identifier, volume, copied.moment, shared) for volume, shared in pairs
            )
            group = GroupRecord(identifier, name, nanoseconds(copied.moment), members)
            self._groups.add(group)
        _log.info("group snapshot cut", group=identifier, volumes=", ".join(volume_ids))
        return group


def _member(
    group_id: str, volume: VolumeRecord, moment: datetime, shared_bytes: int
) -> SnapshotRecord:
    identifier = member_id_of(group_id, volume.id)
    return SnapshotRecord(
        identifier,
        "",
        volume.id,
        volume.access_type,
        volume.fs_type,
        volume.size_bytes,
        nanoseconds(moment),
        volume.contents,
        shared_bytes,
        group_id,
    )


def _each_once(identifiers: Iterable[str], field: str) -> list[str]:
    """Sorted. Raises: CallRefused when there are none, or one is empty or there twice."""
    given = sorted(identifiers)
    if not given:
        raise CallRefused(INVALID, f"{field} are missing from the request")
    if not all(given) or len(set(given)) < len(given):
        raise CallRefused(INVALID, f"{field} hold an id twice, or an empty one")
    return given


def _check_members(group: GroupRecord, identifiers: Iterable[str]) -> None:
    """Raises: CallRefused when these are not the snapshots of the group."""
    given = _each_once(identifiers, "snapshot_ids")
    if given != sorted(one.id for one in group.snapshots):
        raise CallRefused(INVALID, f"snapshot_ids are not those of {group.id}")
