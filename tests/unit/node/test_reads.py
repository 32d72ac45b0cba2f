"""What several ask for at a time is read once."""

import asyncio

import pytest

from mooring.errors import NotFound
from mooring.node.reads import SharedReads
from tests.fakes.clock import settle


class Source:
    """Answers with a number, when it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.most_at_once = 0
        self.gate = asyncio.Event()
        self.error: Exception | None = None
        self._now = 0

    async def ask(self) -> int:
        self.asked += 1
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            await self.gate.wait()
        finally:
            self._now -= 1
        if self.error is not None:
            raise self.error
        return self.asked


async def test_two_that_ask_the_same_share_an_answer() -> None:
    source, reads = Source(), SharedReads[int](4)
    asking = [asyncio.create_task(reads.read("claim", source.ask)) for _ in range(3)]
    await settle()
    source.gate.set()
    assert await asyncio.gather(*asking) == [1, 1, 1]


async def test_nothing_is_remembered() -> None:
    source, reads = Source(), SharedReads[int](4)
    source.gate.set()
    assert await reads.read("claim", source.ask) == 1
    assert await reads.read("claim", source.ask) == 2


async def test_different_things_are_read_side_by_side_but_not_too_many() -> None:
    source, reads = Source(), SharedReads[int](2)
    asking = [asyncio.create_task(reads.read(key, source.ask)) for key in "abcde"]
    await settle()
    source.gate.set()
    await asyncio.gather(*asking)
    assert (source.asked, source.most_at_once) == (5, 2)


async def test_a_refusal_is_shared_too() -> None:
    source, reads = Source(), SharedReads[int](4)
    source.error = NotFound("gone")
    asking = [asyncio.create_task(reads.read("claim", source.ask)) for _ in range(2)]
    await settle()
    source.gate.set()
    ends = await asyncio.gather(*asking, return_exceptions=True)
    assert [str(end) for end in ends] == ["gone", "gone"]
    assert source.asked == 1


async def test_one_who_is_stopped_does_not_stop_those_who_share() -> None:
    source, reads = Source(), SharedReads[int](4)
    first, second = (asyncio.create_task(reads.read("claim", source.ask)) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    source.gate.set()
    assert await second == 2
    with pytest.raises(asyncio.CancelledError):
        await first
