"""The role `driver`: the bundled CSI driver, served, registered, and with default classes."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from prometheus_client.registry import Collector

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock, RealClock
from mooring.csi import registrar
from mooring.csi.registration import longest_registration_socket
from mooring.csi.serve import LONGEST_PATH
from mooring.driver.core import Core
from mooring.driver.file_names import LOCK
from mooring.driver.objects import CLASSES, DRIVER
from mooring.driver.serve import open_driver, serving
from mooring.driver.settings import NAME, DriverSettings, checked
from mooring.errors import AlreadyExists, ApiError, ConnectionLost, UsageError
from mooring.host.blocking import in_thread
from mooring.host.directory_lock import DirectoryLock
from mooring.host.mount import Mounts
from mooring.model.backoff import Backoff
from mooring.model.csi_driver import CsiDriver
from mooring.plugins.layout import Layout
from mooring.reconcile.worker import lasting

AGAIN = Backoff(first=0.2, cap=30.0)

_log = log.get("mooring.driver")


@contextmanager
def driver_of(settings: DriverSettings) -> Iterator[Core]:
    """A driver that locks its state directory while the context is entered. Raises: UsageError."""
    root = checked(settings).state_dir
    try:
        root.mkdir(0o700, parents=True, exist_ok=True)
        lock = DirectoryLock.take(root / LOCK, "--state-dir")
    except OSError as error:
        raise UsageError(f"the driver cannot use {root}: {error.strerror}") from error
    try:
        yield open_driver(settings, Mounts(), RealClock())
    finally:
        lock.release()


class Bundled(msgspec.Struct, frozen=True):
    """A driver with a locked state directory, and its socket."""

    core: Core
    socket: Path
    registrations: Path


class NoDriver(msgspec.Struct, frozen=True):
    """Why there can be none here, and what would help; one line."""

    because: str


@contextmanager
def bundled_driver(node: str, state_dir: Path, layout: Layout) -> Iterator[Bundled | NoDriver]:
    """The bundled driver, or why it cannot run here. Raises: UsageError."""
    socket = layout.plugin(NAME) / "csi.sock"
    longest = max(socket, longest_registration_socket(layout.registrations, NAME), key=_length)
    if _length(longest) > LONGEST_PATH:
        yield NoDriver(
            f"the path of its socket is longer than {LONGEST_PATH} bytes, {longest}; "
            "choose a shorter --root-dir"
        )
        return
    # Where no `rm -rf` of the data directory reaches what is mounted.
    settings = DriverSettings(node, state_dir, inline_dir=layout.plugin(NAME) / "inline")
    with driver_of(settings) as core:
        yield Bundled(core, socket, layout.registrations)


def _length(path: Path) -> int:
    return len(str(path).encode())


class DriverRole:
    """`Role`, `Settling`. `run` serves the driver; published volumes stay mounted."""

    name: Final = "driver"

    def __init__(self, client: Client, clock: Clock, bundled: Bundled) -> None:
        self._client = client
        self._clock = clock
        self._bundled = bundled
        self._is_introduced = asyncio.Event()
        self._is_registered = asyncio.Event()

    async def run(self) -> None:
        bundled = self._bundled
        endpoint = f"unix://{bundled.socket}"
        async with serving(bundled.core, endpoint), asyncio.TaskGroup() as tasks:
            tasks.create_task(lasting("introduction", self._clock, self._introduce))
            offer = registrar.Offer(NAME, str(bundled.socket), bundled.registrations)
            offered = partial(registrar.run, offer, self._is_registered.set)
            tasks.create_task(lasting("offer", self._clock, offered))

    async def synced(self) -> None:
        """Returns at once: the driver has no caches."""

    async def ready(self) -> None:
        """Return when the node knows it, and claims can name its class."""
        await self._is_introduced.wait()
        await self._is_registered.wait()

    def collectors(self) -> Iterable[Collector]:
        return ()

    async def _introduce(self) -> None:
        """Create its CSIDriver object and, once per state directory, a class of each kind."""
        failures = 0
        while True:
            try:
                await self._make_objects()
                self._is_introduced.set()
                return
            except (ApiError, ConnectionLost) as error:
                failures += 1
                _log.warning("the bundled driver is not introduced yet", because=error)
                await self._clock.sleep(AGAIN.delay(failures, 0.0))

    async def _make_objects(self) -> None:
        with suppress(AlreadyExists):
            await self._client.create(CsiDriver, DRIVER)
        for one in CLASSES:
            made = self._bundled.core.settings.state_dir / one.made
            if not await in_thread(made.exists):
                with suppress(AlreadyExists):
                    await self._client.create(one.kind, one.document)
                await in_thread(made.touch)
