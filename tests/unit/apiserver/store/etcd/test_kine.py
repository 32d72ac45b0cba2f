"""What of kine's answers the engine believes: the fake does what kine 0.16.4 was seen to do."""

import asyncio

from mooring.apiserver.store.etcd.kine import HOLE_SECONDS
from mooring.apiserver.store.etcd.loading import SETTLED
from mooring.apiserver.store.etcd.proto.etcd_pb2 import CompactionRequest
from tests.fakes.clock import settle
from tests.fakes.etcd.kine import KineData, tell_progress
from tests.fakes.etcd.plain_layout import PlainLayout
from tests.unit.apiserver.store.engines import CLAIMS, Follower, a_put, create, stored
from tests.unit.apiserver.store.etcd.servers import a_server, increment


def a_row(data: KineData, name: str) -> int:
    layout = PlainLayout()
    return data.put(layout.key(CLAIMS, name), layout.value(CLAIMS, a_put("v"), 0))


async def test_what_others_keep_in_the_database_holds_up_no_reader() -> None:
    data = KineData()
    async with a_server(data) as one:
        data.put(b"/of/somebody/else", b"v")
        data.count = data.revision - 1
        await one.store.catch_up()
        assert one.store.revision == data.revision
        assert one.member.watches[0].asked == 0


async def test_progress_that_is_told_before_the_changes_hides_none() -> None:
    data = KineData()
    async with a_server(data) as one, a_server(data) as two:
        watch = two.member.watches[0]
        watch.is_held = True
        entry = await stored(one.store, CLAIMS, "a/x", "v")
        tell_progress(two.member, entry.revision)
        reading = asyncio.ensure_future(two.store.catch_up())
        await settle()
        assert not reading.done()
        watch.release()
        await reading
        assert two.store.get(CLAIMS, "a/x") == entry


async def test_a_change_that_was_committed_late_is_in_the_backlog_at_last() -> None:
    data = KineData()
    async with a_server(data) as one:
        follower = Follower(one.store, CLAIMS, one.store.revision)
        one.member.cut_watches()
        late, early = [a_row(data, name) for name in ("one", "two")]
        data.hide(late)
        await one.clock.advance(0.5)
        assert one.store.revision < late
        data.show()
        await one.clock.advance(HOLE_SECONDS)
        events = await follower.take(2)
        assert [event.revision for event in events] == [late, early]


async def test_a_revision_that_never_comes_is_waited_for_no_longer() -> None:
    data = KineData()
    async with a_server(data) as one:
        one.member.cut_watches()
        burnt, kept = [a_row(data, name) for name in ("one", "two")]
        data.hide(burnt)
        await one.clock.advance(HOLE_SECONDS / 2)
        assert one.store.revision < burnt
        await one.clock.advance(2 * HOLE_SECONDS)
        await one.store.catch_up()
        assert one.store.revision == kept


async def test_what_is_read_at_the_start_is_behind_all_that_is_being_committed() -> None:
    data = KineData()
    revisions = [a_row(data, "x") for _ in range(2 * SETTLED)]
    async with a_server(data) as one:
        assert one.store.oldest <= revisions[-SETTLED]


async def test_a_write_that_was_made_though_kine_refused_it_counts_once() -> None:
    data = KineData()
    async with a_server(data) as one:
        await one.store.write(CLAIMS, "counter", increment)
        data.refuses_what_it_does = True
        await one.store.write(CLAIMS, "counter", increment)
        found = one.store.get(CLAIMS, "counter")
        assert found is not None
        assert found.value.startswith(b"2 at ")


async def test_a_creation_that_kine_refuses_without_saying_why_is_looked_up() -> None:
    data = KineData()
    async with a_server(data) as one, a_server(data) as two:
        two.member.watches[0].is_held = True
        data.count = data.revision
        made = await stored(one.store, CLAIMS, "a/x", "one")
        creating = asyncio.ensure_future(two.store.write(CLAIMS, "a/x", create("two")))
        await settle()
        two.member.watches[0].release()
        (refusal,) = await asyncio.gather(creating, return_exceptions=True)
        assert "one at" in str(refusal)
        assert two.store.trouble is None
        assert two.store.get(CLAIMS, "a/x") == made


async def test_a_server_starts_however_little_kine_retains() -> None:
    data = KineData()
    revisions = [a_row(data, "x") for _ in range(2 * SETTLED)]
    data.compact(CompactionRequest(revision=revisions[-40]))
    async with a_server(data) as one:
        assert revisions[-40] <= one.store.oldest <= revisions[-25]
        assert one.store.get(CLAIMS, "x") is not None
        assert one.store.revision == data.revision
