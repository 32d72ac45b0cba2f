"""Directories of servers, mounted for each pod: nfs, glusterfs, cephfs.

A server that is gone must hold up nothing but its own volumes. So whether a volume is mounted is
read from the mount table, not from the mount, and an unmount that waits is forced.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from mooring import log
from mooring.errors import HostError
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.cleanup import clean_up_by_force, remove_empty
from mooring.host.contract import MountOps
from mooring.host.mountinfo import canonical
from mooring.plugins.contract import VolumeError
from mooring.plugins.directories import make_directories
from mooring.plugins.volume_host import Host

_log = log.get("mooring.plugins.server_mounts")

FORCE_SECONDS = 60.0  # an unmount that takes longer is forced


def is_mounted(mounts: MountOps, path: Path) -> bool:
    """By the mount table: a look at the mount itself would wait for a server that is gone."""
    return mounts.table().find(canonical(path)) is not None


def mount_once(mounts: MountOps, path: Path, mount: Callable[[], None]) -> None:
    """Mounted already is a success; a mount that failed leaves nothing. Blocks."""
    if is_mounted(mounts, path):
        return
    make_directories(path)
    try:
        mount()
    except (HostError, VolumeError):
        _undo(mounts, path)
        raise


def joined_options(given: Iterable[str], added: Iterable[str]) -> list[str]:
    """Each once, in the order that Kubernetes gives them."""
    return sorted({*given, *added} - {""})


def _undo(mounts: MountOps, path: Path) -> None:
    try:
        if is_mounted(mounts, path):
            mounts.unmount(path)
        remove_empty(path)
    except HostError as error:
        _log.warning("a mount point is left", path=path, error=error)


class ServerUnmounter:
    def __init__(self, host: Host, plugin: str, name: str, pod_uid: str) -> None:
        self.path = host.layout.volume(pod_uid, plugin, name)
        self._mounts = host.mounts

    async def tear_down(self) -> None:
        with taking(FORCE_SECONDS + LONG_SECONDS):
            await in_thread(clean_up_by_force, self._mounts, self.path, FORCE_SECONDS)
