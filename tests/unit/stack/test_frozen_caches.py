"""Caches are exempted from garbage collection while they fill."""

import asyncio
import gc
from collections.abc import Iterable, Iterator

import pytest
from prometheus_client.registry import Collector

from mooring.stack.frozen_caches import gc_frozen
from tests.fakes.clock import VirtualClock, settle

MANY = 50_000


class Filling:
    """A role whose cache is full when it is told so."""

    name = "filling"

    def __init__(self) -> None:
        self.is_full = asyncio.Event()

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def synced(self) -> None:
        await self.is_full.wait()

    def collectors(self) -> Iterable[Collector]:
        return ()


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


def cached() -> list[list[str]]:
    return [[] for _ in range(MANY)]


async def test_a_cache_is_spared_slice_by_slice_while_it_fills() -> None:
    role, clock, caches = Filling(), VirtualClock(), []
    async with gc_frozen([role], clock):
        for _ in range(2):
            await settle()
            before = gc.get_freeze_count()
            caches.append(cached())
            await clock.advance(0.1)
            assert gc.get_freeze_count() >= before + MANY
            assert len(gc.get_objects(2)) < MANY, "what is left for the collector to look at"
        role.is_full.set()


async def test_what_came_last_is_spared_when_all_roles_are_synced() -> None:
    first, second, clock = Filling(), Filling(), VirtualClock()
    async with gc_frozen([first, second], clock):
        await settle()
        before = gc.get_freeze_count()
        kept = cached()
        first.is_full.set()
        await settle()
        assert gc.get_freeze_count() == before
        second.is_full.set()
        await settle()
        assert gc.get_freeze_count() >= before + len(kept)


async def test_what_roles_make_of_their_caches_is_spared_until_they_are_quiet() -> None:
    role, clock, derived = Filling(), VirtualClock(), []
    async with gc_frozen([role], clock):
        role.is_full.set()
        await settle()
        for _ in range(2):
            before = gc.get_freeze_count()
            derived.append(cached())
            await clock.advance(1.0)
            assert gc.get_freeze_count() >= before + MANY
        await clock.advance(40.0)
        before = gc.get_freeze_count()
        derived.append(cached())
        await clock.advance(1.0)
        assert gc.get_freeze_count() == before


async def test_little_is_not_frozen_again_and_again_while_a_server_is_away() -> None:
    clock = VirtualClock()
    async with gc_frozen([Filling()], clock):
        await clock.advance(0.1)
        before = gc.get_freeze_count()
        await clock.advance(2.0)
        assert gc.get_freeze_count() == before


class Knot:
    """Only a look at the garbage removes it."""

    def __init__(self) -> None:
        self.itself = self


async def test_what_comes_and_goes_while_a_server_is_away_is_not_kept_for_ever() -> None:
    clock = VirtualClock()
    async with gc_frozen([Filling()], clock):
        await clock.advance(0.1)
        before = gc.get_freeze_count()
        for _ in range(10):
            await settle()
            under_way = [Knot() for _ in range(2_000)]
            await clock.advance(0.05)  # it has outlived a look at the young garbage
            del under_way
        assert gc.get_freeze_count() == before


async def test_what_earlier_roles_left_is_collected() -> None:
    class Left:
        pass

    lost = Left()
    lost.itself = lost  # type: ignore[attr-defined]
    gc.freeze()
    del lost
    async with gc_frozen([Filling()], VirtualClock()):
        await settle()
    assert not [each for each in gc.get_objects() if type(each) is Left]
