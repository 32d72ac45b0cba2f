"""Usage of a volume, from NodeGetVolumeStats."""

from pathlib import Path

from mooring.csi import volume as csi
from mooring.csi.capability import NodeCapability
from mooring.csi.outcome import Done
from mooring.csi.volume import Unit, VolumeStats
from mooring.plugins.contract import Usage, VolumeError
from mooring.plugins.csi.services import Services


async def measure(services: Services, driver: str, handle: str, path: Path) -> Usage | None:
    """None when the driver does not report usage. Raises: VolumeError."""
    node, budget = services.node(driver, "failed to get CSI client"), services.budget()
    told = "failed to check whether GET_VOLUME_STATS is set"
    if NodeCapability.GET_VOLUME_STATS not in await services.capabilities(node, budget, told):
        return None
    answer = await node.get_stats(handle, str(path), within=budget.left)
    if not isinstance(answer, Done):
        raise VolumeError(answer.text)
    return _usage(answer.value)


def _usage(stats: VolumeStats) -> Usage:
    nothing = csi.Usage(Unit.BYTES, 0)
    size, inodes = stats.find(Unit.BYTES), stats.find(Unit.INODES)
    space, files = size or nothing, inodes or nothing
    return Usage(
        used=space.used if size else None,
        capacity=space.total if size else None,
        available=space.available if size else None,
        inodes=files.total if inodes else None,
        inodes_used=files.used if inodes else None,
        inodes_free=files.available if inodes else None,
    )
