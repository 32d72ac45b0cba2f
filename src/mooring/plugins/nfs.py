"""nfs: a directory of an NFS server, mounted for each pod.

The controllers recycle such volumes.
"""

from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.mount_options import server_source
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_source import NfsSource
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins.contract import Attributes, MountRequest, Usage, VolumeError
from mooring.plugins.hostile import check_word
from mooring.plugins.measure import measure_filesystem
from mooring.plugins.server_mounts import ServerUnmounter, joined_options, mount_once
from mooring.plugins.volume_host import Host

NAME = Plugin.NFS
FS_TYPE = "nfs"


class NfsMounter:
    def __init__(self, host: Host, use: VolumeUse, pod: Pod) -> None:
        """Raises: VolumeError."""
        self.path = host.layout.volume(pod.uid, NAME, use.name)
        self.attributes = Attributes(read_only=is_read_only(use))
        self._mounts = host.mounts
        self._source = mount_source(use)
        self._options = mount_options(use)

    async def set_up(self, request: MountRequest) -> None:
        """Files keep the groups that they have on the server, whatever fsGroup says."""
        with taking(LONG_SECONDS):
            await in_thread(self._mount)

    async def usage(self) -> Usage | None:
        return await in_thread(measure_filesystem, self.path)

    def _mount(self) -> None:
        mount_once(self._mounts, self.path, self._mount_now)

    def _mount_now(self) -> None:
        self._mounts.mount(self._source, self.path, FS_TYPE, self._options)


class Nfs:
    name = NAME
    takes_mount_options = True
    access_modes = (AccessMode.ONCE, AccessMode.READ_ONLY_MANY, AccessMode.MANY)

    def __init__(self, host: Host) -> None:
        self._host = host

    def supports(self, use: VolumeUse) -> bool:
        return find_source(use) is not None

    def volume_name(self, use: VolumeUse) -> str:
        source = get_source(use)
        return f"{source.server}/{source.path}"

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> NfsMounter:
        return NfsMounter(self._host, use, pod)

    def unmounter(self, name: str, pod_uid: str) -> ServerUnmounter:
        return ServerUnmounter(self._host, NAME, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        """The disk does not tell server and path; to unmount it they are not needed."""
        return VolumeUse(inline=PodVolume(name=name, nfs=NfsSource(server="", path=name)))


def find_source(use: VolumeUse) -> NfsSource | None:
    if use.inline is not None:
        return use.inline.nfs
    return use.volume.spec.nfs if use.volume is not None else None


def get_source(use: VolumeUse) -> NfsSource:
    """Raises: VolumeError."""
    if (source := find_source(use)) is None:
        raise VolumeError("spec does not reference a NFS volume type")
    return source


def is_read_only(use: VolumeUse) -> bool:
    """Of a persistent volume the pod's claim says it, not the volume."""
    return use.read_only if use.inline is None else get_source(use).read_only


def mount_source(use: VolumeUse) -> str:
    """`server:/path`, one word for mount(8). Raises: VolumeError."""
    source = get_source(use)
    check_word("nfs.server", source.server)
    check_word("nfs.path", source.path)
    if not source.path.startswith("/"):
        raise VolumeError(f"nfs.path {source.path!r} must be an absolute path")
    return server_source(source.server, source.path)


def mount_options(use: VolumeUse) -> list[str]:
    return joined_options(use.mount_options, ("ro",) if is_read_only(use) else ())
