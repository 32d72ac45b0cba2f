"""What is wrong with a volume or with the disk below it, judged by the real files."""

from enum import Enum
from pathlib import Path

import msgspec

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.core import Core
from mooring.driver.records import AccessType, VolumeRecord
from mooring.driver.staging import entry_at, is_staged
from mooring.errors import HostError

FINE = "the volume is in order"
SYSFS_EXT4 = Path("/sys/fs/ext4")


class Harm(Enum):
    """The words of CSI 1.13."""

    DEGRADED = csi.DEGRADED
    INACCESSIBLE = csi.INACCESSIBLE
    DATA_LOSS = csi.DATA_LOSS


class Trouble(msgspec.Struct, frozen=True):
    harm: Harm
    reason: str  # CamelCase
    message: str


def of_volume(core: Core, volume: VolumeRecord) -> tuple[Trouble, ...]:
    """Seen from the controller: of the image, and of the disk that holds it."""
    path = core.image_of(volume)
    try:
        size = core.images.size_bytes(path)
    except FileNotFoundError:
        return (Trouble(Harm.DATA_LOSS, "ImageMissing", "its image is missing"),)
    except OSError as error:
        return (Trouble(Harm.INACCESSIBLE, "ImageUnreachable", f"its image: {error.strerror}"),)
    found: list[Trouble] = []
    if size < volume.size_bytes:
        text = f"its image has {size} bytes of {volume.size_bytes}"
        found.append(Trouble(Harm.DATA_LOSS, "ImageTruncated", text))
    if problem := core.images.find_read_error(path):
        found.append(Trouble(Harm.DATA_LOSS, "ReadError", f"its image cannot be read: {problem}"))
    if text := core.backend.space.full():
        found.append(Trouble(Harm.DEGRADED, "PoolFull", text))
    return tuple(found)


def on_node(core: Core, volume: VolumeRecord) -> tuple[Trouble, ...]:
    """Also of its device and its mount. Raises: HostError."""
    found = of_volume(core, volume)
    stage = volume.stage
    if stage is None or not stage.is_done:
        return found
    if not is_staged(core, volume):
        text = f"it is not at {stage.path} any more, where it was staged"
        return (*found, Trouble(Harm.INACCESSIBLE, "NotStaged", text))
    if volume.access_type is AccessType.BLOCK or stage.use.is_read_only:
        return found
    entry = entry_at(core, Path(stage.path))
    if entry is not None and "ro" in entry.super_options:
        text = "its file system found an error, and is read-only since"
        found = (*found, Trouble(Harm.DEGRADED, "FileSystemReadOnly", text))
    elif errors := _ext4_errors(core, volume):
        text = f"its file system has found {errors} errors"
        found = (*found, Trouble(Harm.DEGRADED, "FileSystemErrors", text))
    return found


def of_storage(core: Core) -> csi.NodeGetStorageHealthResponse:
    """What is wrong with the disk of all images."""
    one = csi.NodeGetStorageHealthResponse.StorageBackendHealth
    try:
        text = core.backend.space.full()
        if not text:
            return csi.NodeGetStorageHealthResponse()
        told = one(status=csi.STORAGE_DEGRADED, reason="PoolFull", message=text)
    except HostError as error:
        told = one(status=csi.STORAGE_UNREACHABLE, reason="PoolUnreachable", message=str(error))
    return csi.NodeGetStorageHealthResponse(backend_health=[told])


def condition(troubles: tuple[Trouble, ...]) -> csi.VolumeCondition:
    """As CSI up to 1.12 has it."""
    message = "; ".join(each.message for each in troubles)
    return csi.VolumeCondition(abnormal=bool(troubles), message=message or FINE)


def health(volume_id: str, troubles: tuple[Trouble, ...]) -> csi.VolumeHealth:
    one = csi.VolumeHealth.VolumeHealthEntry
    return csi.VolumeHealth(
        volume_id=volume_id,
        health_statuses=[
            one(status=each.harm.value, reason=each.reason, message=each.message)
            for each in troubles
        ],
    )


def _ext4_errors(core: Core, volume: VolumeRecord) -> int:
    attached = core.devices.find(core.image_of(volume)) if volume.fs_type == "ext4" else None
    if attached is None:
        return 0
    try:
        return int((SYSFS_EXT4 / attached.name / "errors_count").read_text())
    except (OSError, ValueError):
        return 0
