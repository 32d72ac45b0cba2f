"""The Identity service: the driver's name, capabilities and readiness."""

from mooring.csi.asked_once import AskedOnce
from mooring.csi.capability import Expansion, PluginService, known_among
from mooring.csi.channel import BadReply, Connection, method
from mooring.csi.outcome import Outcome
from mooring.csi.proto import csi_pb2
from mooring.csi.requests import DriverInfo, PluginCapabilities

_SERVICE = csi_pb2.DESCRIPTOR.services_by_name["Identity"]
_GET_INFO = method(
    _SERVICE, "GetPluginInfo", csi_pb2.GetPluginInfoRequest, csi_pb2.GetPluginInfoResponse
)
_GET_CAPABILITIES = method(
    _SERVICE,
    "GetPluginCapabilities",
    csi_pb2.GetPluginCapabilitiesRequest,
    csi_pb2.GetPluginCapabilitiesResponse,
)
_PROBE = method(_SERVICE, "Probe", csi_pb2.ProbeRequest, csi_pb2.ProbeResponse)


class Identity:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._capabilities = AskedOnce(connection, self._ask_capabilities)

    async def get_info(self, *, within: float) -> Outcome[DriverInfo]:
        return await self._connection.call(
            _GET_INFO, csi_pb2.GetPluginInfoRequest, _read_info, within=within
        )

    async def capabilities(self, *, within: float) -> Outcome[PluginCapabilities]:
        """Asked once per connection."""
        return await self._capabilities.get(within)

    async def probe(self, *, within: float) -> Outcome[bool]:
        """Whether the driver is ready; Done(False): alive, but still starting."""
        return await self._connection.call(
            _PROBE, csi_pb2.ProbeRequest, _read_readiness, within=within
        )

    async def _ask_capabilities(self, within: float) -> Outcome[PluginCapabilities]:
        return await self._connection.call(
            _GET_CAPABILITIES,
            csi_pb2.GetPluginCapabilitiesRequest,
            _read_capabilities,
            within=within,
        )


def _read_info(reply: csi_pb2.GetPluginInfoResponse) -> DriverInfo:
    if not reply.name:
        raise BadReply("driver name is empty")
    return DriverInfo(reply.name, reply.vendor_version, dict(reply.manifest))


def _read_capabilities(reply: csi_pb2.GetPluginCapabilitiesResponse) -> PluginCapabilities:
    told = reply.capabilities
    return PluginCapabilities(
        services=known_among(PluginService, (int(each.service.type) for each in told)),
        expansion=known_among(Expansion, (int(each.volume_expansion.type) for each in told)),
    )


def _read_readiness(reply: csi_pb2.ProbeResponse) -> bool:
    return reply.ready.value if reply.HasField("ready") else True
