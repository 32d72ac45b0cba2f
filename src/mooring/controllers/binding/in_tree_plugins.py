"""The in-tree plugins that make, delete and wipe volumes for the binder."""

from collections.abc import Mapping

import msgspec

from mooring.controllers.binding.view import Plugins
from mooring.plugins.contract import Deleter, Provisioner, Recycler


class InTreePlugins(msgspec.Struct, frozen=True):
    """The plugins of this process, by name."""

    provisioners: Mapping[str, Provisioner] = msgspec.field(default_factory=dict)
    deleters: Mapping[str, Deleter] = msgspec.field(default_factory=dict)
    recyclers: Mapping[str, Recycler] = msgspec.field(default_factory=dict)

    def abilities(self) -> Plugins:
        makes, deletes = frozenset(self.provisioners), frozenset(self.deleters)
        recycles = frozenset(self.recyclers)
        return Plugins(makes | deletes | recycles, makes, deletes, recycles)
