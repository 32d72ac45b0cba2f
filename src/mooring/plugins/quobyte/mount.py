"""quobyte: a volume of a Quobyte cluster. The node mounts the whole registry once; pods see a part.

The shared mount goes with the last pod that has such a volume: each has its directory below
`pods/`, made before anything is mounted for it.
"""

import asyncio
from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import HostError
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.cleanup import clean_up_by_force, remove_empty
from mooring.host.mount_options import bind_words
from mooring.host.mountinfo import canonical
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.removed_source import QuobyteSource
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins.contract import Attributes, MountRequest, NotStarted, Usage, VolumeError
from mooring.plugins.directories import make_directories
from mooring.plugins.hostile import check_element, check_word
from mooring.plugins.layout import VOLUMES, escaped
from mooring.plugins.server_mounts import FORCE_SECONDS, is_mounted, joined_options
from mooring.plugins.volume_host import Host

_log = log.get("mooring.plugins.quobyte")

NAME = Plugin.QUOBYTE
FS_TYPE = "quobyte"
CLIENT = Path("/sbin/mount.quobyte")
MAPPING = "allow-usermapping-in-volumename"
USER, GROUP = "root", "nfsnobody"


class QuobytePart(msgspec.Struct, frozen=True):
    """What one pod sees of a registry."""

    source: str
    element: str  # below the shared mount: who opens which volume
    options: tuple[str, ...]


class SharedMount:
    """The registry, mounted once. All of it blocks, and is called by one at a time."""

    def __init__(self, host: Host, client: Path) -> None:
        self.path = host.layout.plugin(NAME) / "registry"
        self.turn = asyncio.Lock()
        self._host = host
        self._client = client

    def mount(self, source: str) -> None:
        """Raises: VolumeError, HostError."""
        mounts = self._host.mounts
        if (found := mounts.table().find(canonical(self.path))) is not None:
            if found.source != source:
                raise VolumeError(f"this node has {found.source} mounted, and takes no other yet")
            return
        if not self._client.exists():
            raise NotStarted(f"quobyte volumes need Quobyte's client: there is no {self._client}")
        make_directories(self.path)
        mounts.mount(source, self.path, FS_TYPE, (MAPPING,))

    def release(self) -> None:
        """Unmount it unless a pod has a volume of it. Raises: HostError."""
        mine = f"*/{VOLUMES}/{escaped(NAME)}/*"
        is_used = any(self._host.layout.pods.glob(mine))
        if not is_used and is_mounted(self._host.mounts, self.path):
            self._host.mounts.unmount_by_force(self.path, FORCE_SECONDS)


class QuobyteMounter:
    def __init__(self, host: Host, use: VolumeUse, pod: Pod, shared: SharedMount) -> None:
        """Raises: VolumeError."""
        self.path = host.layout.volume(pod.uid, NAME, use.name)
        self.attributes = Attributes(read_only=is_read_only(use))
        self._mounts = host.mounts
        self._part = decide_part(use)
        self._shared = shared

    async def set_up(self, request: MountRequest) -> None:
        """Files keep the groups that they have in Quobyte, whatever fsGroup says."""
        async with self._shared.turn:
            with taking(LONG_SECONDS):
                await in_thread(self._mount)

    async def usage(self) -> Usage | None:
        """None, as in Kubernetes: it would be that of the whole registry."""
        return None

    def _mount(self) -> None:
        if is_mounted(self._mounts, self.path):
            return
        make_directories(self.path)
        try:
            self._shared.mount(self._part.source)
            files = self._shared.path / self._part.element
            self._mounts.bind(files, self.path, self._part.options)
        except (HostError, VolumeError):
            self._undo()
            raise

    def _undo(self) -> None:
        try:
            if is_mounted(self._mounts, self.path):
                self._mounts.unmount(self.path)
            remove_empty(self.path)
            self._shared.release()
        except HostError as error:
            _log.warning("a mount point is left", path=self.path, error=error)


class QuobyteUnmounter:
    def __init__(self, host: Host, name: str, pod_uid: str, shared: SharedMount) -> None:
        self.path = host.layout.volume(pod_uid, NAME, name)
        self._mounts = host.mounts
        self._shared = shared

    async def tear_down(self) -> None:
        async with self._shared.turn:
            with taking(2 * FORCE_SECONDS + LONG_SECONDS):
                await in_thread(clean_up_by_force, self._mounts, self.path, FORCE_SECONDS)
                await in_thread(self._shared.release)


class Quobyte:
    name = NAME
    takes_mount_options = True
    access_modes = (AccessMode.ONCE, AccessMode.READ_ONLY_MANY, AccessMode.MANY)

    def __init__(self, host: Host, client: Path = CLIENT) -> None:
        self._host = host
        self._shared = SharedMount(host, client)

    def supports(self, use: VolumeUse) -> bool:
        return find_source(use) is not None

    def volume_name(self, use: VolumeUse) -> str:
        source = get_source(use)
        return f"{source.registry}:{source.volume}"

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> QuobyteMounter:
        return QuobyteMounter(self._host, use, pod, self._shared)

    def unmounter(self, name: str, pod_uid: str) -> QuobyteUnmounter:
        return QuobyteUnmounter(self._host, name, pod_uid, self._shared)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        """The registry is in the mount table; to unmount the volume it is not needed."""
        source = QuobyteSource(registry=name, volume=name)
        return VolumeUse(inline=PodVolume(name=name, quobyte=source))


def decide_part(use: VolumeUse) -> QuobytePart:
    """Raises: VolumeError."""
    source = get_source(use)
    check_word("quobyte.registry", source.registry)
    check_element("quobyte.volume", source.volume)
    user, group = source.user or USER, source.group or GROUP
    for field, value in (("user", user), ("group", group)):
        check_element(f"quobyte.{field}", value)
        if "#" in value or "@" in value:
            raise VolumeError(f"quobyte.{field} {value!r} must not hold any of # @")
    for option in use.mount_options:
        if bind_words((option,)) != (option,):
            text = f"mount option {option!r} would be that of all volumes of the registry"
            raise VolumeError(f"{text}: leave it out")
    options = joined_options(use.mount_options, ("ro",) if is_read_only(use) else ())
    element = f"{user}#{group}@{source.volume}"
    return QuobytePart(f"{source.registry}/", element, tuple(options))


def find_source(use: VolumeUse) -> QuobyteSource | None:
    if use.inline is not None:
        return use.inline.quobyte
    return use.volume.spec.quobyte if use.volume is not None else None


def get_source(use: VolumeUse) -> QuobyteSource:
    """Raises: VolumeError."""
    if (source := find_source(use)) is None:
        raise VolumeError("spec does not reference a Quobyte volume type")
    return source


def is_read_only(use: VolumeUse) -> bool:
    """Of a persistent volume the pod's claim says it, not the volume."""
    return use.read_only if use.inline is None else get_source(use).read_only
