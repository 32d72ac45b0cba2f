"""glusterfs: a GlusterFS volume, mounted for each pod by its FUSE client.

The servers are the addresses of an Endpoints object. What the client has to say, it writes to a log
file of its own, which goes with the volume. `mount.glusterfs` is a shell script that takes words
apart at blanks and expands patterns, so values with either are refused.
"""

import ipaddress
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import msgspec

from mooring.errors import ApiError, ConnectionLost, HostError
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.refusal import refusals
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.removed_source import GlusterfsSource
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins.contract import Attributes, MountRequest, NotStarted, Usage, VolumeError
from mooring.plugins.directories import make_directories
from mooring.plugins.hostile import check_word
from mooring.plugins.layout import Layout
from mooring.plugins.measure import measure_filesystem
from mooring.plugins.server_mounts import (
    ServerUnmounter,
    is_mounted,
    joined_options,
    mount_once,
)
from mooring.plugins.volume_host import Host

NAME = Plugin.GLUSTERFS
FS_TYPE = "glusterfs"
AUTO_UNMOUNT = "auto_unmount"  # the client unmounts when it ends; old ones do not know it
OLD_CLIENT = ("Invalid option auto_unmount", "Invalid argument")
LOG_LINES = 2  # of the client's log, in the error
LOG_BYTES = 4096

_SPLIT_OR_EXPANDED = re.compile(r"[\s*?\[\]\\]")


class GlusterfsMounter:
    def __init__(self, host: Host, use: VolumeUse, pod: Pod) -> None:
        """Raises: VolumeError."""
        source = get_source(use)
        self.path = host.layout.volume(pod.uid, NAME, use.name)
        self.attributes = Attributes(read_only=is_read_only(use))
        self._host = host
        self._use = use
        self._log_file = log_file(host.layout, use.name, pod.uid)
        self._endpoints = Key(source.endpoints_namespace or pod.namespace, source.endpoints)
        check_values(use)

    async def set_up(self, request: MountRequest) -> None:
        """Files keep the groups that they have on the servers, whatever fsGroup says."""
        if await in_thread(is_mounted, self._host.mounts, self.path):
            return
        mount = decide_mount(self._use, await self._servers(), self._log_file, self._host.rng)
        with taking(LONG_SECONDS):
            await in_thread(self._mount, mount)

    async def usage(self) -> Usage | None:
        return await in_thread(measure_filesystem, self.path)

    async def _servers(self) -> Sequence[str]:
        try:
            found = await self._host.objects.endpoints(self._endpoints)
        except (ApiError, ConnectionLost) as error:
            raise NotStarted(f"couldn't get endpoints {self._endpoints}: {error}") from error
        return tuple(found.ips())

    def _mount(self, mount: "GlusterMount") -> None:
        make_directories(self._log_file.parent)
        try:
            mount_once(self._host.mounts, self.path, lambda: self._try(mount))
        except HostError as error:
            told = read_end(self._log_file)
            remove_log(self._log_file)
            raise HostError(with_log(str(error), told)) from error

    def _try(self, mount: "GlusterMount") -> None:
        mounts = self._host.mounts
        try:
            mounts.mount(mount.source, self.path, FS_TYPE, mount.options)
        except HostError as error:
            if not any(text in str(error) for text in OLD_CLIENT):
                raise
            rest = tuple(option for option in mount.options if option != AUTO_UNMOUNT)
            mounts.mount(mount.source, self.path, FS_TYPE, rest)


class GlusterfsUnmounter:
    def __init__(self, host: Host, name: str, pod_uid: str) -> None:
        self._mount = ServerUnmounter(host, NAME, name, pod_uid)
        self.path = self._mount.path
        self._log_file = log_file(host.layout, name, pod_uid)

    async def tear_down(self) -> None:
        await self._mount.tear_down()
        await in_thread(remove_log, self._log_file)


