"""What the driver remembers, one small file each: volumes with who uses them, and snapshots."""

from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias

import msgspec


class AccessType(Enum):
    MOUNT = "mount"
    BLOCK = "block"


class Blank(msgspec.Struct, frozen=True, tag="blank"):
    """Zeros that nobody was ever given: may be formatted."""


class Formatting(msgspec.Struct, frozen=True, tag="formatting"):
    """mkfs was started and has not ended. Nobody was given this either: may be started anew."""

    fs_type: str


class Formatted(msgspec.Struct, frozen=True, tag="formatted"):
    """A file system, which somebody may have written to; never formatted again."""

    fs_type: str
    size_bytes: int  # of the device when the file system was last made to fill it


class Raw(msgspec.Struct, frozen=True, tag="raw"):
    """Whatever a user wrote to the device; never formatted."""


Contents: TypeAlias = Blank | Formatting | Formatted | Raw


class CopiedFrom(msgspec.Struct, frozen=True):
    """What a volume was copied from; one of the two is set."""

    snapshot_id: str = ""
    volume_id: str = ""


class Use(msgspec.Struct, frozen=True):
    """How a volume is attached, staged or published."""

    access_type: AccessType
    mode: int  # the number of the access mode on the wire
    fs_type: str = ""
    flags_digest: str = ""  # of the mount flags, which may be secret
    is_read_only: bool = False


class Attachment(msgspec.Struct, frozen=True):
    node_id: str
    use: Use


class Stage(msgspec.Struct, frozen=True):
    path: str
    use: Use
    is_done: bool = False  # it was told that it is staged


class Publication(msgspec.Struct, frozen=True):
    target: str
    use: Use


class VolumeRecord(msgspec.Struct, frozen=True):
    """A volume. `is_frozen`: a snapshot is being cut, and its file system may be standing still."""

    id: str
    name: str
    access_type: AccessType
    fs_type: str  # of a mounted volume
    size_bytes: int
    parameters: Mapping[str, str]
    source: CopiedFrom | None
    contents: Contents
    is_allocated: bool = False  # it has all its blocks, and gets them when it grows
    shared_bytes: int = 0  # of others' blocks; room for its own copy of them is kept
    is_frozen: bool = False
    attachments: tuple[Attachment, ...] = ()
    stage: Stage | None = None
    publications: tuple[Publication, ...] = ()


class SnapshotRecord(msgspec.Struct, frozen=True):
    id: str
    name: str
    volume_id: str
    access_type: AccessType
    fs_type: str
    size_bytes: int
    created_ns: int  # since 1970
    contents: Contents
    shared_bytes: int = 0


Record: TypeAlias = VolumeRecord | SnapshotRecord
