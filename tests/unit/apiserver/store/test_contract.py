"""What contract.py promises, asked of every engine.

Revisions may have gaps, and a change may reach a watch late: no test relies on either.
"""

import asyncio
import contextlib
import pkgutil
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TypedDict

import pytest

from mooring.apiserver import store as package
from mooring.apiserver.store.contract import Change, Entry, Page, Put, Store
from mooring.errors import Compacted, FutureRevision, StoreError
from tests.fakes.clock import VirtualClock, settle
from tests.unit.apiserver.store.engines import (
    CLAIMS,
    ENGINES,
    VOLUMES,
    Follower,
    Refusal,
    create,
    keep,
    put,
    remove,
    stored,
    update,
)


def names(page: Page) -> list[str]:
    return [entry.name for entry in page.entries]


def value_of(entry: Entry | None) -> bytes | None:
    return None if entry is None else entry.value


def texts(page: Page) -> list[str]:
    return [entry.value.decode().partition(" at ")[0] for entry in page.entries]


async def test_every_engine_is_held_to_the_contract(tmp_path: Path) -> None:
    stores = [await make(tmp_path, VirtualClock()) for make in ENGINES.values()]
    held = {type(store) for store in stores}
    for store in stores:
        await store.close()
    modules = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    things = [thing for module in modules for thing in vars(import_module(module.name)).values()]
    members = {name for name in vars(Store) if not name.startswith("_")}
    engines = {
        thing
        for thing in things
        if isinstance(thing, type) and thing is not Store and members <= {*dir(thing)}
    }
    assert engines == held