class Glusterfs:
    name = NAME
    takes_mount_options = True
    access_modes = (AccessMode.ONCE, AccessMode.READ_ONLY_MANY, AccessMode.MANY)

    def __init__(self, host: Host) -> None:
        self._host = host

    def supports(self, use: VolumeUse) -> bool:
        return find_source(use) is not None

    def volume_name(self, use: VolumeUse) -> str:
        source = get_source(use)
        return f"{source.endpoints}:{source.path}"

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> GlusterfsMounter:
        return GlusterfsMounter(self._host, use, pod)

    def unmounter(self, name: str, pod_uid: str) -> GlusterfsUnmounter:
        return GlusterfsUnmounter(self._host, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        """The disk does not tell the servers; to unmount it they are not needed."""
        source = GlusterfsSource(endpoints=name, path=name)
        return VolumeUse(inline=PodVolume(name=name, glusterfs=source))


class GlusterMount(msgspec.Struct, frozen=True):
    source: str
    options: tuple[str, ...]


def decide_mount(use: VolumeUse, servers: Sequence[str], log: Path, rng: Random) -> GlusterMount:
    """From any of the servers; the client asks the others if that one is gone.

    Raises: VolumeError.
    """
    for server in servers:
        check_address(server)
    if not servers:
        raise VolumeError(
            "failed to execute mount command:[no valid ipaddress found in endpoint address list]"
        )
    added = [AUTO_UNMOUNT]
    if is_read_only(use):
        added.append("ro")
    if not any(option.startswith("log-file") for option in use.mount_options):
        added.append(f"log-file={log}")
    if not any(option.startswith("log-level") for option in use.mount_options):
        added.append("log-level=ERROR")
    others = [server for server in servers if ":" not in server]  # which parts them there
    if len(servers) > 1 and others:
        added.append(f"backup-volfile-servers={':'.join(others)}")
    source = f"{rng.choice(servers)}:{get_source(use).path}"
    return GlusterMount(source, tuple(joined_options(use.mount_options, added)))


def check_values(use: VolumeUse) -> None:
    """Raises: VolumeError for what the client's script would take apart."""
    path = get_source(use).path
    check_word("glusterfs.path", path)
    options = (("mount option", option) for option in use.mount_options)
    for field, value in (("glusterfs.path", path), *options):
        if _SPLIT_OR_EXPANDED.search(value):
            raise VolumeError(f"{field} {value!r} must not hold blanks or any of * ? [ ] \\")


def check_address(server: str) -> None:
    """Raises: VolumeError."""
    try:
        ipaddress.ip_address(server)
    except ValueError as error:
        raise VolumeError(f"the endpoints hold {server!r}, which is no address") from error


def find_source(use: VolumeUse) -> GlusterfsSource | None:
    if use.inline is not None:
        return use.inline.glusterfs
    return use.volume.spec.glusterfs if use.volume is not None else None


def get_source(use: VolumeUse) -> GlusterfsSource:
    """Raises: VolumeError."""
    if (source := find_source(use)) is None:
        raise VolumeError("spec does not reference a GlusterFS volume type")
    return source


def is_read_only(use: VolumeUse) -> bool:
    """Of a persistent volume the pod's claim says it, not the volume."""
    return use.read_only if use.inline is None else get_source(use).read_only


def log_file(layout: Layout, name: str, pod_uid: str) -> Path:
    """By the pod's uid, not its name as in Kubernetes: who tears down knows no other."""
    return layout.plugin(NAME) / "logs" / name / f"{pod_uid}-glusterfs.log"


def remove_log(path: Path) -> None:
    """With its directory, unless other pods have theirs there. Nothing there is a success."""
    with refusals(f"remove {path}"):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        path.parent.rmdir()


def read_end(path: Path) -> str:
    """The last lines of the client's log; nothing when it could not be read."""
    try:
        with path.open("rb") as file:
            file.seek(-min(LOG_BYTES, os.fstat(file.fileno()).st_size), os.SEEK_END)
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-LOG_LINES:])


def with_log(error: str, told: str) -> str:
    if not told:
        return error
    return (
        f"{error} the following error information was pulled from the glusterfs log"
        f" to help diagnose this issue: {told}"
    )
