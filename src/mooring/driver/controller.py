"""The Controller service: creating, deleting, attaching and expanding volumes."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mooring import log
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver import answers
from mooring.driver.capability import (
    MANY_NODES,
    find_mismatch,
    need_use,
    read_use,
    read_uses,
)
from mooring.driver.copying import Wanted, copy_volume
from mooring.driver.core import Core, shown
from mooring.driver.identifiers import is_volume_id, volume_id_of
from mooring.driver.in_flight import contents_of
from mooring.driver.limiting import apply_limits
from mooring.driver.parameters import PROVISIONING, is_allocated, limits_of, volume_parameters
from mooring.driver.records import (
    AccessType,
    Attachment,
    Blank,
    Contents,
    CopiedFrom,
    Formatted,
    Raw,
    Use,
    VolumeRecord,
)
from mooring.driver.refusal import (
    EXHAUSTED,
    EXISTS,
    INVALID,
    NOT_FOUND,
    OUT_OF_RANGE,
    PRECONDITION,
    CallRefused,
    need,
)
from mooring.driver.removing import remove_volume
from mooring.driver.room import checked_range, choose_size, is_within
from mooring.driver.topology import check_reachable

_log = log.get("mooring.driver.controller")


class Origin(msgspec.Struct, frozen=True):
    """The source of a copied volume: its bytes and its records."""

    source: CopiedFrom
    image: Path
    size_bytes: int
    contents: Contents


class VolumeCalls:
    """RPCs on volumes. Each blocks, and raises CallRefused or HostError."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._volumes = core.state.volumes

    def CreateVolume(self, request: csi.CreateVolumeRequest) -> csi.CreateVolumeResponse:
        identifier = volume_id_of(request.name)
        uses = read_uses(request.volume_capabilities)
        parameters = self._parameters(request.parameters, request.mutable_parameters)
        check_reachable(request.accessibility_requirements, self._core.settings)
        source = _source_of(request)
        wanted = VolumeRecord(
            identifier,
            request.name,
            *_one_kind(uses),
            0,
            parameters,
            source,
            Blank(),
            is_allocated(parameters),
            limits=limits_of(parameters),
        )
        with self._core.in_flight.holding(identifier, reading=_read_from(source)):
            volume = self._volumes.find(identifier)
            if volume is None:
                volume = self._make(wanted, request.capacity_range)
            else:
                _check_same(volume, wanted, request.capacity_range)
            answer = answers.volume(volume, self._core.settings)
            return csi.CreateVolumeResponse(volume=answer)

    def DeleteVolume(self, request: csi.DeleteVolumeRequest) -> csi.DeleteVolumeResponse:
        if is_volume_id(need(request.volume_id, "volume_id")):
            with self._core.in_flight.holding(request.volume_id):
                volume = self._volumes.find(request.volume_id)
                if volume is not None:
                    self._delete(volume)
                else:
                    self._volumes.finish_removal(request.volume_id)
        return csi.DeleteVolumeResponse()

    def ControllerPublishVolume(
        self, request: csi.ControllerPublishVolumeRequest
    ) -> csi.ControllerPublishVolumeResponse:
        need(request.volume_id, "volume_id")
        need(request.node_id, "node_id")
        has_one = request.HasField("volume_capability")
        use = need_use(has_one, request.volume_capability, is_read_only=request.readonly)
        with self._core.in_flight.holding(request.volume_id):
            volume = self._core.get_volume(request.volume_id)
            attachment = Attachment(request.node_id, use)
            if _is_attached(volume, attachment):
                return csi.ControllerPublishVolumeResponse()
            if request.node_id != self._core.settings.node_id:
                raise CallRefused(NOT_FOUND, f"there is no node {shown(request.node_id)}")
            if problem := find_mismatch(use, volume):
                raise CallRefused(INVALID, problem)
            self._check_limit(request.node_id)
            attachments = (*volume.attachments, attachment)
            self._volumes.replace(msgspec.structs.replace(volume, attachments=attachments))
        _log.info("volume attached", volume=volume.id, node=request.node_id)
        return csi.ControllerPublishVolumeResponse()

    def ControllerUnpublishVolume(
        self, request: csi.ControllerUnpublishVolumeRequest
    ) -> csi.ControllerUnpublishVolumeResponse:
        need(request.volume_id, "volume_id")
        with self._core.in_flight.holding(request.volume_id):
            volume = self._volumes.find(request.volume_id)
            if volume is not None:
                kept = tuple(
                    attachment
                    for attachment in volume.attachments
                    if request.node_id and attachment.node_id != request.node_id
                )
                if kept != volume.attachments:
                    self._volumes.replace(msgspec.structs.replace(volume, attachments=kept))
                    _log.info("volume detached", volume=volume.id, node=request.node_id)
        return csi.ControllerUnpublishVolumeResponse()

    def ValidateVolumeCapabilities(
        self, request: csi.ValidateVolumeCapabilitiesRequest
    ) -> csi.ValidateVolumeCapabilitiesResponse:
        need(request.volume_id, "volume_id")
        if not request.volume_capabilities:
            raise CallRefused(INVALID, "volume_capabilities are missing from the request")
        volume = self._core.get_volume(request.volume_id)
        try:
            uses = read_uses(request.volume_capabilities)
            problem = next(filter(None, (find_mismatch(use, volume) for use in uses)), "")
            given = self._parameters(request.parameters, request.mutable_parameters)
            is_same = is_allocated(given, now=volume.is_allocated) == volume.is_allocated
            if not is_same or limits_of(given, volume.limits) != volume.limits:
                problem = problem or f"{volume.id} has other parameters"
        except CallRefused as refused:
            problem = refused.message
        if problem:
            return csi.ValidateVolumeCapabilitiesResponse(message=problem)
        return csi.ValidateVolumeCapabilitiesResponse(
            confirmed=csi.ValidateVolumeCapabilitiesResponse.Confirmed(
                volume_context=request.volume_context,
                volume_capabilities=request.volume_capabilities,
                parameters=request.parameters,
                mutable_parameters=request.mutable_parameters,
            )
        )

    def ControllerModifyVolume(
        self, request: csi.ControllerModifyVolumeRequest
    ) -> csi.ControllerModifyVolumeResponse:
        need(request.volume_id, "volume_id")
        parameters = self._parameters(request.mutable_parameters)
        with self._core.in_flight.holding(request.volume_id):
            volume = self._core.get_volume(request.volume_id)
            if not parameters:
                raise CallRefused(INVALID, "mutable_parameters are missing from the request")
            wanted = msgspec.structs.replace(
                volume,
                is_allocated=is_allocated(parameters, now=volume.is_allocated),
                limits=limits_of(parameters, volume.limits),
            )
            if wanted.is_allocated and PROVISIONING in parameters:
                self._core.images.allocate(self._core.image_of(volume))
            if wanted != volume:
                self._volumes.replace(wanted)
                _log.info("volume modified", volume=volume.id, **parameters)
            apply_limits(self._core, wanted)
        return csi.ControllerModifyVolumeResponse()

    def ControllerExpandVolume(
        self, request: csi.ControllerExpandVolumeRequest
    ) -> csi.ControllerExpandVolumeResponse:
        need(request.volume_id, "volume_id")
        if not request.HasField("capacity_range"):
            raise CallRefused(INVALID, "capacity_range is missing from the request")
        with self._core.in_flight.holding(request.volume_id):
            volume = self._core.get_volume(request.volume_id)
            if request.HasField("volume_capability") and (
                problem := find_mismatch(read_use(request.volume_capability), volume)
            ):
                raise CallRefused(INVALID, problem)
            volume = self._grow(volume, request.capacity_range)
        return csi.ControllerExpandVolumeResponse(
            capacity_bytes=volume.size_bytes,
            node_expansion_required=volume.access_type is AccessType.MOUNT,
        )

    def _parameters(
        self, given: Mapping[str, str], mutable: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        return volume_parameters(given, mutable, self._core.settings.pool)

    def _make(self, wanted: VolumeRecord, asked: csi.CapacityRange) -> VolumeRecord:
        origin = self._origin(wanted.source)
        least = origin.size_bytes if origin else 0
        grain = self._core.room.grain_bytes
        size = choose_size(asked, wanted.access_type, wanted.fs_type, least, grain)
        _contents(wanted, origin)  # refused before it is copied
        with (
            self._core.room.reserved(wanted.id, size),
            self._volumes.making(wanted.id) as path,
        ):
            shared_bytes, origin = self._fill(path, origin, size)
            if origin is not None and wanted.fs_type == "btrfs":
                self._core.images.give_own_identity(path)
            if wanted.is_allocated:
                self._core.images.allocate(path)
            volume = msgspec.structs.replace(
                wanted,
                size_bytes=size,
                contents=_contents(wanted, origin),
                shared_bytes=shared_bytes,
            )
            self._volumes.add(volume)
        _log.info("volume made", volume=volume.id, name=volume.name, bytes=size)
        return volume

    def _fill(self, path: Path, origin: Origin | None, size: int) -> tuple[int, Origin | None]:
        """Create the image; returns how many of its bytes are shared with the origin, and the
        origin as it was copied: it may have been formatted meanwhile.
        """
        if origin is None:
            self._core.images.create(path, size)
            return 0, None
        if not origin.source.volume_id:
            return self._core.images.copy(origin.image, path, size), origin
        copied = copy_volume(self._core, Wanted(origin.source.volume_id, path, size))
        (volume,) = copied.volumes
        return copied.shared_bytes[0], msgspec.structs.replace(origin, contents=volume.contents)

    def _origin(self, source: CopiedFrom | None) -> Origin | None:
        if source is None:
            return None
        if source.snapshot_id:
            snapshot = self._core.get_snapshot(source.snapshot_id)
            path = self._core.state.snapshot_image(snapshot)
            return Origin(source, path, snapshot.size_bytes, snapshot.contents)
        volume = self._core.get_volume(source.volume_id)
        path = self._core.image_of(volume)
        return Origin(source, path, volume.size_bytes, volume.contents)

    def _delete(self, volume: VolumeRecord) -> None:
        if volume.attachments:
            nodes = ", ".join(attachment.node_id for attachment in volume.attachments)
            raise CallRefused(PRECONDITION, f"{volume.id} is attached to {nodes}")
        if volume.stage or volume.publications:
            raise CallRefused(PRECONDITION, f"{volume.id} is staged on this node")
        remove_volume(self._core, volume)

    def _check_limit(self, node_id: str) -> None:
        limit = self._core.settings.max_volumes
        if limit and limit <= sum(
            attachment.node_id == node_id
            for volume in self._volumes.all()
            for attachment in volume.attachments
        ):
            text = f"node {node_id} has {limit} volumes attached, which is its limit"
            raise CallRefused(EXHAUSTED, text)

    def _grow(self, volume: VolumeRecord, asked: csi.CapacityRange) -> VolumeRecord:
        required, limit = checked_range(asked)
        path = self._core.image_of(volume)
        if required <= volume.size_bytes:
            if limit and limit < volume.size_bytes:
                text = f"{volume.id} has {volume.size_bytes} bytes, and cannot get smaller"
                raise CallRefused(OUT_OF_RANGE, text)
        else:
            grain = self._core.room.grain_bytes
            size = choose_size(asked, volume.access_type, volume.fs_type, 0, grain)
            with (
                self._core.in_flight.holding(contents_of(volume.id)),
                self._core.room.reserved(volume.id, size - volume.size_bytes),
            ):
                self._core.images.grow(path, size)
                if volume.is_allocated:
                    self._core.images.allocate(path)
                volume = self._volumes.replace(msgspec.structs.replace(volume, size_bytes=size))
            _log.info("volume grown", volume=volume.id, bytes=size)
        self._core.devices.follow_size(path)  # also after an interrupted call
        return volume


def _read_from(source: CopiedFrom | None) -> list[str]:
    """What must neither be deleted nor grown while it is copied."""
    if source is None:
        return []
    return [source.snapshot_id or contents_of(source.volume_id)]


def _source_of(request: csi.CreateVolumeRequest) -> CopiedFrom | None:
    if not request.HasField("volume_content_source"):
        return None
    source = request.volume_content_source
    match source.WhichOneof("type"):
        case "snapshot":
            return CopiedFrom(snapshot_id=need(source.snapshot.snapshot_id, "snapshot_id"))
        case "volume":
            return CopiedFrom(volume_id=need(source.volume.volume_id, "volume_id"))
        case _:
            raise CallRefused(INVALID, "volume_content_source is neither a snapshot nor a volume")


def _one_kind(uses: tuple[Use, ...]) -> tuple[AccessType, str]:
    """The access type and file system that all of them share. Raises: CallRefused."""
    kinds = {(use.access_type, use.fs_type) for use in uses}
    if len(kinds) > 1:
        text = "a volume is either a block device or has one file system; the capabilities differ"
        raise CallRefused(INVALID, text)
    return kinds.pop()


def _contents(wanted: VolumeRecord, origin: Origin | None) -> Contents:
    """The contents of a new volume. Raises: CallRefused when the origin's do not fit."""
    if origin is None:
        return Raw() if wanted.access_type is AccessType.BLOCK else Blank()
    match origin.contents:
        case Formatted(fs_type) if wanted.access_type is AccessType.MOUNT:
            if fs_type != wanted.fs_type:
                text = f"the source holds {fs_type}, and the volume shall have {wanted.fs_type}"
                raise CallRefused(INVALID, text)
        case _:
            pass
    return Raw() if wanted.access_type is AccessType.BLOCK else origin.contents


def _check_same(volume: VolumeRecord, wanted: VolumeRecord, asked: csi.CapacityRange) -> None:
    """Raises: CallRefused when the existing volume of this name differs from the request."""
    for field in ("name", "access_type", "fs_type", "parameters", "source"):
        has, wants = getattr(volume, field), getattr(wanted, field)
        if has != wants:
            text = f"volume {volume.name!r} exists, with another {field.replace('_', ' ')}"
            raise CallRefused(EXISTS, text)
    if not is_within(volume.size_bytes, asked):
        text = f"volume {volume.name!r} exists, with {volume.size_bytes} bytes"
        raise CallRefused(EXISTS, text)


def _is_attached(volume: VolumeRecord, wanted: Attachment) -> bool:
    """Whether this attachment exists. Raises: CallRefused when another one conflicts with it."""
    for attachment in volume.attachments:
        if attachment.node_id == wanted.node_id:
            if attachment.use == wanted.use:
                return True
            text = f"{volume.id} is attached to {wanted.node_id} already, in another way"
            raise CallRefused(EXISTS, text)
        if not {attachment.use.mode, wanted.use.mode} <= MANY_NODES:
            text = f"{volume.id} is attached to another node: {attachment.node_id}"
            raise CallRefused(PRECONDITION, text)
    return False
