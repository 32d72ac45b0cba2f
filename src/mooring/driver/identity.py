"""The Identity service: the driver's name, version and capabilities."""

from google.protobuf.wrappers_pb2 import BoolValue

from mooring import __version__
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.core import Core

Service = csi.PluginCapability.Service
Expansion = csi.PluginCapability.VolumeExpansion

_METADATA = Service.SNAPSHOT_METADATA_SERVICE
SERVICES = (
    Service.CONTROLLER_SERVICE,
    Service.VOLUME_ACCESSIBILITY_CONSTRAINTS,
    Service.GROUP_CONTROLLER_SERVICE,
    _METADATA,
    Service.SNAPSHOT_ACCESSIBILITY_CONSTRAINTS,
)


class IdentityCalls:
    def __init__(self, core: Core) -> None:
        self._core = core

    def GetPluginInfo(self, _: csi.GetPluginInfoRequest) -> csi.GetPluginInfoResponse:
        name = self._core.settings.own_name
        return csi.GetPluginInfoResponse(name=name, vendor_version=__version__)

    def GetPluginCapabilities(
        self, _: csi.GetPluginCapabilitiesRequest
    ) -> csi.GetPluginCapabilitiesResponse:
        return csi.GetPluginCapabilitiesResponse(
            capabilities=[
                *(
                    csi.PluginCapability(service=Service(type=service))
                    for service in self._services()
                ),
                csi.PluginCapability(volume_expansion=Expansion(type=Expansion.ONLINE)),
                csi.PluginCapability(volume_expansion=Expansion(type=Expansion.OFFLINE)),
            ]
        )

    def _services(self) -> list[csi.PluginCapability.Service.Type]:
        without = set() if self._core.backend.tells_changed_blocks else {_METADATA}
        return [service for service in SERVICES if service not in without]

    def Probe(self, _: csi.ProbeRequest) -> csi.ProbeResponse:
        return csi.ProbeResponse(ready=BoolValue(value=True))
