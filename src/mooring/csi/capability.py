"""How a volume is to be used (`VolumeCapability`), and what a driver says it can do."""

from collections.abc import Iterable, Sequence
from enum import Enum, IntEnum
from typing import TypeVar

import msgspec

from mooring.errors import MooringError
from mooring.model.storage_terms import AccessMode


class WireMode(IntEnum):
    """The access modes of CSI. Those of Kubernetes are `model.storage_terms.AccessMode`."""

    UNKNOWN = 0
    SINGLE_NODE_WRITER = 1
    SINGLE_NODE_READER_ONLY = 2
    MULTI_NODE_READER_ONLY = 3
    MULTI_NODE_SINGLE_WRITER = 4
    MULTI_NODE_MULTI_WRITER = 5
    SINGLE_NODE_SINGLE_WRITER = 6
    SINGLE_NODE_MULTI_WRITER = 7


class Block(msgspec.Struct, frozen=True):
    """As a raw device."""


class Mount(msgspec.Struct, frozen=True):
    """As files."""

    fs_type: str = ""  # empty: the driver chooses
    flags: tuple[str, ...] = ()
    group: str = ""  # a group id in decimal, for drivers with VOLUME_MOUNT_GROUP


class VolumeCapability(msgspec.Struct, frozen=True):
    access: Mount | Block
    mode: WireMode


class PluginService(Enum):
    CONTROLLER_SERVICE = 1
    VOLUME_ACCESSIBILITY_CONSTRAINTS = 2
    GROUP_CONTROLLER_SERVICE = 3
    SNAPSHOT_METADATA_SERVICE = 4
    SNAPSHOT_ACCESSIBILITY_CONSTRAINTS = 5


class Expansion(Enum):
    ONLINE = 1
    OFFLINE = 2


class ControllerCapability(Enum):
    CREATE_DELETE_VOLUME = 1
    PUBLISH_UNPUBLISH_VOLUME = 2
    LIST_VOLUMES = 3
    GET_CAPACITY = 4
    CREATE_DELETE_SNAPSHOT = 5
    LIST_SNAPSHOTS = 6
    CLONE_VOLUME = 7
    PUBLISH_READONLY = 8
    EXPAND_VOLUME = 9
    LIST_VOLUMES_PUBLISHED_NODES = 10
    VOLUME_CONDITION = 11  # up to CSI 1.12
    GET_VOLUME = 12
    SINGLE_NODE_MULTI_WRITER = 13
    MODIFY_VOLUME = 14
    GET_SNAPSHOT = 15
    GET_VOLUME_HEALTH = 16
    LIST_VOLUME_HEALTH = 17


class GroupCapability(Enum):
    CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT = 1


class NodeCapability(Enum):
    STAGE_UNSTAGE_VOLUME = 1
    GET_VOLUME_STATS = 2
    EXPAND_VOLUME = 3
    VOLUME_CONDITION = 4  # up to CSI 1.12
    SINGLE_NODE_MULTI_WRITER = 5
    VOLUME_MOUNT_GROUP = 6
    GET_VOLUME_HEALTH = 7
    GET_STORAGE_HEALTH = 8


class Writers(Enum):
    """Whether a driver distinguishes one writer on a node from many (SINGLE_NODE_MULTI_WRITER).

    The controller's capability counts for controller RPCs, the node's for node RPCs; they may
    differ.
    """

    NOT_TOLD_APART = "not told apart"
    TOLD_APART = "told apart"


def writers_of(
    capabilities: frozenset[ControllerCapability] | frozenset[NodeCapability],
) -> Writers:
    told = {ControllerCapability.SINGLE_NODE_MULTI_WRITER, NodeCapability.SINGLE_NODE_MULTI_WRITER}
    return Writers.TOLD_APART if told & capabilities else Writers.NOT_TOLD_APART


C = TypeVar("C", bound=Enum)


def known_among(kind: type[C], numbers: Iterable[int]) -> frozenset[C]:
    """Capabilities by their numbers; those that a newer specification added are passed over."""
    told = set(numbers)
    return frozenset(known for known in kind if known.value in told)


_PLAIN = {
    AccessMode.ONCE: WireMode.SINGLE_NODE_WRITER,
    AccessMode.ONCE_POD: WireMode.SINGLE_NODE_WRITER,
    AccessMode.READ_ONLY_MANY: WireMode.MULTI_NODE_READER_ONLY,
    AccessMode.MANY: WireMode.MULTI_NODE_MULTI_WRITER,
}
_PRECISE = {
    **_PLAIN,
    AccessMode.ONCE: WireMode.SINGLE_NODE_MULTI_WRITER,
    AccessMode.ONCE_POD: WireMode.SINGLE_NODE_SINGLE_WRITER,
}


class UnsupportedModes(MooringError):
    """No mode of CSI says what these access modes say together."""


def single_mode(mode: AccessMode, writers: Writers) -> WireMode:
    """One mode alone, as a provisioner maps each of a claim. UNKNOWN for a mode new to us."""
    table = _PRECISE if writers is Writers.TOLD_APART else _PLAIN
    return table.get(mode, WireMode.UNKNOWN)


def first_mode(modes: Sequence[AccessMode], writers: Writers) -> WireMode:
    """As a node agent looks at a volume: only the first mode counts; none means ReadWriteOnce."""
    return single_mode(modes[0] if modes else AccessMode.ONCE, writers)


def combined_mode(modes: Sequence[AccessMode], writers: Writers) -> WireMode:
    """As an attacher and a resizer look at a volume: all of its modes in one.

    Raises: UnsupportedModes.
    """
    asked = set(modes)
    if AccessMode.ONCE_POD in asked and len(asked) > 1:
        raise UnsupportedModes(
            "Kubernetes does not support use of ReadWriteOncePod with other access modes"
            " on the same PersistentVolume"
        )
    for mode in (AccessMode.ONCE_POD, AccessMode.MANY):
        if mode in asked:
            return single_mode(mode, writers)
    if {AccessMode.READ_ONLY_MANY, AccessMode.ONCE} <= asked:
        raise UnsupportedModes(
            "CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume"
        )
    for mode in (AccessMode.READ_ONLY_MANY, AccessMode.ONCE):
        if mode in asked:
            return single_mode(mode, writers)
    raise UnsupportedModes(f"unsupported AccessMode combination: [{' '.join(modes)}]")
