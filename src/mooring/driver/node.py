"""The Node service: staging, publishing and expanding volumes on this machine."""

from pathlib import Path

import msgspec

from mooring import log
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver import forgotten
from mooring.driver.backends.filesystem import Mounting, grows_mounted
from mooring.driver.capability import find_mismatch, flags_of, need_use, read_use
from mooring.driver.core import Core
from mooring.driver.identifiers import inline_id_of
from mooring.driver.inline import InlineVolumes, is_inline
from mooring.driver.publishing import (
    check_target,
    is_published,
    publish_volume,
    unpublish_volume,
)
from mooring.driver.records import (
    Formatted,
    Publication,
    Stage,
    Use,
    VolumeRecord,
)
from mooring.driver.refusal import (
    EXISTS,
    INVALID,
    NOT_FOUND,
    OUT_OF_RANGE,
    PRECONDITION,
    CallRefused,
    need,
)
from mooring.driver.room import checked_range
from mooring.driver.staging import (
    check_not_elsewhere,
    entry_at,
    is_staged,
    stage_volume,
    undo_staging,
    unstage_volume,
)
from mooring.driver.topology import of_node

Rpc = csi.NodeServiceCapability.RPC

CAPABILITIES = (
    Rpc.STAGE_UNSTAGE_VOLUME,
    Rpc.GET_VOLUME_STATS,
    Rpc.EXPAND_VOLUME,
    Rpc.VOLUME_CONDITION,
    Rpc.SINGLE_NODE_MULTI_WRITER,
    Rpc.GET_VOLUME_HEALTH,
    Rpc.GET_STORAGE_HEALTH,
)

_log = log.get("mooring.driver.node")


