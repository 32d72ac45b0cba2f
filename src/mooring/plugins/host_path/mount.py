"""hostPath: a file or directory of the node itself, shown to the pod as it is.

Nothing is mounted, owned or removed here; the path is only checked, and made where that is asked
for. The controllers make, delete and recycle such volumes.
"""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

from mooring.host.blocking import in_thread
from mooring.host.refusal import refusals
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_source import HostPathSource
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Attributes, MountRequest, Usage, VolumeError
from mooring.plugins.directories import make_directories

NAME = "kubernetes.io/host-path"
UNSET = ""

_DIRECTORY_MODE = 0o755
_FILE_MODE = 0o644

_IS: dict[str, tuple[Callable[[int], bool], str]] = {
    "Directory": (stat.S_ISDIR, "directory"),
    "DirectoryOrCreate": (stat.S_ISDIR, "directory"),
    "File": (stat.S_ISREG, "file"),
    "FileOrCreate": (stat.S_ISREG, "file"),
    "Socket": (stat.S_ISSOCK, "socket file"),
    "CharDevice": (stat.S_ISCHR, "character device"),
    "BlockDevice": (stat.S_ISBLK, "block device"),
}


_CALLED = (  # as the API spells what is found
    (stat.S_ISDIR, "Directory"),
    (stat.S_ISREG, "File"),
    (stat.S_ISSOCK, "Socket"),
    (stat.S_ISCHR, "CharDevice"),
    (stat.S_ISBLK, "BlockDevice"),
)


def check(path: Path, path_type: str, release: KubernetesVersion = NEWEST) -> None:
    """See that `path` is what `path_type` says, through links; make it where the type says so.

    Raises: VolumeError when it is something else; HostError when it cannot be made.
    """
    if ".." in path.parts:
        raise VolumeError(f"invalid HostPath `{path}`: must not contain '..'")
    if path_type == UNSET:
        return
    if path_type not in _IS:
        raise VolumeError(f"{path_type} is an invalid volume type")
    is_right, kind = _IS[path_type]
    mode = _find_mode(path)
    if mode is None and path_type == "DirectoryOrCreate":
        _make_directory(path)
    elif mode is None and path_type == "FileOrCreate":
        _make_file(path)
    elif mode is None or not is_right(mode):
        raise VolumeError(_refusal(path, kind, mode, release))


def _refusal(path: Path, kind: str, mode: int | None, release: KubernetesVersion) -> str:
    if not release.tells_found_type:
        return f"hostPath type check failed: {path} is not a {kind}"
    found = mode and next((name for is_it, name in _CALLED if is_it(mode)), None)
    if found:
        return f"hostPath type check failed: {path} is not a {kind}, it's a {found}"
    why = (
        f"path {json.dumps(str(path))} does not exist"
        if mode is None
        else "only recognise file, directory, socket, block device and character device"
    )
    return (
        f"hostPath type check failed, {path} is not a {kind}, unable to determine its type: {why}"
    )


class HostPathMounter:
    def __init__(
        self, source: HostPathSource, *, read_only: bool, release: KubernetesVersion = NEWEST
    ) -> None:
        self.path = Path(source.path)
        self.attributes = Attributes(read_only=read_only)
        self._type = source.type
        self._release = release

    async def set_up(self, request: MountRequest) -> None:
        await in_thread(check, self.path, self._type, self._release)

    async def usage(self) -> Usage | None:
        return None


class HostPathUnmounter:
    path = Path()  # only the pod knew it

    async def tear_down(self) -> None:
        """The path is the node's, not the pod's."""


class HostPath:
    name = NAME
    takes_mount_options = False
    access_modes = (AccessMode.ONCE,)

    def __init__(self, release: KubernetesVersion = NEWEST) -> None:
        self._release = release

    def supports(self, use: VolumeUse) -> bool:
        return _find_source(use) is not None

    def volume_name(self, use: VolumeUse) -> str:
        return _source(use).path

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> HostPathMounter:
        source = _source(use)
        return HostPathMounter(source, read_only=use.read_only, release=self._release)

    def unmounter(self, name: str, pod_uid: str) -> HostPathUnmounter:
        return HostPathUnmounter()

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        return VolumeUse(inline=PodVolume(name=name, host_path=HostPathSource(path=name)))


def _find_source(use: VolumeUse) -> HostPathSource | None:
    if use.inline is not None:
        return use.inline.host_path
    return use.volume.spec.host_path if use.volume is not None else None


def _source(use: VolumeUse) -> HostPathSource:
    if (source := _find_source(use)) is None:
        raise VolumeError("spec does not reference an HostPath volume type")
    return source


def _find_mode(path: Path) -> int | None:
    """What is at the end of all links; None for nothing, or nothing one may look at."""
    try:
        return path.stat().st_mode
    except OSError:
        return None


def _make_directory(path: Path) -> None:
    if not path.is_symlink():  # to nowhere: upstream leaves that to the container runtime
        make_directories(path, _DIRECTORY_MODE)


def _make_file(path: Path) -> None:
    with refusals(f"open {path}"):
        os.close(os.open(path, os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC, _FILE_MODE))
