"""The devices of logical volumes: active or not, mounted or not.

A volume stays active once it was staged. Readers of a raw volume have a read-only loop device on
top of it, since the logical volume itself is writable.
"""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

from mooring.driver.backends.lvm import name_of
from mooring.errors import HostError
from mooring.host import block_device, loop_device
from mooring.host.loop_device import Access
from mooring.host.lvm import Lvm, device_of

WAIT_SECONDS = 5.0
PAUSE_SECONDS = 0.1


class LvmDevices:
    """`Devices`."""

    def __init__(self, lvm: Lvm) -> None:
        self._lvm = lvm

    def find(self, image: Path, access: Access = Access.READ_WRITE) -> Path | None:
        node = self._active(image)
        if node is None or access is Access.READ_WRITE:
            return node
        return next(iter(_readers(node)), None)

    def find_or_attach(self, image: Path, access: Access = Access.READ_WRITE) -> Path:
        """Active, and with a read-only device where that is asked for."""
        found = self.find(image, access)
        if found is not None:
            return found
        node = self._active(image)
        if node is None:
            self._lvm.activate(name_of(image))
            node = self._active(image)
        if node is None:
            raise HostError(f"{self._lvm.group}/{name_of(image)} is active, and has no device")
        return node if access is Access.READ_WRITE else loop_device.attach(node, access)

    def find_all(self, image: Path) -> list[Path]:
        node = self._active(image)
        return [] if node is None else [node, *_readers(node)]

    def detach(self, device: Path) -> None:
        """Of a logical volume: nothing happens, it stays active."""
        if device.name.startswith("loop"):
            loop_device.detach(device)

    def detach_all(self, image: Path) -> None:
        for device in self.find_all(image):
            self.detach(device)

    def is_held(self, image: Path) -> bool:
        """Whether anybody has it open."""
        try:
            found = self._lvm.volumes().get(name_of(image))
        except FileNotFoundError:
            return False
        return found is not None and found.is_open

    def is_in_use(self, image: Path) -> bool:
        node = self._active(image)
        return node is not None and block_device.is_busy(node)

    def wait_unmounted(self, *images: Path) -> bool:
        return _comes_true(lambda: not any(map(self.is_in_use, images)))

    def is_soon_closed(self, image: Path) -> bool:
        return _comes_true(lambda: not self.is_held(image))

    def follow_size(self, image: Path) -> None:
        node = self._active(image)
        for device in [] if node is None else _readers(node):
            loop_device.follow_size(device)

    def _active(self, image: Path) -> Path | None:
        try:
            node = device_of(self._lvm.group, name_of(image))
        except FileNotFoundError:
            return None
        return node if block_device.is_block_device(node) else None


def _readers(node: Path) -> list[Path]:
    return [one for one in loop_device.find_all(node) if not loop_device.is_going(one)]


def _comes_true(is_so: Callable[[], bool]) -> bool:
    """Now, or within five seconds; the kernel does not say when a mount elsewhere is gone."""
    until, pause = time.monotonic() + WAIT_SECONDS, Event()
    while not is_so():
        if time.monotonic() > until:
            return False
        pause.wait(PAUSE_SECONDS)
    return True
