"""Logs that do not fill the disk: a full one is put aside, and the oldest of those are removed."""

import asyncio
from datetime import datetime
from pathlib import Path

from mooring import log
from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.host.blocking import in_thread
from mooring.host.refusal import refusals
from mooring.node.pods.files import log_parts
from mooring.oci.contract import Containers, State

LOOK_SECONDS = 10.0
MOST_BYTES = 10 * 1024 * 1024
MOST_PARTS = 5

_log = log.get("mooring.node.logs")


class LogRotation:
    """`run` runs it until cancelled; while nothing runs, it sleeps."""

    def __init__(self, containers: Containers, clock: Clock) -> None:
        self._containers = containers
        self._clock = clock
        self._has_work = asyncio.Event()

    def wake(self) -> None:
        """A container runs."""
        self._has_work.set()

    async def run(self) -> None:
        while True:
            await self._has_work.wait()
            await self._clock.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        running = {
            one.id: one.log_path for one in self._containers.list() if one.state is State.RUNNING
        }
        if not running:
            self._has_work.clear()
            return
        for id in await in_thread(_find_full, running):
            try:
                await in_thread(_put_aside, running[id], self._clock.now())
                await self._containers.reopen_log(id)
            except MooringError as error:
                _log.warning("a log grows on", path=running[id], because=error)


def _find_full(logs: dict[str, Path]) -> list[str]:
    """Also those that were put aside before a crash, and are still written to."""
    return [id for id, path in logs.items() if _is_due(path)]


def _is_due(path: Path) -> bool:
    try:
        return path.stat().st_size >= MOST_BYTES
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _put_aside(path: Path, now: datetime) -> None:
    """Repeated: nothing more is put aside. Raises: HostError."""
    with refusals(f"rotate {path}"):
        if path.exists():
            path.rename(path.with_name(f"{path.name}.{now:%Y%m%d-%H%M%S}"))
        older = [part for part in log_parts(path) if part != path]
        for part in older[: len(older) - (MOST_PARTS - 1)] if len(older) >= MOST_PARTS else ():
            part.unlink(missing_ok=True)
