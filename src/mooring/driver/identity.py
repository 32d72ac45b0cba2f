"""The Identity service: the driver's name, version and capabilities."""

from google.protobuf.wrappers_pb2 import BoolValue

from mooring import __version__
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.settings import NAME

Service = csi.PluginCapability.Service
Expansion = csi.PluginCapability.VolumeExpansion

SERVICES = (
    Service.CONTROLLER_SERVICE,
    Service.VOLUME_ACCESSIBILITY_CONSTRAINTS,
    Service.GROUP_CONTROLLER_SERVICE,
    Service.SNAPSHOT_METADATA_SERVICE,
    Service.SNAPSHOT_ACCESSIBILITY_CONSTRAINTS,
)


class IdentityCalls:
    def GetPluginInfo(self, _: csi.GetPluginInfoRequest) -> csi.GetPluginInfoResponse:
        return csi.GetPluginInfoResponse(name=NAME, vendor_version=__version__)

    def GetPluginCapabilities(
        self, _: csi.GetPluginCapabilitiesRequest
    ) -> csi.GetPluginCapabilitiesResponse:
        return csi.GetPluginCapabilitiesResponse(
            capabilities=[
                *(csi.PluginCapability(service=Service(type=service)) for service in SERVICES),
                csi.PluginCapability(volume_expansion=Expansion(type=Expansion.ONLINE)),
                csi.PluginCapability(volume_expansion=Expansion(type=Expansion.OFFLINE)),
            ]
        )

    def Probe(self, _: csi.ProbeRequest) -> csi.ProbeResponse:
        return csi.ProbeResponse(ready=BoolValue(value=True))
