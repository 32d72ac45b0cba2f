"""A leader that lost its lease and does not come to rest cannot act beside the next one."""

import asyncio
from random import Random
from typing import Any

import pytest

from mooring.model.config_map import ConfigMap
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.reconcile.leadership import FencedClient, Leadership, NotLeading
from mooring.reconcile.lease import LeaderCallbacks, LeaderElection, Terms
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.unit.reconcile.election_world import KEY

SHORT = Terms(lease=3, renew_deadline=2.0, retry=0.3)
CLEANING_SECONDS = 6.0


class Process:
    """Writes every tenth of a second while it leads, and for six seconds after it was told to stop:
    its clean-up."""

    def __init__(self, world: "World", name: str) -> None:
        self.name = name
        self.is_leading = False
        self.is_overdue = False
        self.refused = 0
        self._world = world
        self._count = 0
        self.client = FakeClient(world.server, world.clock)
        told = LeaderCallbacks(overdue=self._overdue)
        rng = Random(name)  # noqa: S311 - repeatable, not secret
        self.election = LeaderElection(self.client, world.clock, rng, KEY, name, SHORT, told)
        self.fenced = FencedClient(FakeClient(world.server, world.clock), self.election.leadership)
        self.task = asyncio.create_task(self.election.run(self._lead))

    async def _lead(self) -> None:
        self.is_leading = True
        try:
            await self._write_for(1e9)
        except asyncio.CancelledError:
            await self._write_for(CLEANING_SECONDS)
            raise
        finally:
            self.is_leading = False

    async def _write_for(self, seconds: float) -> None:
        end = self._world.clock.monotonic() + seconds
        while self._world.clock.monotonic() < end:
            self._count += 1
            metadata = {"namespace": "ns", "name": f"{self.name}-{self._count}"}
            try:
                await self.fenced.create(ConfigMap, {"metadata": metadata})
                self._world.wrote.append((self._world.clock.monotonic(), self.name))
            except NotLeading:
                self.refused += 1
            await self._world.clock.sleep(0.1)

    def _overdue(self) -> None:
        self.is_overdue = True


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.wrote: list[tuple[float, str]] = []  # when, and who

    async def close(self, *processes: Process) -> None:
        for process in processes:
            process.task.cancel()
        await self.clock.advance(60)
        await asyncio.gather(*(process.task for process in processes), return_exceptions=True)


async def test_a_leader_that_is_cut_off_and_cleans_up_for_long_writes_beside_nobody() -> None:
    world = World()
    a = Process(world, "a")
    await settle()
    b = Process(world, "b")
    await world.clock.advance(5)
    a.client.is_offline = True  # its election does not reach the server; its writes would
    await world.clock.advance(20)
    assert b.is_leading
    last = max(at for at, who in world.wrote if who == "a")
    first = min(at for at, who in world.wrote if who == "b")
    assert last < first
    assert a.refused > 20
    assert a.is_overdue
    await world.close(a, b)


async def test_a_leader_in_whose_place_another_is_stops_writing_when_it_sees_that() -> None:
    world = World()
    a = Process(world, "a")
    await world.clock.advance(1)
    thief: dict[str, Any] = {"spec": {"holderIdentity": "b"}}
    world.server.patch(world.server.get(Lease, KEY), thief, {})
    await world.clock.advance(1)
    assert a.refused > 0
    assert a.is_leading  # it cleans up
    await world.close(a)


async def test_a_leader_that_is_not_at_rest_does_not_begin_to_lead_anew() -> None:
    world = World()
    a = Process(world, "a")
    await world.clock.advance(1)
    a.client.is_offline = True
    await world.clock.advance(4)
    a.client.go_on()
    await world.clock.advance(1)
    assert a.is_overdue
    with pytest.raises(NotLeading):
        a.election.leadership.check()
    await world.clock.advance(10)
    a.election.leadership.check()  # at rest, then leader again
    await world.close(a)


async def test_a_leader_that_stops_in_order_may_write_until_it_is_at_rest() -> None:
    world = World()
    a = Process(world, "a")
    await world.clock.advance(1)
    a.task.cancel()
    await world.clock.advance(CLEANING_SECONDS + 1)
    assert a.refused == 0
    assert not a.is_overdue
    with pytest.raises(NotLeading):
        a.election.leadership.check()
    await world.close(a)


async def test_nobody_leads_before_an_election() -> None:
    leadership = Leadership(VirtualClock(), Key("ns", "lease"))
    with pytest.raises(NotLeading, match="ns/lease"):
        leadership.check()


async def test_every_write_is_fenced_and_no_read() -> None:
    clock = VirtualClock()
    server = FakeServer(clock)
    leadership = Leadership(clock, KEY)
    client = FencedClient(FakeClient(server, clock), leadership)
    made = server.create(ConfigMap, {"metadata": {"namespace": "ns", "name": "x"}})
    writes = (
        lambda: client.create(ConfigMap, {"metadata": {"namespace": "ns", "name": "y"}}),
        lambda: client.patch(made, {"data": {"a": "b"}}),
        lambda: client.patch_both(made, {"data": {"a": "b"}}, {}),
        lambda: client.delete(made),
    )
    for write in writes:
        with pytest.raises(NotLeading):
            await write()
    assert (await client.get(ConfigMap, made.key)).uid == made.uid
    assert len((await client.list(ConfigMap)).items) == 1
    leadership.lasts_until(clock.monotonic() + 1)
    await client.patch(made, {"data": {"a": "b"}})
