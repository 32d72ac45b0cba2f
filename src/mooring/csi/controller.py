"""The controller service: volumes made, attached, grown, changed and listed."""

from collections.abc import Mapping

from mooring.csi.asked_once import AskedOnce
from mooring.csi.capability import ControllerCapability, VolumeCapability, known_among
from mooring.csi.channel import BadReply, Connection, method, read_nothing
from mooring.csi.outcome import Outcome
from mooring.csi.pages import Page, every_page
from mooring.csi.proto import csi_pb2
from mooring.csi.requests import (
    AttachVolume,
    Capacity,
    CreateVolume,
    Expanded,
    ExpandVolume,
    ValidateVolume,
    Validation,
)
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.topology import Topology
from mooring.csi.volume import Volume, VolumeState
from mooring.csi.wire import (
    capability_from_wire,
    capability_to_wire,
    capacity_to_wire,
    requirement_to_wire,
    source_to_wire,
    state_from_wire,
    topology_to_wire,
    volume_from_wire,
)

_SERVICE = csi_pb2.DESCRIPTOR.services_by_name["Controller"]
_CREATE = method(
    _SERVICE, "CreateVolume", csi_pb2.CreateVolumeRequest, csi_pb2.CreateVolumeResponse
)
_DELETE = method(
    _SERVICE, "DeleteVolume", csi_pb2.DeleteVolumeRequest, csi_pb2.DeleteVolumeResponse
)
_PUBLISH = method(
    _SERVICE,
    "ControllerPublishVolume",
    csi_pb2.ControllerPublishVolumeRequest,
    csi_pb2.ControllerPublishVolumeResponse,
)
_UNPUBLISH = method(
    _SERVICE,
    "ControllerUnpublishVolume",
    csi_pb2.ControllerUnpublishVolumeRequest,
    csi_pb2.ControllerUnpublishVolumeResponse,
)
_VALIDATE = method(
    _SERVICE,
    "ValidateVolumeCapabilities",
    csi_pb2.ValidateVolumeCapabilitiesRequest,
    csi_pb2.ValidateVolumeCapabilitiesResponse,
)
_LIST = method(_SERVICE, "ListVolumes", csi_pb2.ListVolumesRequest, csi_pb2.ListVolumesResponse)
_GET_CAPACITY = method(
    _SERVICE, "GetCapacity", csi_pb2.GetCapacityRequest, csi_pb2.GetCapacityResponse
)
_GET_CAPABILITIES = method(
    _SERVICE,
    "ControllerGetCapabilities",
    csi_pb2.ControllerGetCapabilitiesRequest,
    csi_pb2.ControllerGetCapabilitiesResponse,
)
_GET = method(
    _SERVICE,
    "ControllerGetVolume",
    csi_pb2.ControllerGetVolumeRequest,
    csi_pb2.ControllerGetVolumeResponse,
)
_EXPAND = method(
    _SERVICE,
    "ControllerExpandVolume",
    csi_pb2.ControllerExpandVolumeRequest,
    csi_pb2.ControllerExpandVolumeResponse,
)
_MODIFY = method(
    _SERVICE,
    "ControllerModifyVolume",
    csi_pb2.ControllerModifyVolumeRequest,
    csi_pb2.ControllerModifyVolumeResponse,
)