class TestWrite:
    async def test_a_created_value_carries_its_own_revision(self, store: Store) -> None:
        before = store.revision
        entry = await stored(store, CLAIMS, "a/x", "one")
        assert entry.revision > before
        assert entry.value == b"one at %d" % entry.revision
        assert (entry.table, entry.name) == (CLAIMS, "a/x")

    async def test_what_was_returned_is_what_is_read(self, store: Store) -> None:
        entry = await stored(store, CLAIMS, "a/x", "one")
        found = store.get(CLAIMS, "a/x")
        assert found is not None
        assert (found.value, found.revision) == (entry.value, entry.revision)
        assert store.revision == entry.revision

    async def test_a_decision_sees_the_newest_version(self, store: Store) -> None:
        first = await stored(store, CLAIMS, "a/x", "one")
        seen: list[bytes | None] = []

        def decide(current: Entry | None) -> Change:
            seen.append(value_of(current))
            return Put(b"two", b"")

        await store.write(CLAIMS, "a/x", decide)
        await store.write(CLAIMS, "a/other", decide)
        assert seen == [first.value, None]

    async def test_a_refusal_passes_through_and_writes_nothing(self, store: Store) -> None:
        first = await stored(store, CLAIMS, "a/x", "one")
        with pytest.raises(Refusal):
            await store.write(CLAIMS, "a/x", create("two"))
        found = store.get(CLAIMS, "a/x")
        assert found is not None
        assert found.value == first.value
        assert store.revision == first.revision

    async def test_a_stale_update_is_refused_and_a_fresh_one_is_not(self, store: Store) -> None:
        first = await stored(store, CLAIMS, "a/x", "one")
        second = await store.write(CLAIMS, "a/x", update("two", first.revision))
        assert second is not None
        assert second.revision > first.revision
        with pytest.raises(Refusal):
            await store.write(CLAIMS, "a/x", update("three", first.revision))

    async def test_removing_returns_the_last_state_with_the_revision_of_the_removal(
        self, store: Store
    ) -> None:
        first = await stored(store, CLAIMS, "a/x", "one")
        last = await store.write(CLAIMS, "a/x", remove("last"))
        assert last is not None
        assert last.revision > first.revision
        assert last.value == b"last at %d" % last.revision
        assert store.get(CLAIMS, "a/x") is None
        assert store.revision == last.revision

    async def test_removing_what_is_not_there_changes_nothing(self, store: Store) -> None:
        before = store.revision
        assert await store.write(CLAIMS, "a/x", remove()) is None
        assert store.revision == before

    async def test_keeping_returns_the_unchanged_version_and_takes_no_revision(
        self, store: Store
    ) -> None:
        first = await stored(store, CLAIMS, "a/x", "one")
        kept = await store.write(CLAIMS, "a/x", keep)
        assert kept is not None
        assert (kept.revision, kept.value) == (first.revision, first.value)
        assert store.revision == first.revision
        assert await store.write(CLAIMS, "a/none", keep) is None

    async def test_an_object_can_come_back(self, store: Store) -> None:
        await stored(store, CLAIMS, "a/x", "one")
        await store.write(CLAIMS, "a/x", remove())
        again = await store.write(CLAIMS, "a/x", create("two"))
        assert again is not None
        assert store.get(CLAIMS, "a/x") is not None

    async def test_the_same_name_in_two_tables_is_two_objects(self, store: Store) -> None:
        await stored(store, CLAIMS, "x", "claim")
        await stored(store, VOLUMES, "x", "volume")
        await store.write(CLAIMS, "x", remove())
        assert store.get(CLAIMS, "x") is None
        assert texts(store.range(VOLUMES)) == ["volume"]

    async def test_a_thousand_concurrent_increments_are_all_counted(self, store: Store) -> None:
        def increment(current: Entry | None) -> Change:
            count = 0 if current is None else int(current.value.split()[0])
            return Put(b"%d at " % (count + 1), b"")

        async def writer() -> list[int]:
            results = [await store.write(CLAIMS, "counter", increment) for _ in range(20)]
            return [entry.revision for entry in results if entry]

        revisions = await asyncio.gather(*(writer() for _ in range(50)))
        assert texts(store.range(CLAIMS)) == ["1000"]
        assert all(a < b for mine in revisions for a, b in pairwise(mine))
        assert len({revision for mine in revisions for revision in mine}) == 1000

    async def test_of_many_concurrent_creators_one_wins(self, store: Store) -> None:
        outcomes = await asyncio.gather(
            *(store.write(CLAIMS, "a/x", create(str(i))) for i in range(50)), return_exceptions=True
        )
        winners = [outcome for outcome in outcomes if isinstance(outcome, Entry)]
        assert len(winners) == 1
        losers = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
        assert len(losers) == 49
        assert {str(loser) for loser in losers} == {winners[0].value.decode()}

    async def test_concurrent_writes_take_different_revisions(self, store: Store) -> None:
        entries = await asyncio.gather(*(stored(store, CLAIMS, str(i), "v") for i in range(100)))
        revisions = [entry.revision for entry in entries]
        assert len(set(revisions)) == 100
        assert store.revision == max(revisions)

    async def test_a_refused_writer_can_read_what_it_was_refused_for(self, store: Store) -> None:
        async def second() -> bytes | None:
            try:
                await store.write(CLAIMS, "a/x", create("second"))
            except Refusal:
                return value_of(store.get(CLAIMS, "a/x"))
            raise AssertionError

        first, found = await asyncio.gather(stored(store, CLAIMS, "a/x", "first"), second())
        assert found == first.value

    async def test_a_writer_that_gave_up_does_not_disturb_the_others(self, store: Store) -> None:
        impatient = asyncio.ensure_future(stored(store, CLAIMS, "a/x", "one"))
        patient = asyncio.ensure_future(stored(store, CLAIMS, "a/y", "two"))
        await settle(1)
        impatient.cancel()
        await patient
        assert texts(store.range(CLAIMS, "a/y")) == ["two"]
        await stored(store, CLAIMS, "a/x", "three")
        assert texts(store.range(CLAIMS, "a/x")) == ["three"]

    async def test_a_closed_store_refuses_writes(self, store: Store) -> None:
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            await store.write(CLAIMS, "a/x", put("one"))
        await store.close()

    async def test_closing_finishes_what_was_begun(self, store: Store) -> None:
        writes = [asyncio.ensure_future(stored(store, CLAIMS, str(i), "v")) for i in range(10)]
        await settle(1)
        await store.close()
        assert len({entry.revision for entry in await asyncio.gather(*writes)}) == 10


TREE = ("a-b/x", "a/x", "a/y", "a0/x", "b", "Z", "\u00e9/x", "\U0001f6a2/x")


class Asked(TypedDict, total=False):
    prefix: str
    after: str
    limit: int


