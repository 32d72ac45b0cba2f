"""cephfs: a Ceph file system, mounted for each pod: by ceph-fuse where it is, or by the kernel."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import HostError
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.removed_source import CephfsSource
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins import ceph, ceph_values
from mooring.plugins.contract import Attributes, MountRequest, Usage, VolumeError
from mooring.plugins.hostile import check_word
from mooring.plugins.server_mounts import (
    ServerUnmounter,
    is_mounted,
    joined_options,
    mount_once,
)
from mooring.plugins.volume_host import Host

_log = log.get("mooring.plugins.cephfs")

NAME = Plugin.CEPHFS
FS_TYPE = "ceph"
FUSE_HELPER = Path("/sbin/mount.fuse.ceph")
STARTED = "starting fuse"
DEFAULT_USER = "admin"


def has_fuse() -> bool:
    return os.access(FUSE_HELPER, os.X_OK)


class CephMount(msgspec.Struct, frozen=True):
    """What is mounted, in words that no program can mistake."""

    monitors: str
    path: str
    user: str
    secret_file: str  # when no secret is referred to
    options: tuple[str, ...]

    def by_fuse(self, target: Path, keyring: str) -> tuple[str, ...]:
        options = ("-o", ",".join(self.options)) if self.options else ()
        what = ("-k", keyring, "-m", self.monitors, str(target), "-r", self.path)
        return ("ceph-fuse", *what, "--id", self.user, *options)

    @property
    def source(self) -> str:
        """For the kernel."""
        return f"{self.monitors}:{self.path}"

    def kernel_options(self, secret_file: str) -> list[str]:
        return joined_options(self.options, (f"name={self.user}", f"secretfile={secret_file}"))


class CephfsMounter:
    def __init__(
        self, host: Host, use: VolumeUse, pod: Pod, run: ceph.Run, fuse: Callable[[], bool]
    ) -> None:
        """Raises: VolumeError."""
        self.path = host.layout.volume(pod.uid, NAME, use.name)
        self.attributes = Attributes(read_only=is_read_only(use))
        self._host = host
        self._pod = pod
        self._secret_ref = get_source(use).secret_ref
        self._private = host.layout.pod_plugin(pod.uid, NAME, use.name)
        self._what = decide_mount(use)
        self._run = run
        self._has_fuse = fuse

    async def set_up(self, request: MountRequest) -> None:
        """Files keep the groups that they have in Ceph, whatever fsGroup says."""
        if await in_thread(is_mounted, self._host.mounts, self.path):
            await in_thread(ceph.remove_private, self._private)
            return
        ref = self._secret_ref
        key = "" if ref is None else await ceph.read_key(self._host, ref, self._pod)
        with taking(LONG_SECONDS):
            await in_thread(self._mount, key)

    async def usage(self) -> Usage | None:
        """None, as in Kubernetes: it would be that of all volumes of the file system."""
        return None

    def _mount(self, key: str) -> None:
        mount_once(self._host.mounts, self.path, lambda: self._mount_any_way(key))

    def _mount_any_way(self, key: str) -> None:
        if self._has_fuse():
            try:
                self._mount_by_fuse(key)
                return
            except (HostError, VolumeError) as error:
                _log.warning("ceph-fuse failed, the kernel is tried", path=self.path, error=error)
                if is_mounted(self._host.mounts, self.path):
                    self._host.mounts.unmount(self.path)
        self._mount_by_kernel(key)

    def _mount_by_fuse(self, key: str) -> None:
        if not key:
            self._fuse(self._what.secret_file)
            return
        content = ceph_values.keyring(self._what.user, key)
        with ceph.private_file(self._private, "keyring", content) as path:
            self._fuse(str(path))

    def _fuse(self, keyring: str) -> None:
        ended = self._run(*self._what.by_fuse(self.path, keyring))
        if ended.code or STARTED not in ended.output:
            raise VolumeError(f"Ceph-fuse failed: {ended.status}\nOutput: {ended.output}")

    def _mount_by_kernel(self, key: str) -> None:
        if not key:
            self._kernel(self._what.secret_file)
            return
        with ceph.private_file(self._private, "secret", key) as path:
            self._kernel(str(path))

    def _kernel(self, secret_file: str) -> None:
        options = self._what.kernel_options(secret_file)
        self._host.mounts.mount(self._what.source, self.path, FS_TYPE, options)


class CephfsUnmounter:
    def __init__(self, host: Host, name: str, pod_uid: str) -> None:
        self._mount = ServerUnmounter(host, NAME, name, pod_uid)
        self.path = self._mount.path
        self._private = host.layout.pod_plugin(pod_uid, NAME, name)

    async def tear_down(self) -> None:
        await in_thread(ceph.remove_private, self._private)
        await self._mount.tear_down()


class Cephfs:
    name = NAME
    takes_mount_options = True
    access_modes = (AccessMode.ONCE, AccessMode.READ_ONLY_MANY, AccessMode.MANY)

    def __init__(
        self, host: Host, run: ceph.Run = ceph.run, fuse: Callable[[], bool] = has_fuse
    ) -> None:
        """Without further arguments it works on this machine."""
        self._host = host
        self._run = run
        self._fuse = fuse

    def supports(self, use: VolumeUse) -> bool:
        return find_source(use) is not None

    def volume_name(self, use: VolumeUse) -> str:
        """The monitors, printed as Go does."""
        return f"[{' '.join(get_source(use).monitors)}]"

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> CephfsMounter:
        return CephfsMounter(self._host, use, pod, self._run, self._fuse)

    def unmounter(self, name: str, pod_uid: str) -> CephfsUnmounter:
        return CephfsUnmounter(self._host, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        """The disk does not tell the monitors; to unmount it they are not needed."""
        source = CephfsSource(monitors=(name,), path=name)
        return VolumeUse(inline=PodVolume(name=name, cephfs=source))


def decide_mount(use: VolumeUse) -> CephMount:
    """With upstream's defaults. Raises: VolumeError."""
    source = get_source(use)
    user = source.user or DEFAULT_USER
    path = source.path if source.path.startswith("/") else f"/{source.path}"
    secret_file = source.secret_file or f"/etc/ceph/{user}.secret"
    ceph_values.check_monitors("cephfs.monitors", source.monitors)
    ceph_values.check_user("cephfs.user", user)
    ceph_values.check_file("cephfs.secretFile", secret_file)
    check_word("cephfs.path", path)
    read_only = ("ro",) if is_read_only(use) else ()
    options = tuple(joined_options(use.mount_options, read_only))
    return CephMount(",".join(source.monitors), path, user, secret_file, options)


def find_source(use: VolumeUse) -> CephfsSource | None:
    if use.inline is not None:
        return use.inline.cephfs
    return use.volume.spec.cephfs if use.volume is not None else None


def get_source(use: VolumeUse) -> CephfsSource:
    """Raises: VolumeError."""
    if (source := find_source(use)) is None:
        raise VolumeError("spec does not reference a CephFS volume type")
    return source


def is_read_only(use: VolumeUse) -> bool:
    """The volume says it, as with no other plugin; the pod's claim may, which upstream ignores."""
    return get_source(use).read_only or use.read_only
