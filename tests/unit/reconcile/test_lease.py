import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.errors import ConnectionLost, ServerError
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.reconcile.lease import LeaderElection
from tests.fakes.client import FakeClient, FakeServer
from tests.fakes.clock import VirtualClock, settle

KEY = Key("kube-system", "binder")
START = "2026-01-02T03:04:05.000000Z"


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
        chance = Random(identity)  # noqa: S311 - repeatable, not secret
        election = LeaderElection(self.client, self.clock, chance, KEY, identity)
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


async def test_the_first_candidate_leads_at_once() -> None:
    async with a_world() as world:
        world.candidate("a").start()
        await settle()
        assert world.leaders == ["a"]
        spec = world.lease.spec
        assert (spec.holder_identity, spec.lease_duration_seconds) == ("a-1", 15)
        assert (spec.acquire_time, spec.renew_time) == (START, START)
        assert spec.lease_transitions == 0


async def test_the_leader_renews_every_two_seconds() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.start()
        await world.clock.advance(21)
        assert a.client.calls.count("patch Lease kube-system/binder") == 10
        assert world.lease.spec.renew_time == "2026-01-02T03:04:25.000000Z"
        assert world.lease.spec.acquire_time == START


async def test_others_wait() -> None:
    async with a_world() as world:
        for name in "abc":
            world.candidate(name).start()
        await world.clock.advance(600)
        assert len(world.leaders) == world.terms == 1


async def test_a_leader_that_stops_hands_over_at_once() -> None:
    async with a_world() as world:
        a, b = world.candidate("a"), world.candidate("b")
        a.start()
        await settle()
        b.start()
        await world.clock.advance(10)
        await a.stop()
        spec = world.lease.spec
        assert (spec.holder_identity, spec.lease_duration_seconds) == ("", 1)
        assert await world.until(lambda: world.leaders == ["b"], most=5) <= 4.5
        spec = world.lease.spec
        assert (spec.holder_identity, spec.lease_transitions) == ("b-1", 1)
        assert spec.acquire_time == spec.renew_time != START


async def test_the_lease_is_not_released_before_the_work_has_come_to_rest() -> None:
    async with a_world() as world:
        a = world.candidate("a", rest=3)
        a.start()
        await settle()
        await a.stop()
        await world.clock.advance(2.9)
        assert world.lease.spec.holder_identity == "a-1"
        await world.clock.advance(0.1)
        assert world.lease.spec.holder_identity == ""


async def test_a_leader_that_died_is_followed_when_its_lease_has_run_out() -> None:
    async with a_world() as world:
        a, b = world.candidate("a"), world.candidate("b")
        a.start()
        await settle()
        b.start()
        await world.clock.advance(9)
        a.client.is_offline = True
        await a.stop()  # offline, it cannot release
        assert world.lease.spec.holder_identity == "a-1"
        assert 14 <= await world.until(lambda: world.leaders == ["b"], most=30) <= 20
        assert world.lease.spec.lease_transitions == 1


async def test_a_leader_that_is_cut_off_stops_before_another_starts() -> None:
    async with a_world() as world:
        a, b = world.candidate("a", rest=1), world.candidate("b")
        a.start()
        await settle()
        b.start()
        await world.clock.advance(20)
        a.client.stall()
        assert 8 <= await world.until(lambda: world.leaders == [], most=30) <= 11.5
        assert await world.until(lambda: world.leaders == ["b"], most=30) >= 3
        a.client.go_on()
        await world.clock.advance(60)
        assert world.leaders == ["b"]


async def test_a_short_outage_changes_nothing() -> None:
    async with a_world() as world:
        a, b = world.candidate("a"), world.candidate("b")
        a.start()
        await settle()
        b.start()
        a.client.is_offline = True
        await world.clock.advance(7)
        a.client.go_on()
        await world.clock.advance(60)
        assert (world.leaders, world.terms) == (["a"], 1)


async def test_a_renewal_whose_answer_was_lost_is_found_out_about() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.start()
        await settle()
        a.client.fail("patch", ConnectionLost("lost"), times=3, applied=True)
        await world.clock.advance(60)
        assert (world.leaders, world.terms) == (["a"], 1)


async def test_a_leader_that_sees_another_in_its_place_stops_at_once() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.start()
        await settle()
        world.server.patch(world.lease, {"spec": {"holderIdentity": "usurper"}}, {})
        await world.clock.advance(2)
        assert world.leaders == []


async def test_a_lease_deleted_by_hand_is_given_up_then_fought_for_again() -> None:
    async with a_world() as world:
        world.candidate("a").start()
        await settle()
        world.server.delete(world.lease)
        await world.clock.advance(2)
        assert (world.leaders, world.terms) == (["a"], 2)


async def test_an_answer_that_comes_too_late_makes_no_leader() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.client.latency = lambda: (0.0, 9.0)  # get and create together are too slow
        a.start()
        await world.clock.advance(200)
        assert world.terms == 0


