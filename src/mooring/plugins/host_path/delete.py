"""The in-tree hostPath deleter: of volumes below one directory, made by the provisioner or by hand.

No symbolic link is followed on the way, and what is mounted inside keeps everything.
"""

import os
from pathlib import Path, PurePath

from mooring.errors import HostError
from mooring.host import no_follow, tree
from mooring.host.blocking import in_thread, within_volume
from mooring.host.mountinfo import canonical, read_table
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.plugins.contract import PluginError
from mooring.plugins.host_path.folder import FOLDER
from mooring.plugins.host_path.provision import CREATED_BY, place_of


class HostPathDeleter:
    """`Deleter` of the contract."""

    def __init__(self, root: PurePath) -> None:
        self._root = root

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
            with within_volume(place_of(*below)):
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
