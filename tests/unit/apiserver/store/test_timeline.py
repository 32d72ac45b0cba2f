"""What both engines take from the timeline beyond the contract: history that forgets by itself."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from mooring.apiserver.store.contract import FIRST_REVISION, Decide, Put
from mooring.apiserver.store.history import Limits
from mooring.apiserver.store.memory import MemoryStore
from mooring.errors import Compacted
from tests.fakes.clock import VirtualClock
from tests.unit.apiserver.store.engines import CLAIMS, VOLUMES, put, remove, stored


async def test_an_empty_store_has_a_revision_that_is_not_the_wire_word_for_any() -> None:
    store = MemoryStore(VirtualClock())
    assert store.revision == store.oldest == FIRST_REVISION > 0
    assert (await stored(store, CLAIMS, "a/x", "v")).revision == FIRST_REVISION + 1


async def test_history_lasts_five_minutes_and_not_much_longer() -> None:
    clock = VirtualClock()
    store = MemoryStore(clock)
    first = await stored(store, CLAIMS, "a/x", "old")
    await clock.advance(299)
    await stored(store, CLAIMS, "a/x", "new")
    assert store.range(CLAIMS, revision=first.revision).entries[0].value == first.value
    await clock.advance(1)
    await stored(store, VOLUMES, "v", "noise")
    assert store.oldest == first.revision
    await clock.advance(330)
    last = await stored(store, VOLUMES, "v", "noise")
    assert store.oldest == last.revision - 1


async def test_a_store_at_rest_keeps_its_history() -> None:
    clock = VirtualClock()
    store = MemoryStore(clock)
    first = await stored(store, CLAIMS, "a/x", "old")
    await stored(store, CLAIMS, "a/x", "new")
    await clock.advance(100_000)
    assert [entry.value for entry in store.range(CLAIMS, revision=first.revision).entries] == [
        first.value
    ]


BULK: dict[str, tuple[Limits, Callable[[int], Decide], int, int]] = {
    "superseded values": (Limits(size=64_000), lambda _: put("x" * 1000), 40, 70),
    "deleted values count twice: before, and last": (
        Limits(size=64_000),
        lambda i: put("x" * 1000) if i % 2 == 0 else remove("y" * 1000),
        40,
        80,
    ),
    "events": (Limits(events=64), lambda i: put(str(i)), 60, 64),
}


@pytest.mark.parametrize(("limits", "decide", "least", "most"), BULK.values(), ids=BULK)
async def test_history_is_bounded(
    limits: Limits, decide: Callable[[int], Decide], least: int, most: int
) -> None:
    store = MemoryStore(VirtualClock(), limits)
    lazy = store.watch(CLAIMS, store.revision, lambda: None)
    for i in range(500):
        await store.write(CLAIMS, "a/x", decide(i))
    kept = len(store.watch(CLAIMS, store.oldest, lambda: None).poll())
    assert least <= kept <= most
    with pytest.raises(Compacted) as overtaken:
        lazy.poll()
    assert overtaken.value.oldest == store.oldest


async def test_new_objects_do_not_count_as_history_bytes() -> None:
    store = MemoryStore(VirtualClock(), Limits(size=1000))
    start = store.revision
    for i in range(100):
        await stored(store, CLAIMS, str(i), "x" * 1000)
    assert store.oldest == start
    assert len(store.watch(CLAIMS, start, lambda: None).poll()) == 100


async def test_one_value_larger_than_all_history_is_still_readable() -> None:
    store = MemoryStore(VirtualClock(), Limits(size=1000))
    await stored(store, CLAIMS, "a/x", "x" * 5000)
    entry = await stored(store, CLAIMS, "a/x", "y" * 5000)
    assert store.get(CLAIMS, "a/x") is entry
    assert store.oldest == store.revision


async def test_a_table_that_lost_nothing_is_watched_on_when_another_is_forgotten() -> None:
    store = MemoryStore(VirtualClock(), Limits(events=64))
    quiet = store.watch(VOLUMES, store.revision, lambda: None)
    for i in range(500):
        await stored(store, CLAIMS, str(i), "v")
    assert not quiet.poll()
    entry = await stored(store, VOLUMES, "v", "v")
    assert [event.revision for event in quiet.poll()] == [entry.revision]


async def test_watchers_are_called_once_per_change_in_order_of_arrival() -> None:
    store = MemoryStore(VirtualClock())
    calls: list[int] = []
    for i in range(3):
        store.watch(CLAIMS, store.revision, partial(calls.append, i))
    await stored(store, CLAIMS, "a/x", "v")
    await stored(store, VOLUMES, "v", "v")
    assert calls == [0, 1, 2]


async def test_a_watcher_may_close_itself_and_others_while_it_is_called() -> None:
    store = MemoryStore(VirtualClock())
    calls: list[str] = []

    def close_both() -> None:
        calls.append("first")
        first.close()
        second.close()

    first = store.watch(CLAIMS, store.revision, close_both)
    second = store.watch(CLAIMS, store.revision, lambda: calls.append("second"))
    await stored(store, CLAIMS, "a/x", "v")
    await stored(store, CLAIMS, "a/x", "v")
    assert calls == ["first"]


async def test_the_revision_is_put_between_head_and_tail() -> None:
    store = MemoryStore(VirtualClock())
    entry = await store.write(CLAIMS, "a/x", lambda _: Put(b'{"v":"', b'"}'))
    assert entry is not None
    assert entry.value == b'{"v":"%d"}' % entry.revision


async def test_many_waiters_wake_each_at_its_revision() -> None:
    store = MemoryStore(VirtualClock())
    start = store.revision
    waiters = [asyncio.ensure_future(store.wait_for(start + i)) for i in range(1, 11)]
    for done in range(1, 11):
        await stored(store, CLAIMS, "a/x", "v")
        await asyncio.wait_for(asyncio.gather(*waiters[:done]), 5)
        assert not any(waiter.done() for waiter in waiters[done:])
