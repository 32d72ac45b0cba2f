"""Mapping an image to this node, and letting it go.

Always true:

- The directory of an image is made before its first command, and removed after its last. Its name
  tells pool and image, so what a killed node began is found and undone.
- An image that somebody else writes to is not mapped.
- An image is unmapped only if it is used neither for files nor as a device.
- Where no udev runs, `rbd` is told so: it would wait for it without end.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary

from mooring import log
from mooring.errors import HostError
from mooring.host import udev
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.command import Finished
from mooring.host.refusal import refusals
from mooring.plugins import ceph, ceph_values
from mooring.plugins.contract import VolumeError
from mooring.plugins.directories import make_directories
from mooring.plugins.rbd.image import NAME, RbdImage, global_map, global_mount
from mooring.plugins.rbd.mapped import find_device
from mooring.plugins.volume_host import Host

_log = log.get("mooring.plugins.rbd")

WATCHER_LOOKS, FIRST_PAUSE, FACTOR = 10, 1.0, 1.4  # until another's watch of the image has ended
DEVICE_LOOKS = 10  # one a second
NBD = "/dev/nbd"
KUBELETS = "rbd.json"  # of kubelets before 1.10
NO_UDEV = ("-o", "noudev")


FindDevice = Callable[[str, str], str]
"""By pool and image: the device, or ""."""


class RbdImages:
    def __init__(
        self,
        host: Host,
        run: ceph.Run,
        find: FindDevice = find_device,
        has_udev: Callable[[], bool] = udev.is_running,
    ) -> None:
        self._host = host
        self._run = run
        self._find = find
        self._has_udev = has_udev
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def attach(
        self, image: RbdImage, directory: Path, key: str, *, must_be_free: bool
    ) -> str:
        """The device. Mapped already is a success.

        Raises: VolumeError, HostError when it cannot be mapped; nothing of it is left.
        """
        turn = self._turn(image)
        async with turn:
            with taking(LONG_SECONDS):
                await in_thread(make_directories, directory)
                try:
                    return await self._attach(image, key, must_be_free=must_be_free)
                except (VolumeError, HostError):
                    await in_thread(self._give_up, image, directory)
                    raise

    async def detach(self, directory: Path) -> None:
        """Nothing there is a success. Raises: VolumeError, HostError; can be called again."""
        image = RbdImage.at(directory)
        turn = self._turn(image)
        async with turn:
            with taking(LONG_SECONDS):
                await in_thread(self._detach, image, directory)

    def _turn(self, image: RbdImage) -> asyncio.Lock:
        return self._turns.setdefault(image.spec, asyncio.Lock())

    async def _attach(self, image: RbdImage, key: str, *, must_be_free: bool) -> str:
        await in_thread(ceph.remove_private, self._keys(image))
        if found := await in_thread(self._device, image):
            return found
        if must_be_free:
            await self._wait_until_free(image, key)
        await in_thread(self._map, image, key)
        for look in range(DEVICE_LOOKS):
            if look:
                await self._host.clock.sleep(1.0)
            if found := await in_thread(self._device, image):
                return found
        raise VolumeError(f"Could not map image {image.spec}, Timeout after {DEVICE_LOOKS}s")

    async def _wait_until_free(self, image: RbdImage, key: str) -> None:
        pause = FIRST_PAUSE
        for look in range(WATCHER_LOOKS):
            if look:
                await self._host.clock.sleep(pause)
                pause *= FACTOR
            if not await in_thread(self._is_watched, image, key):
                return
        raise VolumeError(f"rbd image {image.spec} is still being used")

    def _keys(self, image: RbdImage) -> Path:
        """For the time of one command; its user has the turn."""
        return self._host.layout.plugin(NAME) / "keys" / image.place

    def _device(self, image: RbdImage) -> str:
        return self._find(image.pool, image.image)

    def _is_watched(self, image: RbdImage, key: str) -> bool:
        ended = self._as_user(image, key, ("rbd", "status", image.image, "--pool", image.pool))
        if ended.code:
            raise VolumeError(
                f"fail to check rbd image status with: ({ended.status}),"
                f" rbd output: ({ended.output})"
            )
        return "watcher=" in ended.output

    def _map(self, image: RbdImage, key: str) -> None:
        """By the kernel's own driver; by rbd-nbd, if that is here, where the kernel cannot."""
        self._load("rbd")
        ended = self._as_user(image, key, ("rbd", "map", image.spec, *self._waiting()))
        if ended.code and self._device(image):
            return  # mapped all the same: a second mapping would write beside the first
        if ended.code and self._has_nbd():
            _log.warning("rbd map failed, rbd-nbd is tried", image=image.spec, status=ended.status)
            ended = self._as_user(image, key, ("rbd-nbd", "map", image.spec))
        if ended.code:
            raise VolumeError(f"rbd: map failed {ended.status}, rbd output: {ended.output}")

    def _waiting(self) -> tuple[str, ...]:
        """Options that say what `rbd` waits for."""
        return () if self._has_udev() else NO_UDEV

    def _has_nbd(self) -> bool:
        self._load("nbd")
        try:
            return not self._run("rbd-nbd", "--version").code
        except HostError:
            return False  # it is not installed

    def _load(self, module: str) -> None:
        try:
            loaded = self._run("modprobe", module)
            if loaded.code:
                _log.warning(f"modprobe {module} failed", output=loaded.output)
        except HostError as error:
            _log.warning(f"modprobe {module} failed", error=error)

    def _as_user(self, image: RbdImage, key: str, argv: tuple[str, ...]) -> Finished:
        """With the key in a file: `--key` would show it to every user of the machine."""
        argv = (*argv, "--id", image.user, "-m", ",".join(image.monitors))
        if not key:
            return self._run(*argv, "-k", image.keyring)
        content = ceph_values.keyring(image.user, key)
        with ceph.private_file(self._keys(image), "keyring", content) as path:
            return self._run(*argv, "-k", str(path))

    def _give_up(self, image: RbdImage, directory: Path) -> None:
        """What failed leaves no mapping, unless even that fails: then its directory stays."""
        try:
            if not self._host.mounts.is_mount_point(directory):
                self._detach(image, directory)
        except (VolumeError, HostError) as error:
            _log.warning("an image is left mapped", image=image.spec, error=error)

    def _detach(self, image: RbdImage, directory: Path) -> None:
        if not directory.exists():
            return
        ceph.remove_private(self._keys(image))
        layout = self._host.layout
        others = {global_mount(layout, image), global_map(layout, image)} - {directory}
        if not any(other.exists() for other in others):
            self._unmap(image)
        with refusals(f"remove {directory}"):
            (directory / KUBELETS).unlink(missing_ok=True)
            directory.rmdir()

    def _unmap(self, image: RbdImage) -> None:
        device = self._device(image)
        if not device:
            return
        if device.startswith(NBD):
            ended = self._run("rbd-nbd", "unmap", device)
        else:
            ended = self._run("rbd", "unmap", device, *self._waiting())
        if ended.code:
            raise VolumeError(
                f"rbd: failed to unmap device {device}, error {ended.status},"
                f" rbd output: {ended.output}"
            )
