"""The in-tree hostPath provisioner: directories of this machine as volumes, for development.

Everything happens below one directory, and no symbolic link is followed on the way there: as a rule
it is the temporary directory, open to every user of the machine, and we may be root.
"""

import os
from contextlib import suppress
from enum import Enum
from pathlib import PurePath

from mooring.errors import HostError
from mooring.host.blocking import in_thread, within_volume
from mooring.model.document import Doc
from mooring.model.storage_terms import STORAGE, AccessMode, VolumeMode
from mooring.model.wellknown import Annotation, Plugin
from mooring.plugins.contract import Order, PluginError
from mooring.plugins.host_path.folder import FOLDER

CREATED_BY = "hostpath-dynamic-provisioner"
_MODE = 0o750
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class HostPathProvisioning(Enum):
    """Whether volumes are made; they are deleted in any case."""

    ON = "on"
    OFF = "off"


class HostPathProvisioner:
    """`Provisioner` of the contract."""

    takes_mount_options = False

    def __init__(self, root: PurePath, provisioning: HostPathProvisioning) -> None:
        self._root = root
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
            with within_volume(place_of(FOLDER, claim.uid)):
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


def place_of(*below: str) -> str:
    """What making and deleting the same directory are both about."""
    return "/".join((Plugin.HOST_PATH, *below))


def _make_directory(name: str, parent: int) -> int:
    """The directory, opened; one that is there already will do, a link to one will not."""
    with suppress(FileExistsError):
        os.mkdir(name, _MODE, dir_fd=parent)
    return os.open(name, _OPEN_DIRECTORY, dir_fd=parent)