class NodeCalls:
    """RPCs of the node. Each blocks, and raises CallRefused or HostError."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._volumes = core.state.volumes
        self._inline = InlineVolumes(core)

    def NodeGetCapabilities(
        self, _: csi.NodeGetCapabilitiesRequest
    ) -> csi.NodeGetCapabilitiesResponse:
        return csi.NodeGetCapabilitiesResponse(
            capabilities=[
                csi.NodeServiceCapability(rpc=Rpc(type=capability)) for capability in CAPABILITIES
            ]
        )

    def NodeGetInfo(self, _: csi.NodeGetInfoRequest) -> csi.NodeGetInfoResponse:
        settings = self._core.settings
        return csi.NodeGetInfoResponse(
            node_id=settings.node_id,
            max_volumes_per_node=settings.max_volumes,
            accessible_topology=of_node(settings),
        )

    def NodeStageVolume(self, request: csi.NodeStageVolumeRequest) -> csi.NodeStageVolumeResponse:
        need(request.volume_id, "volume_id")
        path = _absolute(request.staging_target_path, "staging_target_path")
        use = need_use(request.HasField("volume_capability"), request.volume_capability)
        with self._core.in_flight.holding(request.volume_id):
            volume = self._core.get_volume(request.volume_id)
            _check_fits(use, volume)
            if not self._is_staged_so(volume, path, use):
                if volume.stage is not None:
                    if volume.stage.path != path:
                        check_not_elsewhere(self._core, volume)
                    undo_staging(self._core, volume)
                    volume = self._core.get_volume(request.volume_id)
                flags = flags_of(request.volume_capability)
                stage_volume(self._core, volume, Stage(path, use), flags)
                _log.info("volume staged", volume=volume.id, path=path)
        return csi.NodeStageVolumeResponse()

    def NodeUnstageVolume(
        self, request: csi.NodeUnstageVolumeRequest
    ) -> csi.NodeUnstageVolumeResponse:
        need(request.volume_id, "volume_id")
        path = _absolute(request.staging_target_path, "staging_target_path")
        with self._core.in_flight.holding(request.volume_id):
            volume = self._volumes.find(request.volume_id)
            if volume is None:
                forgotten.unmount(self._core, request.volume_id, Path(path))
                self._check_nothing_at(path, request.volume_id)
                forgotten.free_devices(self._core, request.volume_id)
            elif volume.stage is not None and volume.stage.path == path:
                if volume.publications:
                    text = f"{volume.id} is still published, at {volume.publications[0].target}"
                    raise CallRefused(PRECONDITION, text)
                unstage_volume(self._core, volume)
                _log.info("volume unstaged", volume=volume.id, path=path)
        return csi.NodeUnstageVolumeResponse()

    def NodePublishVolume(
        self, request: csi.NodePublishVolumeRequest
    ) -> csi.NodePublishVolumeResponse:
        need(request.volume_id, "volume_id")
        target = _absolute(request.target_path, "target_path")
        has_one = request.HasField("volume_capability")
        use = need_use(has_one, request.volume_capability, is_read_only=request.readonly)
        if is_inline(request):
            self._inline.publish(request, target, use)
            return csi.NodePublishVolumeResponse()
        if not request.staging_target_path:
            raise CallRefused(PRECONDITION, "staging_target_path is missing from the request")
        with self._core.in_flight.holding(request.volume_id):
            volume = self._core.get_volume(request.volume_id)
            _check_fits(use, volume)
            stage = volume.stage
            is_there = stage is not None and stage.path == request.staging_target_path
            if stage is None or not is_there or not is_staged(self._core, volume):
                text = f"{volume.id} is not staged at {request.staging_target_path}"
                raise CallRefused(PRECONDITION, text)
            if stage.use.is_read_only and not use.is_read_only:
                raise CallRefused(PRECONDITION, f"{volume.id} is staged for readers only")
            known = check_target(volume, target, use)
            if known is None or not is_published(self._core, volume, known):
                wanted = Publication(target, use)
                flags = flags_of(request.volume_capability)
                publish_volume(self._core, volume, stage, wanted, flags)
                _log.info("volume published", volume=volume.id, target=target)
        return csi.NodePublishVolumeResponse()

    def NodeUnpublishVolume(
        self, request: csi.NodeUnpublishVolumeRequest
    ) -> csi.NodeUnpublishVolumeResponse:
        need(request.volume_id, "volume_id")
        target = _absolute(request.target_path, "target_path")
        with self._core.in_flight.holding(request.volume_id, inline_id_of(request.volume_id)):
            volume = self._core.find_on_node(request.volume_id)
            if volume is None:
                forgotten.unmount(self._core, request.volume_id, Path(target))
                self._check_nothing_at(target, request.volume_id)
            elif volume.is_inline:
                self._inline.unpublish(volume, target)
            else:
                unpublish_volume(self._core, volume, target)
                _log.info("volume unpublished", volume=volume.id, target=target)
        return csi.NodeUnpublishVolumeResponse()

    def NodeExpandVolume(
        self, request: csi.NodeExpandVolumeRequest
    ) -> csi.NodeExpandVolumeResponse:
        need(request.volume_id, "volume_id")
        path = need(request.volume_path, "volume_path")
        with self._core.in_flight.holding(request.volume_id):
            volume = self._core.get_volume(request.volume_id)
            if request.HasField("volume_capability"):
                problem = find_mismatch(read_use(request.volume_capability), volume)
                if problem:
                    raise CallRefused(INVALID, problem)
            _check_size(volume, request.capacity_range)
            if volume.stage is None or path not in _places(volume):
                raise CallRefused(NOT_FOUND, f"{volume.id} is not at {path}")
            self._grow(volume, volume.stage)
        return csi.NodeExpandVolumeResponse(capacity_bytes=volume.size_bytes)

    def _is_staged_so(self, volume: VolumeRecord, path: str, use: Use) -> bool:
        """Raises: CallRefused when it is staged in another way."""
        stage = volume.stage
        if stage is None or not is_staged(self._core, volume):
            return False
        if stage.path != path:
            raise CallRefused(PRECONDITION, f"{volume.id} is staged already, at {stage.path}")
        if stage.use != use:
            raise CallRefused(EXISTS, f"{volume.id} is staged at {path} already, in another way")
        return True

    def _check_nothing_at(self, path: str, volume_id: str) -> None:
        """For a volume without a record: refuse to unmount what is mounted at `path`."""
        if entry_at(self._core, Path(path)) is not None:
            text = f"there is no volume {volume_id!r}, and something is mounted at {path}"
            raise CallRefused(NOT_FOUND, text)

    def _grow(self, volume: VolumeRecord, stage: Stage) -> None:
        self._core.devices.follow_size(self._core.image_of(volume))
        contents = volume.contents
        if not isinstance(contents, Formatted) or contents.size_bytes >= volume.size_bytes:
            return
        if stage.use.is_read_only:
            text = f"{volume.id} is mounted for readers only, and grows when it is staged anew"
            raise CallRefused(PRECONDITION, text)
        if not grows_mounted(contents.fs_type):
            text = (
                f"growing a mounted {contents.fs_type} takes the capability CAP_SYS_RESOURCE, "
                f"which the driver does not have; {volume.id} grows when it is staged anew"
            )
            raise CallRefused(PRECONDITION, text)
        attached_now = self._core.devices.find(self._core.image_of(volume))
        if attached_now is None:
            raise CallRefused(PRECONDITION, f"{volume.id} has lost its device")
        Mounting(self._core.mounts, attached_now, Path(stage.path), contents.fs_type).grow()
        grown = Formatted(contents.fs_type, volume.size_bytes)
        self._volumes.replace(msgspec.structs.replace(volume, contents=grown))
        _log.info("file system grown", volume=volume.id, bytes=volume.size_bytes)


def _places(volume: VolumeRecord) -> set[str]:
    places = {publication.target for publication in volume.publications}
    return places | {volume.stage.path} if volume.stage else places


def _absolute(path: str, field: str) -> str:
    if not need(path, field).startswith("/"):
        raise CallRefused(INVALID, f"{field} {path!r} is not absolute")
    return path


def _check_fits(use: Use, volume: VolumeRecord) -> None:
    if problem := find_mismatch(use, volume):
        raise CallRefused(PRECONDITION, problem)


def _check_size(volume: VolumeRecord, wanted: csi.CapacityRange) -> None:
    required, limit = checked_range(wanted)
    if required > volume.size_bytes or (limit and limit < volume.size_bytes):
        text = f"{volume.id} has {volume.size_bytes} bytes, which is not within the range"
        raise CallRefused(OUT_OF_RANGE, text)
