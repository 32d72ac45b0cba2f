"""The volume plugin protocols, all small; a plugin implements those that it needs.

A plugin object lives as long as the node. It makes small objects that each work on one volume of
one pod; making one uses no network, and at most a stat on the disk. Every operation is idempotent:
set up what is set up, tear down what is gone, start over after a crash anywhere in between.

How an operation ends decides the state that the node records:

    returns             done
    VolumeError         it failed, and nothing is still running: it has cleaned up
    HostError           the same, from the operating system
    NotStarted          nothing was begun (a driver or an object is missing): try again later
    Uncertain           it may have happened, or still be running: to be repeated, or torn down
    anything else       a bug, or cancelled midway: as uncertain
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from mooring.errors import MooringError
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse


class VolumeError(MooringError):
    """The operation failed, and nothing of it goes on."""


class NotStarted(VolumeError):
    """Nothing was begun: something that will come is not there yet."""


class NotUpYet(NotStarted):
    """The same just after the node's start, when it is most likely on its way."""


class Uncertain(VolumeError):
    """It may have happened, or be happening still."""


class StillInUse(VolumeError):
    """Cannot be done while the volume is in use; on this node it is not tried again."""


class Infeasible(VolumeError):
    """Will never work with these arguments."""


class NotSupported(VolumeError):
    """The plugin or driver cannot do it at all."""


class PluginError(MooringError):
    """A plugin could not do it; the text is for people."""


class VolumeInUse(PluginError):
    """The volume cannot be deleted while it is in use: not a failure, only too early."""


Tell = Callable[[EventType, str, str], None]
"""Records an event on the pod: type, reason, message."""


class OwnershipPolicy(StrEnum):
    """When a volume's files are given to the pod's group."""

    ALWAYS = "Always"
    ON_ROOT_MISMATCH = "OnRootMismatch"


class MountRequest(msgspec.Struct, frozen=True):
    """How the pod wants its files."""

    tell: Tell
    fs_user: int | None = None  # the one user that all containers run as, if there is one
    fs_group: int | None = None
    ownership: OwnershipPolicy = OwnershipPolicy.ALWAYS
    size_limit: int | None = None  # bytes that the pod may use
    selinux_label: str = ""


class Attributes(msgspec.Struct, frozen=True):
    """What a container's mount has to know about the volume."""

    read_only: bool = False
    is_managed: bool = False  # its files are made, or may be given a group, by the node
    wants_relabel: bool = False


class Usage(msgspec.Struct, frozen=True):
    """The usage of a volume in bytes and inodes. Unknown values are None."""

    used: int | None = None
    capacity: int | None = None
    available: int | None = None
    inodes: int | None = None
    inodes_used: int | None = None
    inodes_free: int | None = None


@runtime_checkable
class Mounter(Protocol):
    @property
    def path(self) -> Path:
        """Where the files are once the volume is set up; "." when only a runtime knows."""
        ...

    @property
    def attributes(self) -> Attributes: ...

    async def set_up(self, request: MountRequest) -> None:
        """Make the files appear at `path`.

        Before: `path` may be missing, empty, or set up by an earlier call.
        After: the files are there, with the group and mode that `request` asks for.
        Repeated: content is brought up to date; what is right already is left alone.
        Raises: VolumeError, HostError: nothing new is left behind.
        """
        ...

    async def usage(self) -> Usage | None:
        """None when this kind of volume has no usage of its own."""
        ...


class Unmounter(Protocol):
    """Made from what is on disk alone: neither pod nor volume need exist any more."""

    @property
    def path(self) -> Path: ...

    async def tear_down(self) -> None:
        """Undo `set_up` and remove its traces. Nothing there is a success."""
        ...


class Plugin(Protocol):
    @property
    def name(self) -> str:
        """A qualified name, with one slash."""
        ...

    @property
    def takes_mount_options(self) -> bool: ...

    def supports(self, use: VolumeUse) -> bool: ...

    def volume_name(self, use: VolumeUse) -> str:
        """What is behind the volume; the same name is the same thing, enough to detach it."""
        ...

    def wants_remount(self, use: VolumeUse) -> bool:
        """Its content follows objects of the API, so `set_up` is called again now and then."""
        ...

    def mounter(self, use: VolumeUse, pod: Pod) -> Mounter:
        """May look at the disk: called in a thread. Raises: VolumeError."""
        ...

    def unmounter(self, name: str, pod_uid: str) -> Unmounter:
        """Raises: VolumeError."""
        ...

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        """Reconstruct the volume with this name of this pod from the disk.

        Raises: VolumeError when that is impossible.
        """
        ...


class DeviceRequest(msgspec.Struct, frozen=True):
    fs_group: int | None = None
    selinux_label: str = ""


class DeviceMounter(Protocol):
    def device_mount_path(self, use: VolumeUse) -> Path:
        """May look at the disk: called in a thread. Raises: VolumeError."""
        ...

    async def mount_device(
        self, use: VolumeUse, device: str, target: Path, request: DeviceRequest
    ) -> None:
        """Mount once, for all pods; `device` may be empty."""
        ...


