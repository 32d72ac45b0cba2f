"""The bundled driver in a process of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

import uvloop

from mooring.clock import RealClock
from mooring.driver.core import Core
from mooring.driver.serve import open_driver, serving
from mooring.driver.settings import NAME, Settings, checked
from mooring.errors import UsageError
from mooring.host.directory_lock import DirectoryLock
from mooring.host.loop_watch import LoopWatch
from mooring.host.mount import Mounts
from mooring.stack.metrics_page import Say
from mooring.stack.process import stop_asked

LOCK = "mooring.lock"


def run_driver(settings: Settings, endpoint: str, say: Say) -> None:
    """Run until SIGTERM or SIGINT; `say` is told when it can be called. Raises: UsageError."""
    with driver_of(settings) as core:
        uvloop.run(_serve(core, endpoint, say))


@contextmanager
def driver_of(settings: Settings) -> Iterator[Core]:
    """A driver that has its state directory to itself while the context is entered.

    Raises: UsageError.
    """
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


async def _serve(core: Core, endpoint: str, say: Say) -> None:
    stop = stop_asked()
    with LoopWatch():
        async with serving(core, endpoint):
            say(f"{NAME} is serving at {endpoint}")
            await stop.wait()
