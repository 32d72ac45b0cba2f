"""The plugins that serve the volumes of one driver: with attaching, or without."""

from mooring.model.pod import Pod
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import GrowthRequest
from mooring.plugins.flex import expand
from mooring.plugins.flex.attach import FlexAttacher
from mooring.plugins.flex.controller import FlexControl
from mooring.plugins.flex.driver import Driver
from mooring.plugins.flex.mount import FlexMounter, FlexUnmounter
from mooring.plugins.flex.source import find_driver_name, rebuilt
from mooring.plugins.volume_host import Host


class FlexPlugin:
    """Of a driver that attaches nothing: it mounts for each pod."""

    takes_mount_options = False
    access_modes = (AccessMode.ONCE, AccessMode.READ_ONLY_MANY)

    def __init__(self, driver: Driver, host: Host) -> None:
        self._driver = driver
        self._host = host

    @property
    def name(self) -> str:
        return self._driver.name

    def supports(self, use: VolumeUse) -> bool:
        return find_driver_name(use) == self.name

    def volume_name(self, use: VolumeUse) -> str:
        return use.name

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> FlexMounter:
        return FlexMounter(self._driver, self._host, use, pod)

    def unmounter(self, name: str, pod_uid: str) -> FlexUnmounter:
        return FlexUnmounter(self._driver, self._host, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        return rebuilt(self.name, name)

    async def grow(self, use: VolumeUse, new_bytes: int, old_bytes: int) -> int:
        return await FlexControl(self._driver).grow(use, new_bytes, old_bytes)

    def needs_node_growth(self, use: VolumeUse) -> bool:
        return self._driver.capabilities.requires_fs_resize

    async def grow_on_node(self, request: GrowthRequest) -> bool:
        return await expand.grow(self._driver, self._host.layout, request)


class AttachableFlexPlugin(FlexPlugin):
    """Of a driver that attaches: its device is mounted once for all pods."""

    def can_attach(self, use: VolumeUse) -> bool:
        return True

    def can_mount_device(self, use: VolumeUse) -> bool:
        return True

    def attacher(self) -> FlexAttacher:
        return FlexAttacher(self._driver, self._host)

    def detacher(self) -> FlexAttacher:
        return FlexAttacher(self._driver, self._host)

    def device_mounter(self) -> FlexAttacher:
        return FlexAttacher(self._driver, self._host)

    def device_unmounter(self) -> FlexAttacher:
        return FlexAttacher(self._driver, self._host)

    async def is_node_full(self, use: VolumeUse, node: str) -> bool:
        """A driver cannot say so."""
        return False


def flex_plugin(driver: Driver, host: Host) -> FlexPlugin:
    kind = AttachableFlexPlugin if driver.capabilities.attach else FlexPlugin
    return kind(driver, host)