RANGES: dict[str, tuple[Asked, list[str], int]] = {
    "names sort by their bytes: '-' before '/' before digits": (
        {},
        ["Z", "a-b/x", "a/x", "a/y", "a0/x", "b", "\u00e9/x", "\U0001f6a2/x"],
        0,
    ),
    "a prefix ends where the namespace ends": ({"prefix": "a/"}, ["a/x", "a/y"], 0),
    "a prefix need not end at a slash": ({"prefix": "a"}, ["a-b/x", "a/x", "a/y", "a0/x"], 0),
    "a prefix that nothing has": ({"prefix": "c/"}, [], 0),
    "a limit leaves the rest, and counts it": ({"limit": 3}, ["Z", "a-b/x", "a/x"], 5),
    "a limit of all leaves nothing": ({"limit": 8}, sorted(TREE), 0),
    "a limit beyond all leaves nothing": ({"limit": 9}, sorted(TREE), 0),
    "a limit counts inside the prefix": ({"prefix": "a", "limit": 1}, ["a-b/x"], 3),
    "a page goes on behind the last name": ({"after": "a/x", "limit": 2}, ["a/y", "a0/x"], 3),
    "a page goes on behind a name that is gone": ({"after": "a/xx", "limit": 1}, ["a/y"], 4),
    "a page stays inside the prefix": ({"prefix": "a/", "after": "a/x"}, ["a/y"], 0),
    "a prefix wins over an earlier start": ({"prefix": "b", "after": "a/x"}, ["b"], 0),
    "behind the prefix there is nothing": ({"prefix": "a/", "after": "b"}, [], 0),
    "behind the last name there is nothing": ({"after": "\U0001f6a2/x"}, [], 0),
}


class TestRange:
    @pytest.mark.parametrize(("asked", "expected", "remaining"), RANGES.values(), ids=RANGES)
    @pytest.mark.parametrize("when", ["now", "then"])
    async def test_range(
        self, store: Store, asked: Asked, expected: list[str], remaining: int, when: str
    ) -> None:
        for name in TREE:
            await stored(store, VOLUMES, name, "v")
        revision = store.revision
        if when == "then":  # the same answer, with everything upside down since
            for name in TREE[::2]:
                await store.write(VOLUMES, name, remove())
            for name in ("0", "a/a", "a/xxx", "a/z", "z"):
                await stored(store, VOLUMES, name, "new")
            await stored(store, VOLUMES, "a/y", "changed")
            await store.write(VOLUMES, "z", remove())
        page = store.range(VOLUMES, **asked, revision=revision if when == "then" else 0)
        assert names(page) == expected
        assert (page.remaining, page.more) == (remaining, remaining > 0)
        assert page.revision == revision
        assert set(texts(page)) <= {"v"}

    async def test_an_unknown_table_is_empty(self, store: Store) -> None:
        page = store.range("nothing")
        assert page.entries == []
        assert (page.revision, page.more, page.remaining) == (store.revision, False, 0)
        assert store.get("nothing", "x") is None

    async def test_counts_and_tables_follow_what_is_there(self, store: Store) -> None:
        await stored(store, VOLUMES, "x", "v")
        await stored(store, CLAIMS, "a/x", "v")
        await stored(store, CLAIMS, "a/y", "v")
        assert list(store.tables()) == [CLAIMS, VOLUMES]
        assert (store.count(CLAIMS), store.count(VOLUMES), store.count("nothing")) == (2, 1, 0)
        await store.write(VOLUMES, "x", remove())
        assert list(store.tables()) == [CLAIMS]
        assert store.count(VOLUMES) == 0

    async def test_pages_of_one_revision_add_up_while_others_write(self, store: Store) -> None:
        before = sorted(f"a/{i}" for i in range(50))
        for name in before:
            await stored(store, CLAIMS, name, "old")
        first = store.range(CLAIMS, limit=7)
        paged, page = names(first), first
        while page.more:
            await stored(store, CLAIMS, paged[-1], "new")
            await stored(store, CLAIMS, f"{paged[-1]}-more", "new")
            await store.write(CLAIMS, before[(len(paged) * 3) % 50], remove())
            page = store.range(CLAIMS, after=paged[-1], limit=7, revision=first.revision)
            assert set(texts(page)) == {"old"}
            paged += names(page)
            assert page.remaining == 50 - len(paged)
        assert paged == before

    async def test_every_revision_can_be_read_as_it_was(self, store: Store) -> None:
        history: dict[int, list[str]] = {store.revision: []}
        steps = (
            ("b", put("1")),
            ("a", put("2")),
            ("b", put("3")),
            ("a", remove()),
            ("a", put("4")),
        )
        for name, decide in steps:
            await store.write(CLAIMS, name, decide)
            await stored(store, VOLUMES, "noise", "v")
            history[store.revision] = texts(store.range(CLAIMS))
        assert list(history.values()) == [[], ["1"], ["2", "1"], ["2", "3"], ["3"], ["4", "3"]]
        for revision, expected in history.items():
            assert texts(store.range(CLAIMS, revision=revision)) == expected

    async def test_the_future_cannot_be_read(self, store: Store) -> None:
        await stored(store, CLAIMS, "a/x", "v")
        with pytest.raises(FutureRevision) as refused:
            store.range(CLAIMS, revision=store.revision + 1)
        assert (refused.value.asked, refused.value.current) == (store.revision + 1, store.revision)


