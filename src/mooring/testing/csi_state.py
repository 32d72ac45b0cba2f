"""What a CSI driver keeps, without any storage: volumes, attachments, stages, publishes, snapshots.

Each RPC is a method that takes its request and returns its reply, or raises `Refuse`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mooring.csi.capability import ControllerCapability, Expansion, NodeCapability, PluginService
from mooring.csi.outcome import Code
from mooring.csi.proto import csi_pb2 as pb

C, N, P = ControllerCapability, NodeCapability, PluginService

GATES: dict[str, ControllerCapability | NodeCapability] = {
    "CreateVolume": C.CREATE_DELETE_VOLUME,
    "DeleteVolume": C.CREATE_DELETE_VOLUME,
    "ControllerPublishVolume": C.PUBLISH_UNPUBLISH_VOLUME,
    "ControllerUnpublishVolume": C.PUBLISH_UNPUBLISH_VOLUME,
    "ListVolumes": C.LIST_VOLUMES,
    "GetCapacity": C.GET_CAPACITY,
    "ControllerGetVolume": C.GET_VOLUME,
    "ControllerExpandVolume": C.EXPAND_VOLUME,
    "ControllerModifyVolume": C.MODIFY_VOLUME,
    "CreateSnapshot": C.CREATE_DELETE_SNAPSHOT,
    "DeleteSnapshot": C.CREATE_DELETE_SNAPSHOT,
    "ListSnapshots": C.LIST_SNAPSHOTS,
    "GetSnapshot": C.GET_SNAPSHOT,
    "ControllerListVolumeHealth": C.LIST_VOLUME_HEALTH,
    "ControllerGetVolumeHealth": C.GET_VOLUME_HEALTH,
    "NodeGetVolumeHealth": N.GET_VOLUME_HEALTH,
    "NodeGetStorageHealth": N.GET_STORAGE_HEALTH,
    "NodeStageVolume": N.STAGE_UNSTAGE_VOLUME,
    "NodeUnstageVolume": N.STAGE_UNSTAGE_VOLUME,
    "NodeGetVolumeStats": N.GET_VOLUME_STATS,
    "NodeExpandVolume": N.EXPAND_VOLUME,
}


class Refuse(Exception):
    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass
class CsiState:
    """All of it may be looked at and changed by a test."""

    name: str = "fake.csi.mooring.dev"
    version: str = "1.2.3"
    node_id: str = "node-1"
    max_volumes: int = 0
    topology: dict[str, str] = field(default_factory=dict)
    ready: bool | None = True
    available: int = 1 << 40
    plugin: set[PluginService] = field(
        default_factory=lambda: {P.CONTROLLER_SERVICE, P.VOLUME_ACCESSIBILITY_CONSTRAINTS}
    )
    expansion: set[Expansion] = field(default_factory=lambda: {Expansion.ONLINE})
    controller: set[ControllerCapability] = field(default_factory=lambda: set(C))
    node: set[NodeCapability] = field(default_factory=lambda: set(N))
    volumes: dict[str, pb.Volume] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # of volumes, to their ids
    attachments: dict[tuple[str, str], bool] = field(default_factory=dict)  # to readonly
    stages: dict[tuple[str, str], pb.NodeStageVolumeRequest] = field(default_factory=dict)
    publishes: dict[tuple[str, str], pb.NodePublishVolumeRequest] = field(default_factory=dict)
    snapshots: dict[str, pb.Snapshot] = field(default_factory=dict)
    snapshot_names: dict[str, str] = field(default_factory=dict)
    groups: dict[str, pb.VolumeGroupSnapshot] = field(default_factory=dict)  # by id
    parameters: dict[str, dict[str, str]] = field(default_factory=dict)  # as modified, by volume
    conditions: dict[str, str] = field(default_factory=dict)  # of volumes that are not well
    health: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    """By volume: status, reason and message of its adverse conditions, as of CSI 1.13."""
    storage_health: list[tuple[str, str, str]] = field(default_factory=list)
    blocks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Offset and size of the ranges with data, by snapshot."""
    publish_context: dict[str, str] = field(default_factory=lambda: {"device": "/dev/fake"})

    def answer(self, rpc: str, request: object) -> object:
        gate = GATES.get(rpc)
        if gate is not None and gate not in self.controller and gate not in self.node:
            raise Refuse(Code.UNIMPLEMENTED, f"{rpc} is not offered")
        return getattr(self, rpc)(request)

    # ---- identity ----

    def GetPluginInfo(self, _: pb.GetPluginInfoRequest) -> pb.GetPluginInfoResponse:
        return pb.GetPluginInfoResponse(name=self.name, vendor_version=self.version)

    def GetPluginCapabilities(
        self, _: pb.GetPluginCapabilitiesRequest
    ) -> pb.GetPluginCapabilitiesResponse:
        one = pb.PluginCapability
        services = [one(service=one.Service(type=each.name)) for each in self.plugin]
        expansions = [
            one(volume_expansion=one.VolumeExpansion(type=each.name)) for each in self.expansion
        ]
        return pb.GetPluginCapabilitiesResponse(capabilities=services + expansions)

    def Probe(self, _: pb.ProbeRequest) -> pb.ProbeResponse:
        reply = pb.ProbeResponse()
        if self.ready is not None:
            reply.ready.value = self.ready
        return reply

    # ---- controller ----

    def ControllerGetCapabilities(
        self, _: pb.ControllerGetCapabilitiesRequest
    ) -> pb.ControllerGetCapabilitiesResponse:
        one = pb.ControllerServiceCapability
        return pb.ControllerGetCapabilitiesResponse(
            capabilities=[one(rpc=one.RPC(type=each.name)) for each in self.controller]
        )

    def CreateVolume(self, request: pb.CreateVolumeRequest) -> pb.CreateVolumeResponse:
        if not request.name or not request.volume_capabilities:
            raise Refuse(Code.INVALID_ARGUMENT, "name and volume_capabilities are required")
        known = self.names.get(request.name)
        wanted = request.capacity_range
        if known is not None:
            volume = self.volumes[known]
            too_big = wanted.limit_bytes and volume.capacity_bytes > wanted.limit_bytes
            if volume.capacity_bytes < wanted.required_bytes or too_big:
                raise Refuse(Code.ALREADY_EXISTS, f"{request.name} has another size")
            return pb.CreateVolumeResponse(volume=volume)
        if wanted.required_bytes > self.available:
            raise Refuse(Code.RESOURCE_EXHAUSTED, "no room")
        volume = pb.Volume(
            volume_id=f"vol-{request.name}",
            capacity_bytes=wanted.required_bytes,
            volume_context={"made-by": self.name},
        )
        if request.HasField("volume_content_source"):
            self._need_source(request.volume_content_source)
            volume.content_source.CopyFrom(request.volume_content_source)
        if self.topology:
            volume.accessible_topology.add(segments=self.topology)
        self.names[request.name] = volume.volume_id
        self.volumes[volume.volume_id] = volume
        self.parameters[volume.volume_id] = dict(request.mutable_parameters)
        return pb.CreateVolumeResponse(volume=volume)

    def DeleteVolume(self, request: pb.DeleteVolumeRequest) -> pb.DeleteVolumeResponse:
        if not request.volume_id:
            raise Refuse(Code.INVALID_ARGUMENT, "volume_id is required")
        if any(volume == request.volume_id for volume, _ in self.attachments):
            raise Refuse(Code.FAILED_PRECONDITION, f"{request.volume_id} is in use")
        self.volumes.pop(request.volume_id, None)
        self.names = {name: id_ for name, id_ in self.names.items() if id_ != request.volume_id}
        return pb.DeleteVolumeResponse()

    def ControllerPublishVolume(
        self, request: pb.ControllerPublishVolumeRequest
    ) -> pb.ControllerPublishVolumeResponse:
        self._need_volume(request.volume_id)
        key = (request.volume_id, request.node_id)
        if self.attachments.get(key, request.readonly) != request.readonly:
            raise Refuse(Code.ALREADY_EXISTS, "published with another readonly")
        mode = pb.VolumeCapability.AccessMode.Mode.Name(request.volume_capability.access_mode.mode)
        others = [node for volume, node in self.attachments if volume == key[0] and node != key[1]]
        if others and not mode.startswith("MULTI_NODE"):
            raise Refuse(Code.FAILED_PRECONDITION, f"published to {others[0]}")
        on_node = sum(node == key[1] for _, node in self.attachments)
        if self.max_volumes and key not in self.attachments and on_node >= self.max_volumes:
            raise Refuse(Code.RESOURCE_EXHAUSTED, f"{key[1]} is full")
        self.attachments[key] = request.readonly
        return pb.ControllerPublishVolumeResponse(publish_context=self.publish_context)

    def ControllerUnpublishVolume(
        self, request: pb.ControllerUnpublishVolumeRequest
    ) -> pb.ControllerUnpublishVolumeResponse:
        self.attachments = {
            (volume, node): readonly
            for (volume, node), readonly in self.attachments.items()
            if volume != request.volume_id or (request.node_id and node != request.node_id)
        }
        return pb.ControllerUnpublishVolumeResponse()

    def ValidateVolumeCapabilities(
        self, request: pb.ValidateVolumeCapabilitiesRequest
    ) -> pb.ValidateVolumeCapabilitiesResponse:
        self._need_volume(request.volume_id)
        reply = pb.ValidateVolumeCapabilitiesResponse()
        reply.confirmed.volume_capabilities.extend(request.volume_capabilities)
        return reply

    def ListVolumes(self, request: pb.ListVolumesRequest) -> pb.ListVolumesResponse:
        start = _start(request.starting_token, len(self.volumes))
        chosen = list(self.volumes.values())[start:]
        page = chosen[: request.max_entries or len(chosen)]
        reply = pb.ListVolumesResponse()
        for volume in page:
            reply.entries.add(volume=volume).status.CopyFrom(
                pb.ListVolumesResponse.VolumeStatus(
                    published_node_ids=self._nodes_of(volume.volume_id),
                    volume_condition=self._condition(volume.volume_id),
                )
            )
        if len(page) < len(chosen):
            reply.next_token = str(start + len(page))
        return reply

    def ControllerGetVolume(
        self, request: pb.ControllerGetVolumeRequest
    ) -> pb.ControllerGetVolumeResponse:
        self._need_volume(request.volume_id)
        return pb.ControllerGetVolumeResponse(
            volume=self.volumes[request.volume_id],
            status=pb.ControllerGetVolumeResponse.VolumeStatus(
                published_node_ids=self._nodes_of(request.volume_id),
                volume_condition=self._condition(request.volume_id),
            ),
        )

    def GetCapacity(self, _: pb.GetCapacityRequest) -> pb.GetCapacityResponse:
        reply = pb.GetCapacityResponse(available_capacity=self.available)
        reply.maximum_volume_size.value = self.available
        return reply

    def ControllerExpandVolume(
        self, request: pb.ControllerExpandVolumeRequest
    ) -> pb.ControllerExpandVolumeResponse:
        self._need_volume(request.volume_id)
        volume = self.volumes[request.volume_id]
        volume.capacity_bytes = max(volume.capacity_bytes, request.capacity_range.required_bytes)
        return pb.ControllerExpandVolumeResponse(
            capacity_bytes=volume.capacity_bytes,
            node_expansion_required=N.EXPAND_VOLUME in self.node,
        )

    def ControllerModifyVolume(
        self, request: pb.ControllerModifyVolumeRequest
    ) -> pb.ControllerModifyVolumeResponse:
        self._need_volume(request.volume_id)
        self.parameters.setdefault(request.volume_id, {}).update(request.mutable_parameters)
        return pb.ControllerModifyVolumeResponse()

    def CreateSnapshot(self, request: pb.CreateSnapshotRequest) -> pb.CreateSnapshotResponse:
        self._need_volume(request.source_volume_id)
        known = self.snapshot_names.get(request.name)
        if known is None:
            known = self.snapshot_names[request.name] = f"snap-{request.name}"
            self.snapshots[known] = pb.Snapshot(
                snapshot_id=known,
                source_volume_id=request.source_volume_id,
                size_bytes=self.volumes[request.source_volume_id].capacity_bytes,
                ready_to_use=True,
            )
            self.snapshots[known].creation_time.FromJsonString("2030-01-02T03:04:05.000000006Z")
        if self.snapshots[known].source_volume_id != request.source_volume_id:
            raise Refuse(Code.ALREADY_EXISTS, f"{request.name} is of another volume")
        return pb.CreateSnapshotResponse(snapshot=self.snapshots[known])

    def DeleteSnapshot(self, request: pb.DeleteSnapshotRequest) -> pb.DeleteSnapshotResponse:
        self.snapshots.pop(request.snapshot_id, None)
        self.snapshot_names = {
            name: id_ for name, id_ in self.snapshot_names.items() if id_ != request.snapshot_id
        }
        return pb.DeleteSnapshotResponse()

    def ListSnapshots(self, request: pb.ListSnapshotsRequest) -> pb.ListSnapshotsResponse:
        matching = [
            snapshot
            for snapshot in self.snapshots.values()
            if request.snapshot_id in ("", snapshot.snapshot_id)
            and request.source_volume_id in ("", snapshot.source_volume_id)
        ]
        start = _start(request.starting_token, len(matching))
        page = matching[start:][: request.max_entries or len(matching)]
        reply = pb.ListSnapshotsResponse()
        for snapshot in page:
            reply.entries.add(snapshot=snapshot)
        if start + len(page) < len(matching):
            reply.next_token = str(start + len(page))
        return reply

    def GetSnapshot(self, request: pb.GetSnapshotRequest) -> pb.GetSnapshotResponse:
        if request.snapshot_id not in self.snapshots:
            raise Refuse(Code.NOT_FOUND, f"{request.snapshot_id} does not exist")
        return pb.GetSnapshotResponse(snapshot=self.snapshots[request.snapshot_id])

    # ---- group controller ----

    def GroupControllerGetCapabilities(
        self, _: pb.GroupControllerGetCapabilitiesRequest
    ) -> pb.GroupControllerGetCapabilitiesResponse:
        one = pb.GroupControllerServiceCapability
        able = one(rpc=one.RPC(type="CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT"))
        return pb.GroupControllerGetCapabilitiesResponse(capabilities=[able])

    def CreateVolumeGroupSnapshot(
        self, request: pb.CreateVolumeGroupSnapshotRequest
    ) -> pb.CreateVolumeGroupSnapshotResponse:
        group_id = f"group-{request.name}"
        if group_id not in self.groups:
            made = pb.VolumeGroupSnapshot(group_snapshot_id=group_id, ready_to_use=True)
            made.creation_time.FromJsonString("2030-01-02T03:04:05.000000006Z")
            for number, volume in enumerate(request.source_volume_ids):
                cut = pb.CreateSnapshotRequest(name=f"{request.name}-{number}")
                cut.source_volume_id = volume
                member = self.CreateSnapshot(cut).snapshot
                member.group_snapshot_id = group_id
                made.snapshots.append(member)
            self.groups[group_id] = made
        return pb.CreateVolumeGroupSnapshotResponse(group_snapshot=self.groups[group_id])

    def DeleteVolumeGroupSnapshot(
        self, request: pb.DeleteVolumeGroupSnapshotRequest
    ) -> pb.DeleteVolumeGroupSnapshotResponse:
        gone = self.groups.pop(request.group_snapshot_id, None)
        for member in gone.snapshots if gone else ():
            self.DeleteSnapshot(pb.DeleteSnapshotRequest(snapshot_id=member.snapshot_id))
        return pb.DeleteVolumeGroupSnapshotResponse()

    def GetVolumeGroupSnapshot(
        self, request: pb.GetVolumeGroupSnapshotRequest
    ) -> pb.GetVolumeGroupSnapshotResponse:
        if request.group_snapshot_id not in self.groups:
            raise Refuse(Code.NOT_FOUND, f"{request.group_snapshot_id} does not exist")
        return pb.GetVolumeGroupSnapshotResponse(
            group_snapshot=self.groups[request.group_snapshot_id]
        )

    def ControllerListVolumeHealth(
        self, request: pb.ControllerListVolumeHealthRequest
    ) -> pb.ControllerListVolumeHealthResponse:
        ailing = sorted(self.health)
        start = _start(request.starting_token, len(ailing))
        page = ailing[start:][: request.max_entries or len(ailing)]
        end = start + len(page)
        return pb.ControllerListVolumeHealthResponse(
            entries=[self._health(each) for each in page],
            next_token=str(end) if end < len(ailing) else "",
        )

    def ControllerGetVolumeHealth(
        self, request: pb.ControllerGetVolumeHealthRequest
    ) -> pb.ControllerGetVolumeHealthResponse:
        self._need_volume(request.volume_id)
        return pb.ControllerGetVolumeHealthResponse(volume_health=self._health(request.volume_id))

    # ---- snapshot metadata ----

    def GetMetadataAllocated(
        self, request: pb.GetMetadataAllocatedRequest
    ) -> pb.GetMetadataAllocatedResponse:
        return pb.GetMetadataAllocatedResponse(
            block_metadata_type="VARIABLE_LENGTH",
            volume_capacity_bytes=1 << 30,
            block_metadata=self._blocks(request.snapshot_id, request.starting_offset),
        )

    def GetMetadataDelta(self, request: pb.GetMetadataDeltaRequest) -> pb.GetMetadataDeltaResponse:
        base = self.blocks.get(request.base_snapshot_id, [])
        changed = self._blocks(request.target_snapshot_id, request.starting_offset)
        return pb.GetMetadataDeltaResponse(
            block_metadata_type="VARIABLE_LENGTH",
            volume_capacity_bytes=1 << 30,
            block_metadata=[
                each for each in changed if (each.byte_offset, each.size_bytes) not in base
            ],
        )

    # ---- node ----

    def NodeGetVolumeHealth(
        self, request: pb.NodeGetVolumeHealthRequest
    ) -> pb.NodeGetVolumeHealthResponse:
        return pb.NodeGetVolumeHealthResponse(volume_health=self._health(request.volume_id))

    def NodeGetStorageHealth(
        self, _: pb.NodeGetStorageHealthRequest
    ) -> pb.NodeGetStorageHealthResponse:
        one = pb.NodeGetStorageHealthResponse.StorageBackendHealth
        return pb.NodeGetStorageHealthResponse(
            backend_health=[
                one(status=status, reason=reason, message=message)
                for status, reason, message in self.storage_health
            ]
        )

    def NodeGetCapabilities(
        self, _: pb.NodeGetCapabilitiesRequest
    ) -> pb.NodeGetCapabilitiesResponse:
        one = pb.NodeServiceCapability
        return pb.NodeGetCapabilitiesResponse(
            capabilities=[one(rpc=one.RPC(type=each.name)) for each in self.node]
        )

    def NodeGetInfo(self, _: pb.NodeGetInfoRequest) -> pb.NodeGetInfoResponse:
        reply = pb.NodeGetInfoResponse(node_id=self.node_id, max_volumes_per_node=self.max_volumes)
        if self.topology:
            reply.accessible_topology.segments.update(self.topology)
        return reply

    def NodeStageVolume(self, request: pb.NodeStageVolumeRequest) -> pb.NodeStageVolumeResponse:
        self.stages[request.volume_id, request.staging_target_path] = request
        return pb.NodeStageVolumeResponse()

    def NodeUnstageVolume(
        self, request: pb.NodeUnstageVolumeRequest
    ) -> pb.NodeUnstageVolumeResponse:
        self.stages.pop((request.volume_id, request.staging_target_path), None)
        return pb.NodeUnstageVolumeResponse()

    def NodePublishVolume(
        self, request: pb.NodePublishVolumeRequest
    ) -> pb.NodePublishVolumeResponse:
        if N.STAGE_UNSTAGE_VOLUME in self.node and not request.staging_target_path:
            inline = request.volume_context.get("csi.storage.k8s.io/ephemeral") == "true"
            if not inline:
                raise Refuse(Code.FAILED_PRECONDITION, "staging_target_path is required")
        self.publishes[request.volume_id, request.target_path] = request
        target = Path(request.target_path)
        if target.parent.is_dir():  # the caller's part; without it there is nothing to show
            if request.volume_capability.HasField("block"):
                target.touch()
            else:
                target.mkdir(exist_ok=True)
        return pb.NodePublishVolumeResponse()

    def NodeUnpublishVolume(
        self, request: pb.NodeUnpublishVolumeRequest
    ) -> pb.NodeUnpublishVolumeResponse:
        self.publishes.pop((request.volume_id, request.target_path), None)
        target = Path(request.target_path)
        if target.is_dir():
            target.rmdir()
        else:
            target.unlink(missing_ok=True)
        return pb.NodeUnpublishVolumeResponse()

    def NodeGetVolumeStats(
        self, request: pb.NodeGetVolumeStatsRequest
    ) -> pb.NodeGetVolumeStatsResponse:
        if (request.volume_id, request.volume_path) not in self.publishes:
            raise Refuse(Code.NOT_FOUND, f"{request.volume_id} is not at {request.volume_path}")
        usage = pb.VolumeUsage
        return pb.NodeGetVolumeStatsResponse(
            usage=[
                usage(total=1000, used=400, available=600, unit=usage.BYTES),
                usage(total=10, used=4, available=6, unit=usage.INODES),
            ],
            volume_condition=self._condition(request.volume_id),
        )

    def NodeExpandVolume(self, request: pb.NodeExpandVolumeRequest) -> pb.NodeExpandVolumeResponse:
        return pb.NodeExpandVolumeResponse(capacity_bytes=request.capacity_range.required_bytes)

    # ---- what they share ----

    def _need_volume(self, volume_id: str) -> None:
        if not volume_id:
            raise Refuse(Code.INVALID_ARGUMENT, "volume_id is required")
        if volume_id not in self.volumes:
            raise Refuse(Code.NOT_FOUND, f"{volume_id} does not exist")

    def _need_source(self, source: pb.VolumeContentSource) -> None:
        if source.HasField("volume"):
            self._need_volume(source.volume.volume_id)
        elif source.snapshot.snapshot_id not in self.snapshots:
            raise Refuse(Code.NOT_FOUND, f"{source.snapshot.snapshot_id} does not exist")

    def _nodes_of(self, volume_id: str) -> Iterator[str]:
        return (node for volume, node in self.attachments if volume == volume_id)

    def _health(self, volume_id: str) -> pb.VolumeHealth:
        one = pb.VolumeHealth.VolumeHealthEntry
        return pb.VolumeHealth(
            volume_id=volume_id,
            health_statuses=[
                one(status=status, reason=reason, message=message)
                for status, reason, message in self.health.get(volume_id, [])
            ],
        )

    def _blocks(self, snapshot_id: str, starting_offset: int) -> list[pb.BlockMetadata]:
        return [
            pb.BlockMetadata(byte_offset=offset, size_bytes=size)
            for offset, size in self.blocks.get(snapshot_id, [])
            if offset + size > starting_offset
        ]

    def _condition(self, volume_id: str) -> pb.VolumeCondition:
        trouble = self.conditions.get(volume_id, "")
        return pb.VolumeCondition(abnormal=bool(trouble), message=trouble or "all is well")


def _start(token: str, count: int) -> int:
    if not token:
        return 0
    if not token.isdigit() or int(token) > count:
        raise Refuse(Code.ABORTED, f"{token} is no starting_token")
    return int(token)
