"""The group controller service: snapshots of several volumes at one moment."""

from mooring.csi.asked_once import AskedOnce
from mooring.csi.capability import GroupCapability, known_among
from mooring.csi.channel import Connection, method, read_nothing
from mooring.csi.outcome import Outcome
from mooring.csi.proto import csi_pb2
from mooring.csi.requests import CreateGroupSnapshot, GroupMembers
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.volume import GroupSnapshot
from mooring.csi.wire import group_snapshot_from_wire

_SERVICE = csi_pb2.DESCRIPTOR.services_by_name["GroupController"]
_GET_CAPABILITIES = method(
    _SERVICE,
    "GroupControllerGetCapabilities",
    csi_pb2.GroupControllerGetCapabilitiesRequest,
    csi_pb2.GroupControllerGetCapabilitiesResponse,
)
_CREATE = method(
    _SERVICE,
    "CreateVolumeGroupSnapshot",
    csi_pb2.CreateVolumeGroupSnapshotRequest,
    csi_pb2.CreateVolumeGroupSnapshotResponse,
)
_DELETE = method(
    _SERVICE,
    "DeleteVolumeGroupSnapshot",
    csi_pb2.DeleteVolumeGroupSnapshotRequest,
    csi_pb2.DeleteVolumeGroupSnapshotResponse,
)
_GET = method(
    _SERVICE,
    "GetVolumeGroupSnapshot",
    csi_pb2.GetVolumeGroupSnapshotRequest,
    csi_pb2.GetVolumeGroupSnapshotResponse,
)


class GroupSnapshots:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._capabilities = AskedOnce(connection, self._ask_capabilities)

    async def capabilities(self, *, within: float) -> Outcome[frozenset[GroupCapability]]:
        """Asked once per connection."""
        return await self._capabilities.get(within)

    async def create(self, group: CreateGroupSnapshot, *, within: float) -> Outcome[GroupSnapshot]:
        """Done, but not `ready_to_use`: it is cut; repeat the same words until it is ready."""

        def build() -> csi_pb2.CreateVolumeGroupSnapshotRequest:
            return csi_pb2.CreateVolumeGroupSnapshotRequest(
                name=group.name,
                source_volume_ids=group.source_volume_ids,
                secrets=group.secrets.reveal(),
                parameters=group.parameters,
            )

        return await self._connection.call(
            _CREATE, build, _read, within=within, secrets=group.secrets
        )

    async def delete(
        self, group: GroupMembers, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        """Its members go with it. A group that does not exist counts as Done."""

        def build() -> csi_pb2.DeleteVolumeGroupSnapshotRequest:
            return csi_pb2.DeleteVolumeGroupSnapshotRequest(
                group_snapshot_id=group.group_snapshot_id,
                snapshot_ids=group.snapshot_ids,
                secrets=secrets.reveal(),
            )

        return await self._connection.call(
            _DELETE, build, read_nothing, within=within, secrets=secrets
        )

    async def get(
        self, group: GroupMembers, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[GroupSnapshot]:
        """Refused with NOT_FOUND: there is none of that id."""

        def build() -> csi_pb2.GetVolumeGroupSnapshotRequest:
            return csi_pb2.GetVolumeGroupSnapshotRequest(
                group_snapshot_id=group.group_snapshot_id,
                snapshot_ids=group.snapshot_ids,
                secrets=secrets.reveal(),
            )

        return await self._connection.call(_GET, build, _read, within=within, secrets=secrets)

    async def _ask_capabilities(self, within: float) -> Outcome[frozenset[GroupCapability]]:
        return await self._connection.call(
            _GET_CAPABILITIES,
            csi_pb2.GroupControllerGetCapabilitiesRequest,
            _read_capabilities,
            within=within,
        )


def _read_capabilities(
    reply: csi_pb2.GroupControllerGetCapabilitiesResponse,
) -> frozenset[GroupCapability]:
    return known_among(GroupCapability, (int(each.rpc.type) for each in reply.capabilities))


def _read(
    reply: csi_pb2.CreateVolumeGroupSnapshotResponse | csi_pb2.GetVolumeGroupSnapshotResponse,
) -> GroupSnapshot:
    return group_snapshot_from_wire(reply.group_snapshot)