class TestWatch:
    async def test_each_change_comes_once_in_order_with_what_was_before(self, store: Store) -> None:
        follower = Follower(store, CLAIMS, store.revision)
        created = await stored(store, CLAIMS, "a/x", "one")
        updated = await stored(store, CLAIMS, "a/x", "two")
        removed = await store.write(CLAIMS, "a/x", remove("last"))
        assert removed is not None
        events = await follower.take(3)
        told = [(e.revision, e.entry.value, value_of(e.previous), e.deleted) for e in events]
        assert told == [
            (created.revision, created.value, None, False),
            (updated.revision, updated.value, created.value, False),
            (removed.revision, events[2].entry.value, updated.value, True),
        ]
        # etcd keeps no other last state than the version that was removed.
        assert events[2].entry.value in (removed.value, b"two at %d" % removed.revision)

    async def test_other_tables_and_kept_objects_are_silent(self, store: Store) -> None:
        await stored(store, CLAIMS, "a/x", "one")
        follower = Follower(store, CLAIMS, store.revision)
        await stored(store, VOLUMES, "v", "noise")
        await store.write(CLAIMS, "a/x", keep)
        entry = await stored(store, CLAIMS, "a/y", "two")
        assert [event.revision for event in await follower.take(1)] == [entry.revision]

    async def test_a_watch_starts_behind_the_revision_it_names(self, store: Store) -> None:
        entries = [await stored(store, CLAIMS, str(i), "v") for i in range(5)]
        follower = Follower(store, CLAIMS, entries[1].revision)
        events = await follower.take(3)
        assert [event.entry.name for event in events] == ["2", "3", "4"]

    async def test_a_watch_from_now_starts_with_nothing(self, store: Store) -> None:
        await stored(store, CLAIMS, "a/x", "v")
        follower = Follower(store, CLAIMS, store.revision)
        await follower.take(0)

    async def test_a_watch_from_the_future_skips_what_comes_before(self, store: Store) -> None:
        await stored(store, CLAIMS, "a/x", "v")
        now = store.revision
        follower = Follower(store, CLAIMS, now + 2)
        for i in range(4):
            await stored(store, CLAIMS, str(i), "v")
            if i == 0:
                assert not follower.watch.poll()
        late = [e.revision for e in store.watch(CLAIMS, now + 2, lambda: None).poll()]
        assert late
        assert [event.revision for event in await follower.take(len(late))] == late

    async def test_small_polls_lose_and_repeat_nothing(self, store: Store) -> None:
        start = store.revision
        entries = await asyncio.gather(*(stored(store, CLAIMS, str(i), "v") for i in range(25)))
        events = await Follower(store, CLAIMS, start).take(25, most=4)
        assert [event.revision for event in events] == sorted(e.revision for e in entries)

    async def test_a_watch_says_how_far_it_has_come(self, store: Store) -> None:
        follower = Follower(store, CLAIMS, store.revision)
        entries = [await stored(store, CLAIMS, str(i), "v") for i in range(3)]
        assert follower.watch.revision < entries[0].revision
        await follower.take(3)
        assert follower.watch.revision >= entries[-1].revision
        noise = await stored(store, VOLUMES, "v", "noise")
        await follower.take(0)
        assert follower.watch.revision >= noise.revision
        fresh = await stored(store, CLAIMS, "3", "v")
        assert noise.revision <= follower.watch.revision < fresh.revision

    async def test_followers_miss_nothing_while_writers_race(self, store: Store) -> None:
        start = store.revision
        followers = [Follower(store, CLAIMS, start) for _ in range(5)]
        reading = [asyncio.ensure_future(follower.take(200)) for follower in followers]

        async def writer(mine: int) -> None:
            for i in range(20):
                await stored(store, CLAIMS, f"{mine}/{i % 3}", str(i))

        await asyncio.gather(*(writer(i) for i in range(10)))
        told = [[event.revision for event in await task] for task in reading]
        assert told[0] == sorted(set(told[0]))
        assert all(revisions == told[0] for revisions in told)
        late = await Follower(store, CLAIMS, start).take(200)
        assert [event.revision for event in late] == told[0]

    async def test_an_object_that_came_back_is_another_for_whoever_was_slow(
        self, store: Store
    ) -> None:
        await stored(store, CLAIMS, "a/x", "old")
        slow = Follower(store, CLAIMS, store.revision)
        removed = await store.write(CLAIMS, "a/x", remove())
        assert removed is not None
        again = await store.write(CLAIMS, "a/x", create("new"))
        assert again is not None
        gone, came = await slow.take(2)
        assert (gone.revision, gone.deleted) == (removed.revision, True)
        assert (came.revision, came.deleted, came.previous) == (again.revision, False, None)

    async def test_the_state_at_what_a_watch_has_seen_is_that_of_its_events(
        self, store: Store
    ) -> None:
        follower = Follower(store, CLAIMS, store.revision)
        replayed: dict[str, bytes] = {}

        async def writer(mine: int) -> None:
            for i in range(20):
                decide = remove() if i % 3 == 2 else put(str(i))
                await store.write(CLAIMS, f"{mine}/{i % 2}", decide)

        writing = [asyncio.ensure_future(writer(i)) for i in range(5)]
        while not all(task.done() for task in writing):
            for event in follower.watch.poll(7):
                if event.deleted:
                    del replayed[event.entry.name]
                else:
                    replayed[event.entry.name] = event.entry.value
            at = follower.watch.revision
            page = store.range(CLAIMS, revision=at)
            assert replayed == {entry.name: entry.value for entry in page.entries}
            await settle(1)

    async def test_replaying_the_events_gives_the_table(self, store: Store) -> None:
        start = store.revision
        for i in range(30):
            decide = remove() if i % 4 == 3 else put(str(i))
            await store.write(CLAIMS, f"a/{i % 7}", decide)
        replayed: dict[str, bytes] = {}
        watch = store.watch(CLAIMS, start, lambda: None)
        for event in watch.poll():
            assert replayed.get(event.entry.name) == value_of(event.previous)
            if event.deleted:
                del replayed[event.entry.name]
            else:
                replayed[event.entry.name] = event.entry.value
        assert replayed == {entry.name: entry.value for entry in store.range(CLAIMS).entries}

    async def test_a_closed_watch_is_not_called(self, store: Store) -> None:
        calls: list[str] = []
        closed = store.watch(CLAIMS, store.revision, lambda: calls.append("closed"))
        store.watch(CLAIMS, store.revision, lambda: calls.append("open"))
        closed.close()
        closed.close()
        await stored(store, CLAIMS, "a/x", "v")
        assert calls == ["open"]

    @pytest.mark.poisons
    async def test_a_watcher_that_raises_does_not_starve_the_others(self, store: Store) -> None:
        calls: list[str] = []

        def fail() -> None:
            calls.append("failed")
            raise ValueError

        store.watch(CLAIMS, store.revision, fail)
        store.watch(CLAIMS, store.revision, lambda: calls.append("heard"))
        await stored(store, CLAIMS, "a/x", "v")
        assert calls == ["failed", "heard"]

    async def test_the_change_is_readable_when_the_watcher_is_called(self, store: Store) -> None:
        seen: list[Entry | None] = []
        store.watch(CLAIMS, store.revision, lambda: seen.append(store.get(CLAIMS, "a/x")))
        entry = await stored(store, CLAIMS, "a/x", "v")
        assert [found and found.revision for found in seen] == [entry.revision]


