"""Inline ephemeral volumes: made when a pod is given them, deleted when they are taken from it.

Such a volume is staged by the driver itself, in a directory of its settings. Only
NodeUnpublishVolume deletes it: after a crash or a reboot the same pod finds its files again.
"""

from pathlib import Path

from mooring import log
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.capability import flags_of
from mooring.driver.core import Core
from mooring.driver.identifiers import inline_id_of
from mooring.driver.parameters import is_allocated, limits_of, volume_parameters
from mooring.driver.publishing import check_target, is_published, publish_volume, unpublish_volume
from mooring.driver.records import AccessType, Blank, Publication, Stage, Use, VolumeRecord
from mooring.driver.refusal import INVALID, CallRefused
from mooring.driver.removing import remove_volume
from mooring.driver.room import choose_size
from mooring.driver.settings import KUBERNETES_PREFIX
from mooring.driver.staging import is_staged, stage_volume, undo_staging, unstage_volume
from mooring.driver.state import DIRECTORY_MODE
from mooring.host.refusal import refusals
from mooring.model.quantity import parse

EPHEMERAL = f"{KUBERNETES_PREFIX}ephemeral"
SIZE = "size"

_log = log.get("mooring.driver.inline")


def is_inline(request: csi.NodePublishVolumeRequest) -> bool:
    return request.volume_context.get(EPHEMERAL) == "true"


class InlineVolumes:
    """Both block, and raise CallRefused or HostError."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def publish(self, request: csi.NodePublishVolumeRequest, target: str, use: Use) -> None:
        """Make the volume if it is missing, and publish it. Repeated: changes nothing."""
        if use.access_type is AccessType.BLOCK:
            raise CallRefused(INVALID, "an inline volume has a file system, it is no device")
        core = self._core
        identifier = inline_id_of(request.volume_id)
        with core.in_flight.holding(identifier):
            volume = core.state.volumes.find(identifier) or self._make(identifier, request, use)
            stage = Stage(str(_staging_path(core, identifier)), _writable(use))
            flags = flags_of(request.volume_capability)
            if not is_staged(core, volume):
                if volume.stage is not None:
                    undo_staging(core, volume)
                    volume = core.get_volume(identifier)
                with refusals(f"make {stage.path}"):
                    Path(stage.path).mkdir(DIRECTORY_MODE, parents=True, exist_ok=True)
                stage_volume(core, volume, stage, flags)
                volume = core.get_volume(identifier)
            known = check_target(volume, target, use)
            if known is None or not is_published(core, volume, known):
                publish_volume(core, volume, stage, Publication(target, use), flags)
                _log.info("inline volume published", volume=identifier, target=target)

    def unpublish(self, volume: VolumeRecord, target: str) -> None:
        """Unpublish the volume, and delete it with its last target. The caller holds it."""
        core = self._core
        unpublish_volume(core, volume, target)
        volume = core.get_volume(volume.id)
        if volume.publications:
            return
        if volume.stage is not None:
            unstage_volume(core, volume)
            volume = core.get_volume(volume.id)
        place = _staging_path(core, volume.id)
        if place.exists():
            with refusals(f"remove {place}"):
                place.rmdir()
        remove_volume(core, volume)

    def _make(
        self, identifier: str, request: csi.NodePublishVolumeRequest, use: Use
    ) -> VolumeRecord:
        context = dict(request.volume_context)
        asked = csi.CapacityRange(required_bytes=_size(context.pop(SIZE, "")))
        parameters = volume_parameters(context, pool=self._core.settings.pool)
        grain = self._core.room.grain_bytes
        size = choose_size(asked, use.access_type, use.fs_type, 0, grain)
        volume = VolumeRecord(
            identifier,
            request.volume_id,
            use.access_type,
            use.fs_type,
            size,
            parameters,
            None,
            Blank(),
            is_allocated(parameters),
            limits=limits_of(parameters),
            is_inline=True,
        )
        volumes = self._core.state.volumes
        with self._core.room.reserved(identifier, size), volumes.making(identifier) as path:
            self._core.images.create(path, size)
            if volume.is_allocated:
                self._core.images.allocate(path)
            volumes.add(volume)
        _log.info("inline volume made", volume=identifier, bytes=size)
        return volume


def _staging_path(core: Core, identifier: str) -> Path:
    return (core.settings.inline_dir or core.state.root / "inline") / identifier


def _writable(use: Use) -> Use:
    """Staged for writing: the file system has to be made, and the target may still be read-only."""
    return Use(use.access_type, use.mode, use.fs_type, use.flags_digest)


def _size(text: str) -> int:
    if not text:
        return 0
    try:
        size = parse(text).bytes_ceil()
    except ValueError as error:
        raise CallRefused(INVALID, f"attribute {SIZE} is {text!r}: {error}") from error
    if size <= 0:
        raise CallRefused(INVALID, f"attribute {SIZE} is {text!r}, and must be more than 0")
    return size
