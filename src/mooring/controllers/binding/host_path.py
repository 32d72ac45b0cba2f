"""The in-tree hostPath provisioner: directories of this machine as volumes, for development.

Everything happens below the temporary directory, and no symbolic link is followed on the way
there: that directory is open to every user of the machine, and we may be root.
"""

import asyncio
import os
import shutil
import stat
from contextlib import suppress
from enum import Enum
from pathlib import PurePath

from mooring.controllers.binding.contract import Doc, Order, PluginError
from mooring.model.storage_terms import STORAGE, AccessMode, VolumeMode
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation, Plugin

FOLDER = "hostpath_pv"
CREATED_BY = "hostpath-dynamic-provisioner"
_MODE = 0o750
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class HostPathProvisioning(Enum):
    """Whether it makes volumes; it deletes them in any case."""

    ON = "on"
    OFF = "off"


class HostPathPlugin:
    takes_mount_options = False

    def __init__(self, temporary: PurePath, provisioning: HostPathProvisioning) -> None:
        self._root = temporary
        self._provisioning = provisioning

    def check(self) -> None:
        if self._provisioning is HostPathProvisioning.OFF:
            raise PluginError(f'provisioning in volume plugin "{Plugin.HOST_PATH}" is disabled')

    async def provision(self, order: Order) -> Doc:
        claim = order.claim
        if claim.spec.volume_mode is VolumeMode.BLOCK:
            raise PluginError(f"{Plugin.HOST_PATH} does not support block volume provisioning")
        if not claim.spec.volume_mode.is_known:
            raise PluginError(f"{Plugin.HOST_PATH} knows no volumeMode {claim.spec.volume_mode}")
        if not claim.uid or "/" in claim.uid or claim.uid in {".", ".."}:
            raise PluginError(f"not the name of a directory: {claim.uid}")
        try:
            await asyncio.to_thread(self._make, claim.uid)
        except OSError as error:
            raise PluginError(f"{error.strerror}: {self._root / FOLDER / claim.uid}") from error
        modes = claim.spec.access_modes or (AccessMode.ONCE,)
        return {
            "metadata": {"annotations": {Annotation.CREATED_BY: CREATED_BY}},
            "spec": {
                "capacity": {STORAGE: str(claim.requested)},
                "accessModes": [mode.value for mode in modes],
                "hostPath": {"path": str(self._root / FOLDER / claim.uid)},
            },
        }

    async def delete(self, volume: Volume) -> None:
        source = volume.spec.host_path
        if source is None:
            why = "spec.PersistentVolumeSource.HostPath is nil"
            raise PluginError(f'failed to create deleter for volume "{volume.name}": {why}')
        path = PurePath(source.path)
        below = path.parts[len(self._root.parts) :]
        if not path.is_relative_to(self._root) or not below or ".." in path.parts:
            raise PluginError(
                f"host_path deleter only supports {self._root}/.+ "
                f"but received provided {source.path}"
            )
        try:
            await asyncio.to_thread(self._remove, below)
        except OSError as error:
            raise PluginError(f"{error.strerror}: {source.path}") from error

    def _make(self, name: str) -> None:
        root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            folder = _make_directory(FOLDER, root)
        finally:
            os.close(root)
        try:
            if os.fstat(folder).st_uid != os.geteuid():
                raise PermissionError(0, "belongs to somebody else")
            os.close(_make_directory(name, folder))
        finally:
            os.close(folder)

    def _remove(self, below: tuple[str, ...]) -> None:
        *parents, name = below
        at = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for parent in parents:
                inner = os.open(parent, _OPEN_DIRECTORY, dir_fd=at)
                os.close(at)
                at = inner
            found = os.stat(name, dir_fd=at, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                shutil.rmtree(name, dir_fd=at)
            else:
                os.unlink(name, dir_fd=at)
        except FileNotFoundError:
            return  # already gone
        finally:
            os.close(at)


def _make_directory(name: str, parent: int) -> int:
    """The directory, opened; one that is there already will do, a link to one will not."""
    with suppress(FileExistsError):
        os.mkdir(name, _MODE, dir_fd=parent)
    return os.open(name, _OPEN_DIRECTORY, dir_fd=parent)
