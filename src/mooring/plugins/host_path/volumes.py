"""The provisioner and deleter of a process's hostPath volumes."""

from collections.abc import Sequence
from pathlib import Path, PurePath

from mooring.model.document import Doc
from mooring.model.volume import Volume
from mooring.plugins.contract import Order
from mooring.plugins.host_path.delete import HostPathDeleter
from mooring.plugins.host_path.provision import HostPathProvisioner, HostPathProvisioning


class HostPathPlugin:
    """`Provisioner` and `Deleter`, of volumes below one directory, as upstream has them in /tmp."""

    takes_mount_options = False

    def __init__(self, root: PurePath, provisioning: HostPathProvisioning) -> None:
        self._provisioner = HostPathProvisioner(root, provisioning)
        self._deleter = HostPathDeleter(root)

    def check(self) -> None:
        self._provisioner.check()

    async def provision(self, order: Order) -> Doc:
        return await self._provisioner.provision(order)

    async def delete(self, volume: Volume) -> None:
        await self._deleter.delete(volume)


class DataDirectoryVolumes:
    """The same for `mooring up`: made in its data directory, deleted there and below /tmp.

    A reboot empties /tmp while the volumes are still called Bound; in the data directory they stay
    for as long as the objects that stand for them. The rest of the data directory, and what is
    mounted for pods, is never deleted.
    """

    takes_mount_options = False

    def __init__(self, volumes: Path, ours: Sequence[Path], temporary: Path) -> None:
        """`volumes` is below one of `ours`, the data directory and the node's; all are absolute."""
        self._ours = tuple(ours)
        self._provisioner = HostPathProvisioner(volumes, HostPathProvisioning.ON)
        self._own = HostPathDeleter(volumes)
        self._others = HostPathDeleter(temporary)

    def check(self) -> None:
        self._provisioner.check()

    async def provision(self, order: Order) -> Doc:
        return await self._provisioner.provision(order)

    async def delete(self, volume: Volume) -> None:
        source = volume.spec.host_path
        path = None if source is None else Path(source.path)
        is_ours = path is not None and any(_overlap(path, own) for own in self._ours)
        await (self._own if is_ours else self._others).delete(volume)


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)