class TestCompaction:
    async def test_history_begins_at_the_compacted_revision(self, store: Store) -> None:
        entries = [await stored(store, CLAIMS, str(i), "v") for i in range(5)]
        middle = entries[2].revision
        await store.compact(middle)
        assert store.oldest == middle
        assert store.count(CLAIMS) == 5
        assert names(store.range(CLAIMS, revision=middle)) == ["0", "1", "2"]
        events = await Follower(store, CLAIMS, middle).take(2)
        assert [event.entry.name for event in events] == ["3", "4"]

    @pytest.mark.parametrize("beside", [-1, 0, 1])
    async def test_a_watch_beside_a_compacted_removal_is_complete_or_refused(
        self, store: Store, beside: int
    ) -> None:
        await stored(store, CLAIMS, "a/x", "one")
        removed = await store.write(CLAIMS, "a/x", remove())
        assert removed is not None
        later = [await stored(store, CLAIMS, f"a/{i}", "v") for i in range(2)]
        await store.compact(removed.revision)
        expected = [e.revision for e in later if e.revision > removed.revision + beside]
        try:
            follower = Follower(store, CLAIMS, removed.revision + beside)
        except Compacted:
            assert beside < 0
        else:
            assert [e.revision for e in await follower.take(len(expected))] == expected

    async def test_what_comes_and_goes_is_told_wholly_or_not_at_all_while_history_goes(
        self, store: Store
    ) -> None:
        told = {store.revision: False}  # revision of a removal or creation: whether it removed
        for number in range(60):
            is_removal = number % 2 == 1
            decide = remove() if is_removal else create("v")
            entry = await store.write(CLAIMS, f"a/{number // 2 % 3}", decide)
            assert entry is not None
            told[entry.revision] = is_removal
            if number % 10 == 9:
                await store.compact(entry.revision - 7)
            after = list(told)[number * 7 % len(told)]
            with contextlib.suppress(Compacted):
                events = store.watch(CLAIMS, after, lambda: None).poll()
                seen = {event.revision: event.deleted for event in events}
                assert seen == {at: gone for at, gone in told.items() if at > after}

    async def test_what_was_compacted_is_refused(self, store: Store) -> None:
        entries = [await stored(store, CLAIMS, str(i), "v") for i in range(3)]
        early = entries[0].revision
        await store.compact(entries[1].revision)
        with pytest.raises(Compacted) as refused:
            store.range(CLAIMS, revision=early)
        assert (refused.value.asked, refused.value.oldest) == (early, entries[1].revision)
        with pytest.raises(Compacted):
            store.watch(CLAIMS, early, lambda: None)

    async def test_a_watch_that_was_overtaken_is_told(self, store: Store) -> None:
        watch = store.watch(CLAIMS, store.revision, lambda: None)
        for i in range(3):
            await stored(store, CLAIMS, str(i), "v")
        assert len(watch.poll(1)) == 1
        await store.compact(store.revision)
        with pytest.raises(Compacted):
            watch.poll()
        with pytest.raises(Compacted):
            watch.poll()

    async def test_a_watch_that_had_seen_all_goes_on(self, store: Store) -> None:
        follower = Follower(store, CLAIMS, store.revision)
        await stored(store, CLAIMS, "0", "v")
        await follower.take(1)
        await store.compact(store.revision)
        entry = await stored(store, CLAIMS, "1", "v")
        assert [event.revision for event in await follower.take(1)] == [entry.revision]

    async def test_compacting_again_or_further_back_changes_nothing(self, store: Store) -> None:
        entries = [await stored(store, CLAIMS, str(i), "v") for i in range(3)]
        await store.compact(entries[1].revision)
        await store.compact(entries[1].revision)
        await store.compact(entries[0].revision)
        assert store.oldest == entries[1].revision

    async def test_the_future_cannot_be_compacted(self, store: Store) -> None:
        await stored(store, CLAIMS, "a/x", "v")
        with pytest.raises(FutureRevision):
            await store.compact(store.revision + 1)


