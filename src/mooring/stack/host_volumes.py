"""The hostPath volumes of `mooring up`: made in its data directory, deleted as upstream deletes.

Upstream makes them in /tmp, which a reboot empties while the volumes are still called Bound. Here
they stay for as long as the objects that stand for them. What may be deleted is the same as
upstream, and what is made here; the rest of the data directory, and what is mounted for pods, never
is.
"""

from collections.abc import Sequence
from pathlib import Path

from mooring.controllers.binding.contract import Order
from mooring.controllers.binding.host_path import HostPathPlugin, HostPathProvisioning
from mooring.model.document import Doc
from mooring.model.volume import Volume


class HostVolumes:
    takes_mount_options = False

    def __init__(self, volumes: Path, ours: Sequence[Path], temporary: Path) -> None:
        """`volumes` is below one of `ours`, the data directory and the node's; all are absolute."""
        self._ours = tuple(ours)
        self._own = HostPathPlugin(volumes, HostPathProvisioning.ON)
        self._others = HostPathPlugin(temporary, HostPathProvisioning.OFF)

    def check(self) -> None:
        self._own.check()

    async def provision(self, order: Order) -> Doc:
        return await self._own.provision(order)

    async def delete(self, volume: Volume) -> None:
        source = volume.spec.host_path
        path = None if source is None else Path(source.path)
        if path is not None and any(_overlap(path, own) for own in self._ours):
            await self._own.delete(volume)
        else:
            await self._others.delete(volume)


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)
