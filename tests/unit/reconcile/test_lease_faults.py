"""Any schedule: clocks that disagree and drift, networks that stall, delay, drop and lose answers,
processes that stop and start. `Candidate.lead` checks that nobody else leads."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.errors import ConnectionLost
from tests.unit.reconcile.election_world import World, a_world

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
    rng = Random(seed)  # noqa: S311 - repeatable, not secret
    return lambda: (rng.uniform(0, most), rng.uniform(0, most))


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
@settings(max_examples=settings().max_examples // 4, deadline=None)
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
