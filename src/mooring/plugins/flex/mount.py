"""Mounting a volume for a pod by its driver, and taking it back."""

from collections.abc import Mapping
from pathlib import Path

from mooring import log
from mooring.errors import ApiError, ConnectionLost, HostError, MooringError
from mooring.host import ownership
from mooring.host.blocking import in_thread
from mooring.host.cleanup import PathState, clean_up, examine, remove_empty
from mooring.host.ownership import ChangePolicy, FsGroup
from mooring.model.pod import Pod
from mooring.model.secret_value import SecretValue
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import (
    Attributes,
    MountRequest,
    NotStarted,
    Uncertain,
    Usage,
    VolumeError,
)
from mooring.plugins.directories import make_directories
from mooring.plugins.flex import records
from mooring.plugins.flex.driver import Driver
from mooring.plugins.flex.options import Options, mount_options
from mooring.plugins.flex.paths import device_mount
from mooring.plugins.flex.reply import Call
from mooring.plugins.flex.source import is_read_only, secret_key
from mooring.plugins.measure import measure_filesystem
from mooring.plugins.slow_walk import SlowWalk
from mooring.plugins.volume_host import Host

_log = log.get("mooring.plugins.flex")


class FlexMounter:
    def __init__(self, driver: Driver, host: Host, use: VolumeUse, pod: Pod) -> None:
        self.path = host.layout.volume(pod.uid, driver.name, use.name)
        self._read_only = is_read_only(use)
        self.attributes = Attributes(
            read_only=self._read_only,
            is_managed=not self._read_only,
            wants_relabel=driver.capabilities.selinux_relabel,
        )
        self._driver = driver
        self._host = host
        self._use = use
        self._pod = pod

    async def set_up(self, request: MountRequest) -> None:
        """What is mounted is left alone, but for a walk for the group that was cut off."""
        if await in_thread(self._host.mounts.is_mount_point, self.path):
            await self._give_to_group(request, ChangePolicy.ON_ROOT_MISMATCH)
            return
        secret = await self._secret()
        options = mount_options(self._use, self._pod, secret, request.fs_group)
        await in_thread(make_directories, self.path)
        try:
            await self._mount(options)
        except MooringError as error:
            await self._undo(error)
            raise
        await self._give_to_group(request, ChangePolicy(request.ownership.value))

    async def usage(self) -> Usage | None:
        if not self._driver.capabilities.supports_metrics:
            return None
        return await in_thread(measure_filesystem, self.path)

    async def _secret(self) -> Mapping[str, SecretValue] | None:
        """Raises: NotStarted, VolumeError."""
        key = secret_key(self._use, self._pod.namespace)
        if key is None:
            return None
        failed = f"couldn't get secret {key.namespace}/{key.name} err: "
        try:
            secret = await self._host.objects.secret(key)
        except (ApiError, ConnectionLost) as error:
            raise NotStarted(f"{failed}{error}") from error
        if secret.type != self._driver.name:
            raise NotStarted(f"{failed}cannot get secret of type {self._driver.name}")
        return secret.data

    async def _mount(self, options: Options) -> None:
        if await self._driver.ask(Call.MOUNT, str(self.path), options) is None:
            await in_thread(self._bind)

    def _bind(self) -> None:
        """Of what is mounted once for all pods, for a driver that leaves that to the node."""
        source = device_mount(self._host.layout, self._driver.name, self._use.name)
        if not self._host.mounts.is_mount_point(source):
            # Else the pod would write to the node's own disk, and find nothing of it later.
            raise VolumeError(f"no device is mounted at {source}, and the driver does not mount")
        records.check(source, self._use)
        self._host.mounts.bind(source, self.path, ["ro"] if self._read_only else [])

    async def _undo(self, error: MooringError) -> None:
        """Nothing is left of a failed mount. Raises: Uncertain when something is."""
        try:
            if await in_thread(self._host.mounts.is_mount_point, self.path):
                await unmount(self._driver, self._host, self.path)
            else:
                await in_thread(remove_empty, self.path)
        except MooringError as left:
            raise Uncertain(f"{error}; and what it has left cannot be undone: {left}") from error

    async def _give_to_group(self, request: MountRequest, policy: ChangePolicy) -> None:
        """A walk that fails is no failure of the mount, as in Kubernetes."""
        can = self._driver.capabilities.fs_group and not self._read_only
        if request.fs_group is None or not can:
            return
        group = FsGroup(request.fs_group, policy=policy)
        news = SlowWalk(request.tell, self._host.clock, self.path, self._pod.uid)
        try:
            await in_thread(ownership.apply, self.path, group, news)
        except HostError as error:
            _log.warning("fsGroup not applied", volume=self._use.name, error=error)


class FlexUnmounter:
    def __init__(self, driver: Driver, host: Host, name: str, pod_uid: str) -> None:
        self.path = host.layout.volume(pod_uid, driver.name, name)
        self._driver = driver
        self._host = host

    async def tear_down(self) -> None:
        # Look for the mount first: one that hangs can be unmounted, but not examined.
        is_mounted = await in_thread(self._host.mounts.is_mount_point, self.path)
        if not is_mounted and await in_thread(_is_missing, self.path):
            return
        await unmount(self._driver, self._host, self.path)


async def unmount(driver: Driver, host: Host, path: Path) -> None:
    """By the driver, or by the node if the driver leaves it that. Raises: VolumeError."""
    if await driver.ask(Call.UNMOUNT, str(path)) is None:
        await in_thread(clean_up, host.mounts, path)
        return
    if await in_thread(host.mounts.is_mount_point, path):
        raise VolumeError(f"{path} is still mounted, although the driver says Success")
    await in_thread(remove_empty, path)  # the driver may have done it


def _is_missing(path: Path) -> bool:
    """What cannot be examined is left to the driver."""
    try:
        return examine(path) is PathState.MISSING
    except HostError as error:
        _log.warning("a volume cannot be examined", path=path, error=error)
        return False
