"""Making what is on a volume as large on this node as the volume has become."""

from mooring.csi.capability import (
    Block,
    Mount,
    NodeCapability,
    VolumeCapability,
    first_mode,
    writers_of,
)
from mooring.csi.outcome import Code, Done, Refused
from mooring.csi.outcome import Uncertain as Lost
from mooring.csi.requests import ExpandOnNode
from mooring.csi.volume import CapacityRange
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume_source import CsiSource
from mooring.plugins.contract import (
    GrowthRequest,
    Infeasible,
    NotSupported,
    StillInUse,
    Uncertain,
    VolumeError,
)
from mooring.plugins.csi.services import Services
from mooring.plugins.csi.source import persistent

INFEASIBLE = (Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE, Code.NOT_FOUND)


async def grow(services: Services, request: GrowthRequest) -> bool:
    """Raises: as `NodeExpandable.grow_on_node`."""
    source = persistent(request.use)
    node, budget = services.node(source.driver, "Expander.NodeExpand failed"), services.budget()
    asked = "Expander.NodeExpand failed to check if node supports expansion "
    capabilities = await services.capabilities(node, budget, asked)
    if NodeCapability.EXPAND_VOLUME not in capabilities:
        raise NotSupported(f"NodeExpand is not supported by the CSI driver {source.driver}")
    secrets = await services.secrets(source.node_expand_secret_ref, "NodeExpandSecretRef")
    paths, volume_path = services.paths, str(request.mount_path)
    staging = paths.staging(source.driver, source.volume_handle)
    if request.use.mode is VolumeMode.BLOCK:
        volume_path, staging = request.device, paths.block_staging(request.use.name)
    wanted = ExpandOnNode(
        volume_id=source.volume_handle,
        volume_path=volume_path,
        capacity=CapacityRange(required_bytes=request.new_bytes),
        staging_path=str(staging),
        capability=_capability(request, source, capabilities),
        secrets=secrets,
    )
    failed = "Expander.NodeExpand failed to expand the volume"
    match await node.expand(wanted, within=budget.left):
        case Done():
            return True
        case Refused(Code.FAILED_PRECONDITION) as refused:
            raise StillInUse(f"{failed} : {refused.text}")
        case Refused(code) as refused if code in INFEASIBLE:
            raise Infeasible(f"{failed} {refused.text}")
        case Refused() as refused:
            raise VolumeError(f"{failed} : {refused.text}")
        case Lost() as lost:
            raise Uncertain(f"{failed} : {lost.text}")


def _capability(
    request: GrowthRequest, source: CsiSource, capabilities: frozenset[NodeCapability]
) -> VolumeCapability:
    use = request.use
    mode = first_mode(use.access_modes, writers_of(capabilities))
    if use.mode is VolumeMode.BLOCK:
        return VolumeCapability(Block(), mode)
    flags = () if use.volume is None else use.volume.spec.mount_options
    return VolumeCapability(Mount(source.fs_type, flags), mode)
