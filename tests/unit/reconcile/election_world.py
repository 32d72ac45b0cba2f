"""Candidates with clocks and networks of their own; none may begin to lead beside another."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from random import Random

from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.reconcile.lease import LeaderElection
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer

KEY = Key("kube-system", "binder")


class OwnClock:
    """Somebody's clock: it shows another time, and runs at another rate, than the true one."""

    def __init__(self, true: VirtualClock, rate: float = 1.0, ahead: float = 0.0) -> None:
        self.ahead = ahead
        self._true = true
        self._rate = rate

    def now(self) -> datetime:
        return self._true.now() + timedelta(seconds=self.ahead)

    def monotonic(self) -> float:
        return self.ahead + self._true.monotonic() * self._rate

    async def sleep(self, seconds: float) -> None:
        await self._true.sleep(seconds / self._rate)


class Candidate:
    """A process that wants to lead; when told to stop, it takes `rest` seconds to do so."""

    def __init__(self, world: "World", name: str, clock: OwnClock, rest: float) -> None:
        self.name = name
        self.client = FakeClient(world.server, clock)
        self.task: asyncio.Task[None] | None = None
        self._world = world
        self.clock = clock
        self._rest = rest
        self._lives = 0

    def start(self) -> None:
        self._lives += 1
        identity = f"{self.name}-{self._lives}"
        rng = Random(identity)  # noqa: S311 - repeatable, not secret
        election = LeaderElection(self.client, self.clock, rng, KEY, identity)
        self.task = asyncio.create_task(election.run(self.lead))

    async def lead(self) -> None:
        assert self._world.leaders == [], f"{self.name} leads beside {self._world.leaders}"
        self._world.leaders.append(self.name)
        self._world.terms += 1
        try:
            await self._work()
        finally:
            self._world.leaders.remove(self.name)

    async def _work(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            if self._rest:  # told to stop once more, it does not even take this time
                await self.clock.sleep(self._rest)

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await settle()

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.leaders: list[str] = []
        self.terms = 0
        self.candidates: list[Candidate] = []

    def candidate(
        self, name: str, rate: float = 1.0, ahead: float = 0.0, rest: float = 0.0
    ) -> Candidate:
        candidate = Candidate(self, name, OwnClock(self.clock, rate, ahead), rest)
        self.candidates.append(candidate)
        return candidate

    @property
    def lease(self) -> Lease:
        return self.server.get(Lease, KEY)

    async def until(self, condition: Callable[[], bool], most: float) -> float:
        """How many seconds it took."""
        start = self.clock.monotonic()
        await settle()
        while not condition():
            assert self.clock.monotonic() - start < most, "it never came"
            await self.clock.advance(0.5)
        return self.clock.monotonic() - start

    async def close(self) -> None:
        for candidate in self.candidates:
            candidate.client.go_on()
            candidate.client.latency = lambda: (0.0, 0.0)
            await candidate.stop()
        await self.clock.advance(60)
        tasks = [candidate.task for candidate in self.candidates if candidate.task]
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def a_world() -> AsyncIterator[World]:
    world = World()
    try:
        yield world
    finally:
        await world.close()
