"""Volume capabilities of a request: decoded, and checked against the volume."""

import hashlib
from collections.abc import Iterable
from typing import Final

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.records import AccessType, Use, VolumeRecord
from mooring.driver.refusal import INVALID, CallRefused

Mode = csi.VolumeCapability.AccessMode

DEFAULT_FS_TYPE = "ext4"
FS_TYPES = ("ext4", "xfs", "btrfs")
MAX_FLAGS_BYTES = 4096

READERS: Final = frozenset((Mode.SINGLE_NODE_READER_ONLY, Mode.MULTI_NODE_READER_ONLY))
MANY_NODES: Final = frozenset((Mode.MULTI_NODE_READER_ONLY,))
MANY_TARGETS: Final = frozenset((Mode.MULTI_NODE_READER_ONLY, Mode.SINGLE_NODE_MULTI_WRITER))
# The image is on one machine, so there are no writers on two nodes.
SUPPORTED: Final = READERS | {
    Mode.SINGLE_NODE_WRITER,
    Mode.SINGLE_NODE_SINGLE_WRITER,
    Mode.SINGLE_NODE_MULTI_WRITER,
}
# Mount flags that would mount something else than the volume.
_FORBIDDEN_FLAGS = frozenset(("bind", "rbind", "remount", "move", "loop"))


def read_use(capability: csi.VolumeCapability, *, is_read_only: bool = False) -> Use:
    """Decode one capability. Raises: CallRefused when it is invalid."""
    mode = capability.access_mode.mode
    if mode == Mode.UNKNOWN:
        raise CallRefused(INVALID, "the access mode is missing from the volume capability")
    if mode not in SUPPORTED:
        name = Mode.Mode.Name(mode) if mode in Mode.Mode.values() else str(mode)
        raise CallRefused(INVALID, f"access mode {name}: these volumes are of one machine")
    is_read_only = is_read_only or mode in READERS
    match capability.WhichOneof("access_type"):
        case "block":
            return Use(AccessType.BLOCK, mode, is_read_only=is_read_only)
        case "mount":
            fs_type = capability.mount.fs_type or DEFAULT_FS_TYPE
            if fs_type not in FS_TYPES:
                known = ", ".join(FS_TYPES)
                raise CallRefused(INVALID, f"fsType {fs_type!r} is not one of {known}")
            digest = _digest(flags_of(capability))
            return Use(AccessType.MOUNT, mode, fs_type, digest, is_read_only)
        case _:
            raise CallRefused(INVALID, "the access type is missing from the volume capability")


def flags_of(capability: csi.VolumeCapability) -> tuple[str, ...]:
    """The mount flags, which may be secret. Raises: CallRefused."""
    flags = tuple(capability.mount.mount_flags)
    if sum(len(flag.encode()) for flag in flags) > MAX_FLAGS_BYTES:
        raise CallRefused(INVALID, f"the mount flags have more than {MAX_FLAGS_BYTES} bytes")
    for flag in flags:
        for word in flag.split(","):
            if word.partition("=")[0] in _FORBIDDEN_FLAGS or word.startswith("make-"):
                raise CallRefused(
                    INVALID, f"mount flag {word.partition('=')[0]!r} is not for volumes"
                )
    return flags


def need_use(
    has_one: bool,  # noqa: FBT001  the result of HasField
    capability: csi.VolumeCapability,
    *,
    is_read_only: bool = False,
) -> Use:
    """The required capability of a request. Raises: CallRefused."""
    if not has_one:
        raise CallRefused(INVALID, "volume_capability is missing from the request")
    return read_use(capability, is_read_only=is_read_only)


def read_uses(capabilities: Iterable[csi.VolumeCapability]) -> tuple[Use, ...]:
    """The required capabilities of a request, at least one. Raises: CallRefused."""
    uses = tuple(read_use(capability) for capability in capabilities)
    if not uses:
        raise CallRefused(INVALID, "volume_capabilities are missing from the request")
    return uses


def find_mismatch(use: Use, volume: VolumeRecord) -> str:
    """Why the volume does not support this use; empty if it does."""
    if use.access_type is not volume.access_type:
        has, wanted = volume.access_type.value, use.access_type.value
        return f"{volume.id} is for access type {has}, not {wanted}"
    if use.fs_type != volume.fs_type:
        return f"{volume.id} is for {volume.fs_type}, not {use.fs_type}"
    return ""


def _digest(flags: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(flags).encode()).hexdigest() if flags else ""
