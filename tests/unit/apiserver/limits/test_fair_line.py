"""One place, by turns of origin."""

import asyncio
from collections.abc import Iterable

import pytest

from mooring.apiserver.limits.fair_line import FairLine, LineFull, LineLimits
from tests.fakes.clock import settle

PATIENT = LineLimits(most_of_one=3, most=5, seconds=60.0)


class Visitors:
    """Those who want the place; each leaves when it is told to."""

    def __init__(self, limits: LineLimits = PATIENT) -> None:
        self.line = FairLine(limits)
        self.came: list[str] = []
        self._leave = asyncio.Queue[None]()

    async def visit(self, name: str) -> None:
        async with self.line.place(name[0]):
            self.came.append(name)
            await self._leave.get()

    async def come(self, *names: str) -> "list[asyncio.Task[None]]":
        tasks = []
        for name in names:
            tasks.append(asyncio.create_task(self.visit(name)))
            await settle(5)
        return tasks

    async def go(self, count: int) -> None:
        for _ in range(count):
            self._leave.put_nowait(None)
            await settle(5)


ORDERS: dict[str, tuple[Iterable[str], list[str]]] = {
    "one origin: first come, first served": (("a1", "a2", "a3"), ["a1", "a2", "a3"]),
    "a second one waits for one of the first": (
        ("a1", "a2", "a3", "a4", "b1"),
        ["a1", "a2", "b1", "a3", "a4"],
    ),
    "all in turn": (("a1", "a2", "a3", "b1", "b2", "c1"), ["a1", "a2", "b1", "c1", "a3", "b2"]),
}


@pytest.mark.parametrize(("come", "served"), ORDERS.values(), ids=ORDERS)
async def test_turns(come: Iterable[str], served: list[str]) -> None:
    visitors = Visitors()
    await visitors.come(*come)
    assert visitors.came == served[:1]
    await visitors.go(len(served))
    assert visitors.came == served
    await visitors.come("z1")
    assert visitors.came[-1] == "z1", "it is free again"
    await visitors.go(1)


FULL = {
    "of one origin": (("a1", "a2", "a3", "a4"), "a5", "3 of a wait already"),
    "of all": (("a1", "a2", "a3", "b1", "b2", "c1"), "d1", "5 wait already"),
}


@pytest.mark.parametrize(("come", "last", "why"), FULL.values(), ids=FULL)
async def test_who_finds_it_full_is_told_so_at_once(
    come: tuple[str, ...], last: str, why: str
) -> None:
    visitors = Visitors()
    await visitors.come(*come)
    with pytest.raises(LineFull, match=why):
        await visitors.visit(last)
    await visitors.go(len(come))
    assert len(visitors.came) == len(come)


async def test_who_waits_too_long_leaves_the_line() -> None:
    visitors = Visitors(LineLimits(most_of_one=3, most=5, seconds=0.01))
    await visitors.come("a1")
    with pytest.raises(LineFull, match=r"its turn did not come in 0.01 s"):
        await visitors.visit("b1")
    await visitors.go(1)
    await visitors.come("c1")
    assert visitors.came == ["a1", "c1"]
    await visitors.go(1)


async def test_who_is_cancelled_just_as_the_place_gets_free_keeps_nobody_waiting() -> None:
    visitors = Visitors()
    first, second, _, _ = await visitors.come("a1", "b1", "b2", "c1")
    visitors._leave.put_nowait(None)  # a1 goes on in the next turn of the loop,
    second.cancel()  # in which b1 has not heard of its end yet
    await settle(5)
    assert first.done()
    assert first.exception() is None
    assert second.cancelled()
    await visitors.go(2)
    assert visitors.came == ["a1", "b2", "c1"]
    await visitors.come("d1")
    assert visitors.came[-1] == "d1"
    await visitors.go(1)


@pytest.mark.parametrize("is_its_turn", [False, True], ids=["while it waits", "as its turn comes"])
async def test_who_is_cancelled_keeps_nobody_waiting(*, is_its_turn: bool) -> None:
    visitors = Visitors()
    _, second, _ = await visitors.come("a1", "b1", "c1")
    if is_its_turn:
        visitors._leave.put_nowait(None)
        await settle(1)
    second.cancel()
    await settle(5)
    await visitors.go(2)
    assert visitors.came in (["a1", "c1"], ["a1", "b1", "c1"])
    await visitors.come("d1")
    assert visitors.came[-1] == "d1"
    await visitors.go(1)
