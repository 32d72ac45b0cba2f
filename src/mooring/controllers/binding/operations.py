"""Slow operations, each under a name: one at a time per name, any number of names at once.

What fails is kept from starting again for a while that doubles with every failure; whoever asked
for it is called when the time has come.
"""

import asyncio
from collections.abc import Awaitable, Callable

from mooring import log
from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.reconcile.backoff import Backoff
from mooring.reconcile.poison import set_aside

_log = log.get("mooring.binding")

PAUSES = Backoff(first=0.5, cap=122.0)

Work = Callable[[], Awaitable[None]]
Later = Callable[[float], None]
"""Told after how many seconds the operation may be asked for again."""


def name_of(act: str, subject: object, uid: str) -> str:
    """`delete-disk[<uid>]`: what is done to which object; another of its name is another."""
    return f"{act}-{subject}[{uid}]"


class _Failures:
    __slots__ = ("count", "until")

    def __init__(self) -> None:
        self.count = 0
        self.until = 0.0


class Operations:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: set[str] = set()
        self._missed: set[str] = set()  # asked for again while they were running
        self._failures: dict[str, _Failures] = {}
        self._orders: asyncio.Queue[tuple[str, Work, Later]] = asyncio.Queue()

    def start(self, name: str, work: Work, later: Later) -> None:
        """Begin, unless it is running or has failed a moment ago."""
        if name in self._running:
            self._missed.add(name)
            return
        failed = self._failures.get(name)
        if failed is not None and (left := failed.until - self._clock.monotonic()) > 0:
            later(left)
            return
        self._running.add(name)
        self._orders.put_nowait((name, work, later))

    def forget(self, name: str) -> None:
        """Its object is gone, and with it the memory of failures."""
        self._failures.pop(name, None)

    async def run(self) -> None:
        """Carry out what is started, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                name, work, later = await self._orders.get()
                tasks.create_task(self._carry_out(name, work, later), name=name)

    async def _carry_out(self, name: str, work: Work, later: Later) -> None:
        try:
            await work()
        except MooringError as error:
            _log.info("operation failed", operation=name, because=error)
            self._put_off(name, later)
        except Exception:  # noqa: BLE001 - one broken operation must not end all others
            set_aside("volume operations", name)
            self._put_off(name, later)
        else:
            self._failures.pop(name, None)
            if name in self._missed:
                later(0.0)
        finally:
            self._missed.discard(name)
            self._running.discard(name)

    def _put_off(self, name: str, later: Later) -> None:
        now = self._clock.monotonic()
        self._forget_before(now - PAUSES.cap)
        failed = self._failures.setdefault(name, _Failures())
        failed.count += 1
        seconds = PAUSES.delay(failed.count)
        failed.until = now + seconds
        later(seconds)

    def _forget_before(self, moment: float) -> None:
        """Nobody has asked for these again: their objects are gone."""
        for name in [name for name, failed in self._failures.items() if failed.until < moment]:
            del self._failures[name]