async def test_a_term_begins_when_the_renewal_was_sent_not_when_its_answer_came() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.start()
        await settle()
        a.client.latency = lambda: (0.0, 7.0)
        await world.clock.advance(9.5)  # sent at 2, answered at 9
        a.client.stall()
        await world.clock.advance(2)
        assert world.leaders == ["a"]
        await world.clock.advance(1)
        assert world.leaders == []


async def test_a_process_that_slept_through_its_term_does_not_begin_to_lead() -> None:
    async with a_world() as world:
        clock = OwnClock(world.clock)

        class Sleepy(FakeClient):
            async def create(self, kind: Any, doc: Any) -> Any:
                created = await super().create(kind, doc)
                clock.ahead += 11
                return created

        a = world.candidate("a")
        a.client = Sleepy(world.server, clock)
        a.clock = clock
        a.start()
        await settle()
        assert world.lease.spec.holder_identity == "a-1"
        assert world.terms == 0
        await world.clock.advance(5)
        assert world.leaders == ["a"], "renewed, it leads"


async def test_a_server_out_of_reach_does_not_hold_up_the_end() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.start()
        await settle()
        a.client.stall()
        await a.stop()
        await world.clock.advance(2)
        assert not a.is_running


async def test_trouble_with_the_server_is_waited_out() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.client.fail("get", ServerError("oh"), times=3)
        a.client.fail("create", ConnectionLost("lost"), applied=True)
        a.start()
        await world.clock.advance(30)
        assert (world.leaders, world.terms) == (["a"], 1)


async def run_once(world: World, lead: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
    client = FakeClient(world.server, world.clock)
    chance = Random(1)  # noqa: S311 - repeatable, not secret
    election = LeaderElection(client, world.clock, chance, KEY, "me")
    task = asyncio.create_task(election.run(lead))
    await world.clock.advance(1)
    return task


async def test_work_that_ends_by_itself_ends_the_election() -> None:
    async def lead() -> None:
        await settle(2)

    async with a_world() as world:
        task = await run_once(world, lead)
        await task
        assert not world.lease.is_held


async def test_work_that_fails_releases_and_fails() -> None:
    async def lead() -> None:
        raise ZeroDivisionError

    async with a_world() as world:
        task = await run_once(world, lead)
        with pytest.raises(ExceptionGroup):
            await task
        assert not world.lease.is_held


# Any schedule: clocks that disagree and drift, networks that stall, delay, drop and lose answers,
# processes that stop and start. `Candidate.lead` checks that nobody else leads.

WHO = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["offline", "stall", "go on", "stop", "start"]), WHO),
        st.tuples(st.just("slow"), WHO, st.sampled_from([0.0, 1.0, 4.0, 8.0, 12.0])),
        st.tuples(st.just("lose answers"), WHO, st.integers(1, 4)),
        st.tuples(st.just("pass"), st.sampled_from([0.5, 3.0, 9.0, 14.0, 17.0])),
    ),
    max_size=40,
)
CLOCKS = st.tuples(st.sampled_from([0.9, 1.0, 1.1]), st.sampled_from([-500.0, 0.0, 3600.0]))


def slow_network(seed: int, most: float) -> Callable[[], tuple[float, float]]:
    chance = Random(seed)  # noqa: S311 - repeatable, not secret
    return lambda: (chance.uniform(0, most), chance.uniform(0, most))


async def take(world: World, step: tuple[Any, ...], seed: int) -> None:
    match step:
        case ("pass", seconds):
            await world.clock.advance(seconds)
        case ("offline", who):
            world.candidates[who].client.is_offline = True
        case ("stall", who):
            world.candidates[who].client.stall()
        case ("go on", who):
            world.candidates[who].client.go_on()
        case ("stop", who):
            await world.candidates[who].stop()
        case ("start", who) if not world.candidates[who].is_running:
            world.candidates[who].start()
        case ("slow", who, most):
            world.candidates[who].client.latency = slow_network(seed, most)
        case ("lose answers", who, times):
            for verb in ("get", "create", "patch"):
                world.candidates[who].client.fail(
                    verb, ConnectionLost("lost"), times=times, applied=True
                )
        case _:
            pass


@given(steps=STEPS, clocks=st.tuples(CLOCKS, CLOCKS, CLOCKS), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_never_two_leaders_and_always_one_in_the_end(
    steps: list[tuple[Any, ...]], clocks: tuple[tuple[float, float], ...], seed: int
) -> None:
    async def play() -> None:
        async with a_world() as world:
            for name, (rate, ahead) in zip("abc", clocks, strict=True):
                world.candidate(name, rate, ahead, rest=2).start()
            for number, step in enumerate(steps):
                await take(world, step, seed + number)
            for candidate in world.candidates:
                candidate.client.go_on()
                candidate.client.latency = lambda: (0.0, 0.0)
            await world.clock.advance(10)  # whoever was told to stop has stopped
            for candidate in world.candidates:
                if not candidate.is_running:
                    candidate.start()
            await world.clock.advance(60)
            assert len(world.leaders) == 1
            assert all(candidate.is_running for candidate in world.candidates)

    asyncio.run(play())
