"""The driver's records, one small file each: volumes with their attachments, snapshots, groups."""

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias

import msgspec


class AccessType(Enum):
    MOUNT = "mount"
    BLOCK = "block"


class Blank(msgspec.Struct, frozen=True, tag="blank"):
    """Zeros that were never staged: may be formatted."""


class Formatting(msgspec.Struct, frozen=True, tag="formatting"):
    """mkfs was started and has not ended. Never staged either: may be formatted again."""

    fs_type: str


class Formatted(msgspec.Struct, frozen=True, tag="formatted"):
    """A file system, which may hold a user's data; never formatted again."""

    fs_type: str
    size_bytes: int  # of the device when the file system was last made or grown


class Raw(msgspec.Struct, frozen=True, tag="raw"):
    """A raw block volume with a user's data; never formatted."""


Contents: TypeAlias = Blank | Formatting | Formatted | Raw


class CopiedFrom(msgspec.Struct, frozen=True):
    """The source of a copied volume; one of the two is set."""

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
    is_done: bool = False  # NodeStageVolume has succeeded


class Publication(msgspec.Struct, frozen=True):
    target: str
    use: Use


class Limits(msgspec.Struct, frozen=True):
    """Per second, of all who use the volume; 0: no limit."""

    read_bytes: int = 0
    write_bytes: int = 0
    read_operations: int = 0
    write_operations: int = 0


NoLimits: Final = Limits()


class VolumeRecord(msgspec.Struct, frozen=True):
    """A volume. `is_frozen`: a snapshot is being taken, and its file system may be frozen."""

    id: str
    name: str
    access_type: AccessType
    fs_type: str  # of a mounted volume
    size_bytes: int
    parameters: Mapping[str, str]
    source: CopiedFrom | None
    contents: Contents
    is_allocated: bool = False  # it has all its blocks; expansion allocates the new ones
    shared_bytes: int = 0  # in blocks shared with other images; room for copies is reserved
    is_frozen: bool = False
    limits: Limits = NoLimits
    is_inline: bool = False  # of one pod, and deleted with it
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
    group_id: str = ""  # of the group snapshot that it is part of


class GroupRecord(msgspec.Struct, frozen=True):
    """A group snapshot: snapshots of several volumes, all of one moment."""

    id: str
    name: str
    created_ns: int  # since 1970
    snapshots: tuple[SnapshotRecord, ...]  # sorted by volume


Record: TypeAlias = VolumeRecord | SnapshotRecord | GroupRecord