class DeviceUnmounter(Protocol):
    async def unmount_device(self, target: Path) -> None:
        """After the last pod's mount is gone. Nothing there is a success."""
        ...


@runtime_checkable
class DeviceMountable(Protocol):
    def can_mount_device(self, use: VolumeUse) -> bool: ...

    def device_mounter(self) -> DeviceMounter: ...

    def device_unmounter(self) -> DeviceUnmounter: ...


class Attacher(DeviceMounter, Protocol):
    async def attach(self, use: VolumeUse, node: str) -> str:
        """The device's path on the node, or "". Attached already is a success."""
        ...

    async def are_attached(self, uses: Sequence[VolumeUse], node: str) -> Mapping[str, bool]:
        """By the name of each use."""
        ...

    async def wait_for_attach(self, use: VolumeUse, device: str, pod: Pod) -> str:
        """On the node: the device's path, once it is there."""
        ...


class Detacher(DeviceUnmounter, Protocol):
    async def detach(self, volume_name: str, node: str) -> None:
        """Not attached is a success."""
        ...


@runtime_checkable
class Attachable(DeviceMountable, Protocol):
    def can_attach(self, use: VolumeUse) -> bool: ...

    def attacher(self) -> Attacher: ...

    def detacher(self) -> Detacher: ...

    async def is_node_full(self, use: VolumeUse, node: str) -> bool:
        """Whether attaching failed because the node takes no more volumes."""
        ...


@runtime_checkable
class BulkVerifier(Protocol):
    async def verify(
        self, by_node: Mapping[str, Sequence[VolumeUse]]
    ) -> Mapping[str, Mapping[str, bool]]:
        """Whether volumes are attached, for many nodes in one question."""
        ...


@runtime_checkable
class WithAttachLimits(Protocol):
    def attach_limits(self) -> Mapping[str, int]: ...

    def limit_key(self, use: VolumeUse) -> str: ...


class BlockMapper(Protocol):
    def global_map_path(self) -> Path: ...

    def pod_device_link(self) -> Path:
        """The link in the pod's directory that stands for the device."""
        ...

    async def set_up_device(self) -> str:
        """Once per volume: its staging path, or ""."""
        ...

    async def map_pod_device(self) -> str:
        """Once per pod: the device's path, or "" for the one it was attached at."""
        ...

    async def usage(self) -> Usage | None: ...


class BlockUnmapper(Protocol):
    def global_map_path(self, use: VolumeUse) -> Path: ...

    def pod_device_link(self) -> Path: ...

    async def unmap_pod_device(self) -> None: ...

    async def tear_down_device(self, map_path: Path, device: str) -> None: ...


@runtime_checkable
class BlockMappable(Protocol):
    def block_mapper(self, use: VolumeUse, pod: Pod) -> BlockMapper: ...

    def block_unmapper(self, name: str, pod_uid: str) -> BlockUnmapper: ...

    def rebuild_block(self, name: str, pod_uid: str) -> VolumeUse: ...


class GrowthRequest(msgspec.Struct, frozen=True):
    """A file system, or a device, that shall become larger on this node."""

    use: VolumeUse
    new_bytes: int
    old_bytes: int
    device: str
    mount_path: Path  # of the pod; or the device's link
    device_mount_path: Path


@runtime_checkable
class NodeExpandable(Protocol):
    def needs_node_growth(self, use: VolumeUse) -> bool: ...

    async def grow_on_node(self, request: GrowthRequest) -> bool:
        """Whether it grew. Raises: StillInUse, Infeasible, NotSupported, VolumeError, Uncertain."""
        ...


@runtime_checkable
class Expandable(Protocol):
    async def grow(self, use: VolumeUse, new_bytes: int, old_bytes: int) -> int: ...

    def needs_node_growth(self, use: VolumeUse) -> bool: ...


@runtime_checkable
class Persistent(Protocol):
    @property
    def access_modes(self) -> Sequence[AccessMode]: ...


# what the binder asks for


class Order(msgspec.Struct, frozen=True):
    """The volume that is to be made."""

    name: str
    claim: Claim
    storage_class: StorageClass
    node: Node | None = None  # where the first pod with this claim will run, if that is known


class Provisioner(Protocol):
    takes_mount_options: bool

    def check(self) -> None:
        """Raises: PluginError when it makes no volumes at all."""
        ...

    async def provision(self, order: Order) -> Doc:
        """Make the storage; returns its PersistentVolume, without claim, class and annotations.

        Repeated: the same order again gives the same volume. Raises: PluginError.
        """
        ...


class Deleter(Protocol):
    async def delete(self, volume: Volume) -> None:
        """Delete the volume's storage. Repeated: success.

        Raises: VolumeInUse, PluginError.
        """
        ...


TellRecycling = Callable[[EventType, str], None]
"""Records an event about the volume that is wiped: type, message."""


class Recycler(Protocol):
    async def recycle(self, volume: Volume, tell: TellRecycling) -> None:
        """Wipe the volume. Raises: PluginError."""
        ...
