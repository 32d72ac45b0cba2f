"""What an in-tree plugin does for the binder. One plugin may do all of it, or only some."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from mooring.controllers.binding.view import Plugins
from mooring.errors import MooringError
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.node import Node
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume

Tell = Callable[[EventType, str], None]


class PluginError(MooringError):
    """A plugin could not do it; the text is for people."""


class VolumeInUse(PluginError):
    """It cannot be deleted while somebody uses it: not a failure, only too early."""


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
        """Make what the volume stands for; returns the volume, without claim, class and marks.

        Repeated: the same order again gives the same volume. Raises: PluginError.
        """
        ...


class Deleter(Protocol):
    async def delete(self, volume: Volume) -> None:
        """Delete what the volume stands for; what is gone already is no mistake.

        Raises: VolumeInUse, PluginError.
        """
        ...


class Recycler(Protocol):
    async def recycle(self, volume: Volume, tell: Tell) -> None:
        """Wipe the volume. Raises: PluginError."""
        ...


class InTreePlugins(msgspec.Struct, frozen=True):
    """The plugins of this process, by name."""

    provisioners: Mapping[str, Provisioner] = msgspec.field(default_factory=dict)
    deleters: Mapping[str, Deleter] = msgspec.field(default_factory=dict)
    recyclers: Mapping[str, Recycler] = msgspec.field(default_factory=dict)

    def abilities(self) -> Plugins:
        makes, deletes = frozenset(self.provisioners), frozenset(self.deleters)
        recycles = frozenset(self.recyclers)
        return Plugins(makes | deletes | recycles, makes, deletes, recycles)
