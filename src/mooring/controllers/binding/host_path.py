"""The in-tree hostPath provisioner: directories of this machine as volumes, for development.

Everything happens below the temporary directory, and no symbolic link is followed on the way
there: that directory is open to every user of the machine, and we may be root.
"""

import os
from contextlib import suppress
from enum import Enum
from pathlib import Path, PurePath

from mooring.controllers.binding.contract import Order, PluginError
from mooring.errors import HostError
from mooring.host import no_follow, tree
from mooring.host.blocking import in_thread, within_volume
from mooring.host.mountinfo import canonical, read_table
from mooring.model.document import Doc
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
            with within_volume(_place_of(FOLDER, claim.uid)):
                await in_thread(self._make, claim.uid)
        except HostError as error:
            raise PluginError(str(error)) from error
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
            with within_volume(_place_of(*below)):
                is_gone = await in_thread(self._remove, below)
        except HostError as error:
            raise PluginError(f"{source.path}: {error}") from error
        except OSError as error:
            raise PluginError(f"{error.strerror}: {source.path}") from error
        if not is_gone and _was_provisioned(volume) and len(below) > len((FOLDER, "uid")):
            raise PluginError(
                f"{source.path} was made in {path.parent}, which is not there: it may have been "
                "moved, or not be mounted. Bring it back, or remove the files where they are now "
                "and make that directory anew"
            )

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

    def _remove(self, below: tuple[str, ...]) -> bool:
        """Whether it is certain that it is gone: the directory that it was in is there.

        What is mounted inside is left alone, and keeps everything. Raises: OSError, HostError.
        """
        *parents, name = below
        root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with no_follow.descended(root, "/".join(parents), no_follow.open_directory) as parent:
                _check_nothing_mounted(self._root.joinpath(*below))
                tree.remove(parent, name)
        except FileNotFoundError:
            return False
        finally:
            os.close(root)
        return True


def _check_nothing_mounted(path: PurePath) -> None:
    """Before a file is removed. (What is mounted after that is not entered either.)"""
    inside = read_table().below(canonical(Path(path)))
    if inside:
        entry = inside[0]
        raise HostError(
            f"something is mounted at {entry.at} ({entry.fs_type} of {entry.source}): "
            "nothing is removed until it is unmounted"
        )


def _was_provisioned(volume: Volume) -> bool:
    return volume.metadata.annotations.get(Annotation.CREATED_BY) == CREATED_BY


def _place_of(*below: str) -> str:
    """What making and deleting the same directory are both about."""
    return "/".join((Plugin.HOST_PATH, *below))


def _make_directory(name: str, parent: int) -> int:
    """The directory, opened; one that is there already will do, a link to one will not."""
    with suppress(FileExistsError):
        os.mkdir(name, _MODE, dir_fd=parent)
    return os.open(name, _OPEN_DIRECTORY, dir_fd=parent)
