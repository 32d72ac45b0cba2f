"""The Node service: usage and health of a volume, and of the disk below."""

from pathlib import Path

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver import troubles
from mooring.driver.core import Core
from mooring.driver.publishing import is_published
from mooring.driver.records import AccessType, Publication, VolumeRecord
from mooring.driver.refusal import NOT_FOUND, CallRefused, need
from mooring.driver.staging import is_staged
from mooring.errors import HostError
from mooring.host import usage

Unit = csi.VolumeUsage.Unit


class HealthCalls:
    """RPCs that only read. Each blocks, and raises CallRefused or HostError."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def NodeGetVolumeStats(
        self, request: csi.NodeGetVolumeStatsRequest
    ) -> csi.NodeGetVolumeStatsResponse:
        need(request.volume_id, "volume_id")
        path = need(request.volume_path, "volume_path")
        volume = self._core.get_on_node(request.volume_id)
        if not self._is_at(volume, path):
            raise CallRefused(NOT_FOUND, f"{volume.id} is not at {path}")
        try:
            used = _usage(volume, Path(path))
        except HostError as error:  # an unreadable file system is reported as abnormal
            told = csi.VolumeCondition(abnormal=True, message=str(error))
            return csi.NodeGetVolumeStatsResponse(volume_condition=told)
        told = troubles.condition(troubles.on_node(self._core, volume))
        return csi.NodeGetVolumeStatsResponse(usage=used, volume_condition=told)

    def NodeGetVolumeHealth(
        self, request: csi.NodeGetVolumeHealthRequest
    ) -> csi.NodeGetVolumeHealthResponse:
        volume = self._core.get_on_node(request.volume_id)
        these = troubles.on_node(self._core, volume)
        return csi.NodeGetVolumeHealthResponse(
            volume_health=troubles.health(request.volume_id, these)
        )

    def NodeGetStorageHealth(
        self, _: csi.NodeGetStorageHealthRequest
    ) -> csi.NodeGetStorageHealthResponse:
        return troubles.of_storage(self._core)

    def _is_at(self, volume: VolumeRecord, path: str) -> bool:
        if volume.stage is not None and volume.stage.path == path:
            return is_staged(self._core, volume)
        published = _find(volume, path)
        return published is not None and is_published(self._core, volume, published)


def _find(volume: VolumeRecord, target: str) -> Publication | None:
    return next((one for one in volume.publications if one.target == target), None)


def _usage(volume: VolumeRecord, path: Path) -> list[csi.VolumeUsage]:
    if volume.access_type is AccessType.BLOCK:
        size = usage.of_block_device(path) if path.is_block_device() else volume.size_bytes
        return [csi.VolumeUsage(total=size, unit=Unit.BYTES)]
    told = usage.of_filesystem(path)
    return [
        csi.VolumeUsage(
            available=told.available_bytes,
            total=told.capacity_bytes,
            used=told.used_bytes,
            unit=Unit.BYTES,
        ),
        csi.VolumeUsage(
            available=told.inodes_free,
            total=told.inodes,
            used=told.inodes_used,
            unit=Unit.INODES,
        ),
    ]