class Controller:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._capabilities = AskedOnce(connection, self._ask_capabilities)

    async def capabilities(self, *, within: float) -> Outcome[frozenset[ControllerCapability]]:
        """Asked once per connection."""
        return await self._capabilities.get(within)

    async def create(self, volume: CreateVolume, *, within: float) -> Outcome[Volume]:
        """Repeated with the same words: Done with the same volume."""

        def build() -> csi_pb2.CreateVolumeRequest:
            return csi_pb2.CreateVolumeRequest(
                name=volume.name,
                capacity_range=capacity_to_wire(volume.capacity),
                volume_capabilities=[capability_to_wire(each) for each in volume.capabilities],
                parameters=volume.parameters,
                secrets=volume.secrets.reveal(),
                volume_content_source=source_to_wire(volume.source),
                accessibility_requirements=requirement_to_wire(volume.topology),
                mutable_parameters=volume.mutable_parameters,
            )

        return await self._connection.call(
            _CREATE, build, _read_created, within=within, secrets=volume.secrets
        )

    async def delete(
        self, volume_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        """A volume that does not exist counts as Done."""

        def build() -> csi_pb2.DeleteVolumeRequest:
            return csi_pb2.DeleteVolumeRequest(volume_id=volume_id, secrets=secrets.reveal())

        return await self._connection.call(
            _DELETE, build, read_nothing, within=within, secrets=secrets
        )

    async def attach(self, volume: AttachVolume, *, within: float) -> Outcome[Mapping[str, str]]:
        """ControllerPublishVolume; Done carries the publish context, also when repeated."""

        def build() -> csi_pb2.ControllerPublishVolumeRequest:
            return csi_pb2.ControllerPublishVolumeRequest(
                volume_id=volume.volume_id,
                node_id=volume.node_id,
                volume_capability=capability_to_wire(volume.capability),
                readonly=volume.readonly,
                secrets=volume.secrets.reveal(),
                volume_context=volume.volume_context,
            )

        return await self._connection.call(
            _PUBLISH, build, _read_publish_context, within=within, secrets=volume.secrets
        )

    async def detach(
        self, volume_id: str, node_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        """ControllerUnpublishVolume. Not attached counts as Done.

        Raises: ValueError without a node, which on the wire would mean every node.
        """
        if not node_id:
            raise ValueError("detach needs the id of a node")

        def build() -> csi_pb2.ControllerUnpublishVolumeRequest:
            return csi_pb2.ControllerUnpublishVolumeRequest(
                volume_id=volume_id, node_id=node_id, secrets=secrets.reveal()
            )

        return await self._connection.call(
            _UNPUBLISH, build, read_nothing, within=within, secrets=secrets
        )

    async def validate(self, volume: ValidateVolume, *, within: float) -> Outcome[Validation]:
        def build() -> csi_pb2.ValidateVolumeCapabilitiesRequest:
            return csi_pb2.ValidateVolumeCapabilitiesRequest(
                volume_id=volume.volume_id,
                volume_context=volume.volume_context,
                volume_capabilities=[capability_to_wire(each) for each in volume.capabilities],
                parameters=volume.parameters,
                secrets=volume.secrets.reveal(),
                mutable_parameters=volume.mutable_parameters,
            )

        def read(reply: csi_pb2.ValidateVolumeCapabilitiesResponse) -> Validation:
            """A driver older than a field does not see it: only what it repeats is confirmed."""
            told = {capability_from_wire(each) for each in reply.confirmed.volume_capabilities}
            confirmed = reply.HasField("confirmed") and told.issuperset(volume.capabilities)
            return Validation(confirmed, volume.secrets.mask(reply.message))

        return await self._connection.call(
            _VALIDATE, build, read, within=within, secrets=volume.secrets
        )

    async def list_page(
        self, starting_token: str = "", *, max_entries: int = 0, within: float
    ) -> Outcome[Page[VolumeState]]:
        """Refused with ABORTED: the token is of no use any more, start from the beginning."""

        def build() -> csi_pb2.ListVolumesRequest:
            return csi_pb2.ListVolumesRequest(
                max_entries=max_entries, starting_token=starting_token
            )

        return await self._connection.call(_LIST, build, _read_page, within=within)

    async def list_all(self, *, within: float) -> Outcome[tuple[VolumeState, ...]]:
        """Every page; `within` seconds for each. Volumes may come and go while it is listed."""
        return await every_page(lambda token: self.list_page(token, within=within))

    async def get_capacity(
        self,
        *,
        capabilities: tuple[VolumeCapability, ...] = (),
        parameters: Mapping[str, str] | None = None,
        topology: Topology | None = None,
        within: float,
    ) -> Outcome[Capacity]:
        def build() -> csi_pb2.GetCapacityRequest:
            return csi_pb2.GetCapacityRequest(
                volume_capabilities=[capability_to_wire(each) for each in capabilities],
                parameters=parameters,
                accessible_topology=topology_to_wire(topology),
            )

        return await self._connection.call(_GET_CAPACITY, build, _read_capacity, within=within)

    async def get(self, volume_id: str, *, within: float) -> Outcome[VolumeState]:
        def build() -> csi_pb2.ControllerGetVolumeRequest:
            return csi_pb2.ControllerGetVolumeRequest(volume_id=volume_id)

        return await self._connection.call(_GET, build, state_from_wire, within=within)

    async def expand(self, volume: ExpandVolume, *, within: float) -> Outcome[Expanded]:
        """Already that big or bigger: Done with the real size."""

        def build() -> csi_pb2.ControllerExpandVolumeRequest:
            capability = volume.capability
            return csi_pb2.ControllerExpandVolumeRequest(
                volume_id=volume.volume_id,
                capacity_range=capacity_to_wire(volume.capacity),
                secrets=volume.secrets.reveal(),
                volume_capability=None if capability is None else capability_to_wire(capability),
            )

        return await self._connection.call(
            _EXPAND, build, _read_expanded, within=within, secrets=volume.secrets
        )

    async def modify(
        self,
        volume_id: str,
        mutable_parameters: Mapping[str, str],
        secrets: Secrets = NO_SECRETS,
        *,
        within: float,
    ) -> Outcome[None]:
        """Keys that are not named stay as they are."""

        def build() -> csi_pb2.ControllerModifyVolumeRequest:
            return csi_pb2.ControllerModifyVolumeRequest(
                volume_id=volume_id,
                secrets=secrets.reveal(),
                mutable_parameters=mutable_parameters,
            )

        return await self._connection.call(
            _MODIFY, build, read_nothing, within=within, secrets=secrets
        )

    async def _ask_capabilities(self, within: float) -> Outcome[frozenset[ControllerCapability]]:
        return await self._connection.call(
            _GET_CAPABILITIES,
            csi_pb2.ControllerGetCapabilitiesRequest,
            _read_capabilities,
            within=within,
        )


def _read_capabilities(
    reply: csi_pb2.ControllerGetCapabilitiesResponse,
) -> frozenset[ControllerCapability]:
    return known_among(ControllerCapability, (int(each.rpc.type) for each in reply.capabilities))


def _read_created(reply: csi_pb2.CreateVolumeResponse) -> Volume:
    return volume_from_wire(reply.volume)


def _read_publish_context(reply: csi_pb2.ControllerPublishVolumeResponse) -> Mapping[str, str]:
    return dict(reply.publish_context)


def _read_page(reply: csi_pb2.ListVolumesResponse) -> Page[VolumeState]:
    return Page(tuple(state_from_wire(each) for each in reply.entries), reply.next_token)


def _read_capacity(reply: csi_pb2.GetCapacityResponse) -> Capacity:
    if reply.available_capacity < 0:
        raise BadReply(f"the driver has {reply.available_capacity} bytes available")
    return Capacity(
        available_bytes=reply.available_capacity,
        maximum_volume_bytes=(
            reply.maximum_volume_size.value if reply.HasField("maximum_volume_size") else None
        ),
        minimum_volume_bytes=(
            reply.minimum_volume_size.value if reply.HasField("minimum_volume_size") else None
        ),
    )


def _read_expanded(reply: csi_pb2.ControllerExpandVolumeResponse) -> Expanded:
    return Expanded(reply.capacity_bytes, reply.node_expansion_required)