class TestWaiting:
    async def test_a_revision_that_came_is_not_waited_for(self, store: Store) -> None:
        await stored(store, CLAIMS, "a/x", "v")
        await asyncio.wait_for(store.wait_for(store.revision), 5)

    async def test_a_waiter_returns_when_its_revision_comes(self, store: Store) -> None:
        target = store.revision + 2
        waiter = asyncio.ensure_future(store.wait_for(target))
        await settle(5)
        assert not waiter.done()
        while store.revision < target:
            await stored(store, CLAIMS, "a/x", "v")
        await asyncio.wait_for(waiter, 5)
        assert store.revision >= target

    async def test_a_waiter_that_gave_up_is_forgotten(self, store: Store) -> None:
        waiter = asyncio.ensure_future(store.wait_for(store.revision + 1))
        await settle(5)
        waiter.cancel()
        await stored(store, CLAIMS, "a/x", "v")
        with pytest.raises(asyncio.CancelledError):
            await waiter

    async def test_closing_the_store_ends_the_waiting(self, store: Store) -> None:
        waiter = asyncio.ensure_future(store.wait_for(store.revision + 1))
        await settle(5)
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            await waiter

    async def test_after_catching_up_every_acknowledged_write_is_readable(
        self, store: Store
    ) -> None:
        entries = await asyncio.gather(*(stored(store, CLAIMS, str(i), "v") for i in range(20)))
        await store.catch_up()
        assert store.revision >= max(entry.revision for entry in entries)
        assert store.count(CLAIMS) == 20
