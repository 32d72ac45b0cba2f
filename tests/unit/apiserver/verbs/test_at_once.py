"""Decisions that wait for somebody outside, and writes that come between."""

import asyncio
from collections.abc import Callable

import pytest

from mooring.apiserver.store.contract import Change, Entry, Put
from mooring.apiserver.store.memory import MemoryStore
from mooring.apiserver.verbs.at_once import MOST_TRIES, WouldWait, at_once, write_decided
from mooring.errors import Conflict
from tests.fakes.clock import VirtualClock

TABLE, NAME = "things", "one"


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(VirtualClock())


def put(text: str) -> Put:
    return Put(text.encode() + b" at ", b"")


def text_of(entry: Entry | None) -> str:
    return "" if entry is None else entry.value.decode().partition(" at ")[0]


async def outside() -> None:
    """Whatever takes a while."""
    await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(None, int), 5)


def test_what_does_not_wait_is_run_at_once() -> None:
    async def seven() -> int:
        return 7

    assert at_once(seven()) == 7


async def test_what_would_wait_is_stopped_before_anything_comes_of_it() -> None:
    done: list[str] = []

    async def waits() -> None:
        await asyncio.get_running_loop().create_future()
        done.append("it went on")

    with pytest.raises(WouldWait):
        at_once(waits())
    assert done == []


async def test_a_decision_that_does_not_wait_is_made_once_on_the_newest(
    store: MemoryStore,
) -> None:
    seen: list[str] = []

    async def decide(entry: Entry | None) -> Change:
        seen.append(text_of(entry))
        return put("new")

    assert text_of(await write_decided(store, TABLE, NAME, decide)) == "new"
    assert seen == [""]


async def test_a_write_in_between_has_it_decided_again(store: MemoryStore) -> None:
    await store.write(TABLE, NAME, lambda _: put("first"))
    seen: list[str] = []

    async def decide(entry: Entry | None) -> Change:
        await outside()
        seen.append(text_of(entry))
        if len(seen) == 1:
            await store.write(TABLE, NAME, lambda _: put("theirs"))
        return put(f"{text_of(entry)}+mine")

    written = await write_decided(store, TABLE, NAME, decide)
    assert seen == ["first", "theirs"]
    assert text_of(written) == "theirs+mine"


async def test_a_creation_in_between_too(store: MemoryStore) -> None:
    calls = 0

    async def decide(entry: Entry | None) -> Change:
        nonlocal calls
        await outside()
        calls += 1
        if calls == 1:
            await store.write(TABLE, NAME, lambda _: put("theirs"))
        return put("mine") if entry is None else None

    assert text_of(await write_decided(store, TABLE, NAME, decide)) == "theirs"


async def test_who_is_always_late_is_told(store: MemoryStore) -> None:
    def written(number: int) -> Callable[[Entry | None], Change]:
        return lambda _: put(f"theirs {number}")

    calls = 0

    async def decide(_: Entry | None) -> Change:
        nonlocal calls
        await outside()
        calls += 1
        await store.write(TABLE, NAME, written(calls))
        return put("mine")

    with pytest.raises(Conflict, match="again and again"):
        await write_decided(store, TABLE, NAME, decide)
    assert calls == MOST_TRIES
    assert text_of(store.get(TABLE, NAME)) == f"theirs {MOST_TRIES}"


async def test_what_it_refuses_is_raised_and_nothing_is_written(store: MemoryStore) -> None:
    async def decide(_: Entry | None) -> Change:
        await outside()
        raise Conflict("no")

    with pytest.raises(Conflict, match="no"):
        await write_decided(store, TABLE, NAME, decide)
    assert store.get(TABLE, NAME) is None
