"""The node service: volumes made to appear on this machine."""

from mooring.csi.asked_once import AskedOnce
from mooring.csi.capability import NodeCapability, known_among
from mooring.csi.channel import BadReply, Connection, method, read_nothing
from mooring.csi.outcome import Outcome
from mooring.csi.proto import csi_pb2
from mooring.csi.requests import ExpandOnNode, NodeInfo, PublishVolume, StageVolume
from mooring.csi.topology import Topology
from mooring.csi.volume import VolumeStats
from mooring.csi.wire import (
    capability_to_wire,
    capacity_to_wire,
    condition_from_wire,
    usage_from_wire,
)

_SERVICE = csi_pb2.DESCRIPTOR.services_by_name["Node"]
_STAGE = method(
    _SERVICE, "NodeStageVolume", csi_pb2.NodeStageVolumeRequest, csi_pb2.NodeStageVolumeResponse
)
_UNSTAGE = method(
    _SERVICE,
    "NodeUnstageVolume",
    csi_pb2.NodeUnstageVolumeRequest,
    csi_pb2.NodeUnstageVolumeResponse,
)
_PUBLISH = method(
    _SERVICE,
    "NodePublishVolume",
    csi_pb2.NodePublishVolumeRequest,
    csi_pb2.NodePublishVolumeResponse,
)
_UNPUBLISH = method(
    _SERVICE,
    "NodeUnpublishVolume",
    csi_pb2.NodeUnpublishVolumeRequest,
    csi_pb2.NodeUnpublishVolumeResponse,
)
_GET_STATS = method(
    _SERVICE,
    "NodeGetVolumeStats",
    csi_pb2.NodeGetVolumeStatsRequest,
    csi_pb2.NodeGetVolumeStatsResponse,
)
_EXPAND = method(
    _SERVICE, "NodeExpandVolume", csi_pb2.NodeExpandVolumeRequest, csi_pb2.NodeExpandVolumeResponse
)
_GET_CAPABILITIES = method(
    _SERVICE,
    "NodeGetCapabilities",
    csi_pb2.NodeGetCapabilitiesRequest,
    csi_pb2.NodeGetCapabilitiesResponse,
)
_GET_INFO = method(_SERVICE, "NodeGetInfo", csi_pb2.NodeGetInfoRequest, csi_pb2.NodeGetInfoResponse)


class Node:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._capabilities = AskedOnce(connection, self._ask_capabilities)

    async def capabilities(self, *, within: float) -> Outcome[frozenset[NodeCapability]]:
        """Asked once per connection."""
        return await self._capabilities.get(within)

    async def get_info(self, *, within: float) -> Outcome[NodeInfo]:
        return await self._connection.call(
            _GET_INFO, csi_pb2.NodeGetInfoRequest, _read_info, within=within
        )

    async def stage(self, volume: StageVolume, *, within: float) -> Outcome[None]:
        """Repeated with the same words: Done again, and nothing changes."""

        def build() -> csi_pb2.NodeStageVolumeRequest:
            return csi_pb2.NodeStageVolumeRequest(
                volume_id=volume.volume_id,
                publish_context=volume.publish_context,
                staging_target_path=volume.staging_path,
                volume_capability=capability_to_wire(volume.capability),
                secrets=volume.secrets.reveal(),
                volume_context=volume.volume_context,
            )

        return await self._connection.call(
            _STAGE, build, read_nothing, within=within, secrets=volume.secrets
        )

    async def unstage(self, volume_id: str, staging_path: str, *, within: float) -> Outcome[None]:
        """Not staged counts as Done."""

        def build() -> csi_pb2.NodeUnstageVolumeRequest:
            return csi_pb2.NodeUnstageVolumeRequest(
                volume_id=volume_id, staging_target_path=staging_path
            )

        return await self._connection.call(_UNSTAGE, build, read_nothing, within=within)

    async def publish(self, volume: PublishVolume, *, within: float) -> Outcome[None]:
        """Repeated with the same words (secrets may differ): Done again, and nothing changes."""

        def build() -> csi_pb2.NodePublishVolumeRequest:
            return csi_pb2.NodePublishVolumeRequest(
                volume_id=volume.volume_id,
                publish_context=volume.publish_context,
                staging_target_path=volume.staging_path,
                target_path=volume.target_path,
                volume_capability=capability_to_wire(volume.capability),
                readonly=volume.readonly,
                secrets=volume.secrets.reveal(),
                volume_context={**volume.volume_context, **volume.secret_context.reveal()},
            )

        return await self._connection.call(
            _PUBLISH,
            build,
            read_nothing,
            within=within,
            secrets=volume.secrets.merged(volume.secret_context),
        )

    async def unpublish(self, volume_id: str, target_path: str, *, within: float) -> Outcome[None]:
        """Not published counts as Done."""

        def build() -> csi_pb2.NodeUnpublishVolumeRequest:
            return csi_pb2.NodeUnpublishVolumeRequest(volume_id=volume_id, target_path=target_path)

        return await self._connection.call(_UNPUBLISH, build, read_nothing, within=within)

    async def get_stats(
        self, volume_id: str, volume_path: str, *, staging_path: str = "", within: float
    ) -> Outcome[VolumeStats]:
        def build() -> csi_pb2.NodeGetVolumeStatsRequest:
            return csi_pb2.NodeGetVolumeStatsRequest(
                volume_id=volume_id, volume_path=volume_path, staging_target_path=staging_path
            )

        return await self._connection.call(_GET_STATS, build, _read_stats, within=within)

    async def expand(self, volume: ExpandOnNode, *, within: float) -> Outcome[int]:
        """Grow what is on the device; Done carries its bytes, or 0 if the driver does not say."""

        def build() -> csi_pb2.NodeExpandVolumeRequest:
            capability = volume.capability
            return csi_pb2.NodeExpandVolumeRequest(
                volume_id=volume.volume_id,
                volume_path=volume.volume_path,
                capacity_range=capacity_to_wire(volume.capacity),
                staging_target_path=volume.staging_path,
                volume_capability=None if capability is None else capability_to_wire(capability),
                secrets=volume.secrets.reveal(),
            )

        return await self._connection.call(
            _EXPAND, build, _read_capacity, within=within, secrets=volume.secrets
        )

    async def _ask_capabilities(self, within: float) -> Outcome[frozenset[NodeCapability]]:
        return await self._connection.call(
            _GET_CAPABILITIES,
            csi_pb2.NodeGetCapabilitiesRequest,
            _read_capabilities,
            within=within,
        )


def _read_capabilities(
    reply: csi_pb2.NodeGetCapabilitiesResponse,
) -> frozenset[NodeCapability]:
    return known_among(NodeCapability, (int(each.rpc.type) for each in reply.capabilities))


def _read_info(reply: csi_pb2.NodeGetInfoResponse) -> NodeInfo:
    if not reply.node_id:
        raise BadReply("the driver returned no node id")
    topology = None
    if reply.HasField("accessible_topology"):
        topology = Topology(dict(reply.accessible_topology.segments))
    # A negative limit is forbidden; the node agent of Kubernetes takes it as none.
    return NodeInfo(reply.node_id, max(reply.max_volumes_per_node, 0), topology)


def _read_stats(reply: csi_pb2.NodeGetVolumeStatsResponse) -> VolumeStats:
    usage = (usage_from_wire(each) for each in reply.usage)
    return VolumeStats(
        usage=tuple(known for known in usage if known is not None),
        condition=condition_from_wire(reply),
    )


def _read_capacity(reply: csi_pb2.NodeExpandVolumeResponse) -> int:
    return reply.capacity_bytes
