"""The directory of a pod: made before its volumes, removed when nothing of them is left.

Below `volumes` only empty directories are removed, and no mount is ever entered: a file there is a
user's data.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mooring import log
from mooring.errors import HostError
from mooring.host import tree
from mooring.host.blocking import in_thread, within_own
from mooring.host.contract import MountOps
from mooring.host.mount_watch import MountWatch
from mooring.host.mountinfo import canonical
from mooring.host.refusal import refusals
from mooring.plugins.directories import make_directories
from mooring.plugins.layout import DEVICES, SUBPATHS, VOLUMES, Layout

_log = log.get("mooring.node.pods")


class PodDirectories:
    def __init__(self, layout: Layout, mounts: MountOps) -> None:
        self._layout = layout
        self._mounts = mounts

    async def make(self, pod_uid: str) -> None:
        """Repeated: changes nothing. Raises: HostError."""
        with within_own(place_of(pod_uid)):
            await in_thread(self._make, pod_uid)

    async def remove(self, pod_uid: str) -> None:
        """Wait until nothing is mounted in there, then remove it.

        Repeated: what is gone is success.
        Raises: HostError when something else is left that is not ours to remove.
        """
        with within_own(place_of(pod_uid)):
            await self._remove(pod_uid)

    async def _remove(self, pod_uid: str) -> None:
        while True:
            try:
                await in_thread(remove_pod, self._layout, pod_uid)
                return
            except HostError as error:
                if not await in_thread(self._has_mounts, pod_uid):
                    raise
                _log.warning("a pod's directory has mounts", pod=pod_uid, because=error)
            with MountWatch() as watch:
                while await in_thread(self._has_mounts, pod_uid):
                    await watch.changed()

    def _make(self, pod_uid: str) -> None:
        make_directories(self._layout.volumes(pod_uid))
        make_directories(self._layout.pod(pod_uid) / "plugins")

    def _has_mounts(self, pod_uid: str) -> bool:
        pod = canonical(self._layout.pod(pod_uid))
        return bool(self._mounts.table().below(pod))


def place_of(pod_uid: str) -> str:
    """What calls about the directory of a pod are about."""
    return f"pod/{pod_uid}"


def remove_pod(layout: Layout, pod_uid: str) -> None:
    """Remove a pod's directory; blocks.

    Raises: HostError at the first thing that stays, and nothing else is touched then.
    """
    pod = layout.pod(pod_uid)
    for name in (VOLUMES, DEVICES):
        for plugin in _entries(pod / name):
            for volume in _entries(plugin):
                _remove_empty(volume)
            _remove_empty(plugin)
        _remove_empty(pod / name)
    for volume in _entries(pod / SUBPATHS):
        for container in _entries(volume):
            for target in _entries(container):
                _remove_target(target)
            _remove_empty(container)
        _remove_empty(volume)
    for other in _entries(pod):
        tree.remove_path(other)
    _remove_empty(pod)


def _entries(directory: Path) -> Iterator[Path]:
    with refusals(f"list {directory}"):
        try:
            names = os.listdir(directory)
        except FileNotFoundError:
            names = []
    return (directory / name for name in names)


def _remove_empty(directory: Path) -> None:
    with refusals(f"rmdir {directory}"), suppress(FileNotFoundError):
        directory.rmdir()


def _remove_target(target: Path) -> None:
    """What a subPath was bound onto: an empty directory, or a file."""
    if target.is_dir() and not target.is_symlink():
        _remove_empty(target)
        return
    with refusals(f"unlink {target}"):
        target.unlink(missing_ok=True)
