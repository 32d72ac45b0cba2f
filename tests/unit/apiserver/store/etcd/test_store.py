"""What the engine on etcd does beyond the contract: others write too, and answers get lost."""

import asyncio
from pathlib import Path

import pytest

from mooring.apiserver.store.contract import Change, Entry
from mooring.apiserver.store.etcd.loading import next_limit
from mooring.apiserver.store.etcd.proto.etcd_pb2 import (
    CompactionRequest,
    DeleteRangeRequest,
    PutRequest,
    RangeRequest,
    RequestOp,
    TxnRequest,
    TxnResponse,
)
from mooring.errors import Compacted, EtcdError, UsageError
from tests.fakes.clock import settle
from tests.fakes.etcd.data import Data
from tests.fakes.etcd.plain_layout import PlainLayout
from tests.unit.apiserver.store.engines import (
    CLAIMS,
    Follower,
    Refusal,
    a_put,
    create,
    keep,
    put,
    remove,
    stored,
    update,
)
from tests.unit.apiserver.store.etcd.servers import a_server, increment


class TestTwoServers:
    async def test_what_one_wrote_the_other_reads_after_catching_up(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            for number in range(50):
                entry = await stored(one.store, CLAIMS, "a/x", str(number))
                await two.store.catch_up()
                found = two.store.get(CLAIMS, "a/x")
                assert found is not None
                assert (found.value, found.revision) == (entry.value, entry.revision)

    async def test_increments_of_both_are_all_counted(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            writes = [
                server.store.write(CLAIMS, "counter", increment)
                for _ in range(40)
                for server in (one, two)
            ]
            entries = await asyncio.gather(*writes)
            assert len({entry.revision for entry in entries if entry}) == 80
            await one.store.catch_up()
            found = one.store.get(CLAIMS, "counter")
            assert found is not None
            assert found.value.startswith(b"80 at ")

    async def test_of_two_creators_on_two_servers_one_wins(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            outcomes = await asyncio.gather(
                one.store.write(CLAIMS, "a/x", create("one")),
                two.store.write(CLAIMS, "a/x", create("two")),
                return_exceptions=True,
            )
            assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Entry", "Refusal"]

    async def test_a_refusal_on_an_old_version_is_decided_again(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            two.member.watches[0].is_held = True
            entry = await stored(one.store, CLAIMS, "a/x", "one")
            assert two.store.get(CLAIMS, "a/x") is None
            writing = asyncio.ensure_future(
                two.store.write(CLAIMS, "a/x", update("two", entry.revision))
            )
            await settle()
            two.member.watches[0].release()
            written = await writing
            assert written is not None
            assert written.value.startswith(b"two at ")

    async def test_a_refusal_for_what_only_the_other_has_seen_is_true(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            two.member.watches[0].is_held = True
            await stored(one.store, CLAIMS, "a/x", "one")
            writing = asyncio.ensure_future(two.store.write(CLAIMS, "a/x", create("two")))
            await settle()
            assert not writing.done()  # it could not be read here yet
            two.member.watches[0].release()
            with pytest.raises(Refusal, match="one at"):
                await writing
            assert two.store.get(CLAIMS, "a/x") is not None

    async def test_keeping_an_old_version_is_decided_again(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            await stored(one.store, CLAIMS, "a/x", "one")
            await two.store.catch_up()
            two.member.watches[0].is_held = True
            newest = await stored(one.store, CLAIMS, "a/x", "two")
            seen: list[int] = []

            def decide(current: Entry | None) -> Change:
                assert current is not None
                seen.append(current.revision)
                return keep(current)

            keeping = asyncio.ensure_future(two.store.write(CLAIMS, "a/x", decide))
            await settle()
            two.member.watches[0].release()
            kept = await keeping
            assert kept is not None
            assert (kept.revision, seen[-1], len(seen)) == (newest.revision, newest.revision, 2)

    async def test_watchers_on_both_see_the_same_changes(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            followers = [Follower(server.store, CLAIMS, 1) for server in (one, two)]
            for number in range(10):
                await stored((one, two)[number % 2].store, CLAIMS, f"a/{number % 3}", str(number))
            await two.store.write(CLAIMS, "a/1", remove("marked"))
            seen = [await follower.take(11) for follower in followers]
            told = [[(e.revision, e.entry.value, e.deleted) for e in events] for events in seen]
            assert told[0] == told[1]
            assert told[0][-1][1].startswith(b"7 at ")  # what was removed, not `marked`

    async def test_revisions_of_other_keys_are_caught_up_with(self) -> None:
        data = Data()
        async with a_server(data) as one:
            revision = data.put(b"somebody/else", b"x")
            await one.store.catch_up()
            assert one.store.revision == revision


class TestLostAnswers:
    async def test_a_write_that_happened_is_not_made_again(self) -> None:
        async with a_server(Data()) as one:
            await one.store.write(CLAIMS, "counter", increment)
            one.member.calls.clear()
            one.member.loses_answers_of.add(TxnRequest)
            written = await one.store.write(CLAIMS, "counter", increment)
            assert written is not None
            assert written.value == b"2 at %d" % written.revision
            assert one.store.revision == written.revision
            assert one.member.calls.count("Txn") == 1

    async def test_a_creation_that_happened_is_recognized(self) -> None:
        async with a_server(Data()) as one:
            one.member.loses_answers_of.add(TxnRequest)
            written = await one.store.write(CLAIMS, "a/x", create("mine"))
            assert written is not None
            assert written.value.startswith(b"mine at ")

    async def test_a_removal_that_happened_is_recognized(self) -> None:
        async with a_server(Data()) as one:
            await stored(one.store, CLAIMS, "a/x", "v")
            one.member.loses_answers_of.add(TxnRequest)
            gone = await one.store.write(CLAIMS, "a/x", remove("last"))
            assert gone is not None
            assert gone.value.startswith(b"last at ")
            assert one.store.get(CLAIMS, "a/x") is None

    async def test_a_write_that_did_not_happen_is_made_again_as_it_was(self) -> None:
        async with a_server(Data(), members=2) as one:
            await one.store.write(CLAIMS, "counter", increment)
            decided: list[int] = []

            def decide(current: Entry | None) -> Change:
                decided.append(1)
                return increment(current)

            one.members[0].forgets.add(TxnRequest)
            written = await one.store.write(CLAIMS, "counter", decide)
            assert written is not None
            assert written.value.startswith(b"2 at ")
            assert decided == [1]

    async def test_a_creation_that_may_still_happen_is_not_made_again(self) -> None:
        async with a_server(Data()) as one:
            one.member.forgets.add(TxnRequest)
            with pytest.raises(EtcdError, match="whether the write has happened is not known"):
                await one.store.write(CLAIMS, "a/x", create("mine"))
            assert await one.store.write(CLAIMS, "a/x", create("mine")) is not None

    async def test_a_write_that_cannot_be_asked_for_is_not_called_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = Data()
        async with a_server(data) as one:
            await stored(one.store, CLAIMS, "a/x", "v")
            transact = data.transact

            def transact_and_die(request: TxnRequest) -> TxnResponse:
                one.member.go_down()
                return transact(request)

            monkeypatch.setattr(data, "transact", transact_and_die)
            one.member.loses_answers_of.add(TxnRequest)
            writing = asyncio.ensure_future(stored(one.store, CLAIMS, "a/x", "w"))
            await one.clock.advance(30)
            with pytest.raises(EtcdError, match="whether the write has happened is not known"):
                await writing

    async def test_an_unanswered_write_that_another_overtook_is_decided_again(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            await one.store.write(CLAIMS, "counter", increment)
            await two.store.catch_up()
            one.member.forgets.add(TxnRequest)
            one.member.on_call = asyncio.Event()
            writing = asyncio.ensure_future(one.store.write(CLAIMS, "counter", increment))
            await settle()
            await two.store.write(CLAIMS, "counter", increment)
            one.member.on_call.set()
            one.member.on_call = None
            written = await writing
            assert written is not None
            assert written.value.startswith(b"3 at ")


class TestFaults:
    async def test_reads_and_writes_go_to_the_next_member(self) -> None:
        async with a_server(Data(), members=3) as one:
            one.members[0].go_down()
            writing = asyncio.ensure_future(stored(one.store, CLAIMS, "a/x", "v"))
            await one.clock.advance(1)
            entry = await writing
            await one.store.catch_up()
            found = one.store.get(CLAIMS, "a/x")
            assert found is not None
            assert found.revision == entry.revision
            assert one.members[1].calls

    async def test_a_watch_that_broke_goes_on_where_it_was(self) -> None:
        data = Data()
        async with a_server(data, members=2) as one, a_server(data) as two:
            follower = Follower(one.store, CLAIMS, 1)
            for number in range(20):
                await stored(two.store, CLAIMS, str(number), "v")
                if number % 4 == 0:
                    for member in one.members:
                        member.cut_watches()
                await one.clock.advance(1)
            events = await follower.take(20)
            assert [event.entry.name for event in events] == [str(n) for n in range(20)]

    async def test_changes_that_were_compacted_meanwhile_are_read_anew(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            for name in ("gone", "kept", "changed"):
                await stored(one.store, CLAIMS, name, "old")
            await two.store.catch_up()
            at_once: list[tuple[str, bool]] = []
            start = two.store.revision
            late = two.store.watch(CLAIMS, start, lambda: None)

            def poll() -> None:
                try:
                    events = prompt.poll()
                except Compacted:
                    return
                at_once.extend((event.entry.name, event.deleted) for event in events)

            prompt = two.store.watch(CLAIMS, start, poll)
            two.member.go_down()
            await settle()
            await one.store.write(CLAIMS, "gone", remove())
            await stored(one.store, CLAIMS, "changed", "new")
            await stored(one.store, CLAIMS, "more", "new")
            data.compact(CompactionRequest(revision=data.revision))
            two.member.is_down = False
            await two.clock.advance(10)
            await two.store.catch_up()
            assert [(e.name, e.value.split()[0]) for e in two.store.range(CLAIMS).entries] == [
                ("changed", b"new"),
                ("kept", b"old"),
                ("more", b"new"),
            ]
            assert at_once == [("gone", True), ("changed", False), ("more", False)]
            with pytest.raises(Compacted):
                late.poll()
            with pytest.raises(Compacted):
                two.store.watch(CLAIMS, start, poll)
            after = Follower(two.store, CLAIMS, two.store.revision)
            await stored(one.store, CLAIMS, "later", "v")
            assert [event.entry.name for event in await after.take(1)] == ["later"]

    async def test_an_object_that_is_too_large_is_refused_as_etcd_does(self) -> None:
        async with a_server(Data()) as one:
            with pytest.raises(EtcdError) as refused:
                await one.store.write(CLAIMS, "a/x", lambda _: a_put("x" * (2 << 20)))
            assert refused.value.status() == {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": "etcdserver: request is too large",
                "code": 500,
            }

    async def test_a_full_etcd_refuses_writes_and_takes_removals(self) -> None:
        data = Data()
        async with a_server(data) as one:
            await stored(one.store, CLAIMS, "a/x", "v")
            data.is_full = True
            with pytest.raises(EtcdError, match=r"^etcdserver: mvcc: database space exceeded$"):
                await one.store.write(CLAIMS, "a/y", put("v"))
            assert await one.store.write(CLAIMS, "a/x", remove()) is not None
            data.is_full = False
            await stored(one.store, CLAIMS, "a/y", "v")

    async def test_without_etcd_reads_go_on_and_it_is_told(self) -> None:
        async with a_server(Data()) as one:
            await stored(one.store, CLAIMS, "a/x", "v")
            one.member.go_down()
            assert one.store.get(CLAIMS, "a/x") is not None
            with pytest.raises(EtcdError, match="cannot be reached"):
                await one.store.write(CLAIMS, "a/x", put("w"))
            assert one.store.trouble is None
            await one.clock.advance(10)
            assert one.store.trouble is not None
            one.member.is_down = False
            await one.clock.advance(20)
            assert one.store.trouble is None

    async def test_a_consistent_read_waits_for_a_watch_that_is_behind(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            two.member.watches[0].is_held = True
            await stored(one.store, CLAIMS, "a/x", "v")
            reading = asyncio.ensure_future(two.store.catch_up())
            await two.clock.advance(0.5)
            assert not reading.done()
            two.member.watches[0].release()
            await reading
            assert two.store.get(CLAIMS, "a/x") is not None

    async def test_a_watch_that_stays_silent_is_begun_anew_on_another_member(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data, members=2) as two:
            two.members[0].watches[0].is_held = True
            await stored(one.store, CLAIMS, "a/x", "v")
            reading = asyncio.ensure_future(two.store.catch_up())
            await two.clock.advance(2.9)
            assert not reading.done()
            await two.clock.advance(1)
            await reading
            assert two.store.get(CLAIMS, "a/x") is not None
            assert two.members[1].watches

    async def test_a_consistent_read_is_refused_rather_than_old(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            two.member.watches[0].is_held = True
            two.member.holds_watches = True
            await stored(one.store, CLAIMS, "a/x", "v")
            reading = asyncio.ensure_future(two.store.catch_up())
            await two.clock.advance(11)
            with pytest.raises(EtcdError, match="the watch on etcd is behind"):
                await reading

    async def test_many_consistent_reads_share_few_questions(self) -> None:
        async with a_server(Data()) as one:
            before = one.member.calls.count("Range")
            await asyncio.gather(*(one.store.catch_up() for _ in range(100)))
            assert one.member.calls.count("Range") - before == 1

    async def test_a_lost_read_is_asked_again_elsewhere(self) -> None:
        async with a_server(Data(), members=2) as one:
            one.members[0].loses_answers_of.add(RangeRequest)
            await one.store.catch_up()
            assert "Range" in one.members[1].calls


class TestRestored:
    async def test_an_etcd_that_went_back_is_noticed_and_refused(self) -> None:
        data = Data()
        async with a_server(data) as one:
            for number in range(5):
                await stored(one.store, CLAIMS, "a/x", str(number))
            one.member.data = Data(cluster_id=8)
            with pytest.raises(EtcdError, match=r"restored from an older backup.*--bump-revision"):
                await one.store.catch_up()
            with pytest.raises(EtcdError, match="restored from an older backup"):
                await one.store.write(CLAIMS, "a/y", put("v"))
            assert "restored from an older backup" in (one.store.trouble or "")
            assert one.member.data.revision == 1

    async def test_it_is_noticed_though_others_have_written_more_meanwhile(self) -> None:
        data, restored = Data(), Data()
        async with a_server(data) as one, a_server(restored) as other:
            for number in range(5):
                await stored(one.store, CLAIMS, "a/x", str(number))
            for number in range(10):
                await stored(other.store, CLAIMS, "a/x", str(number))
            one.member.data = restored
            one.member.cut_watches()
            await one.clock.advance(1.0)
            with pytest.raises(EtcdError, match=r"holds of revision 6 .*--bump-revision"):
                await one.store.catch_up()
            with pytest.raises(EtcdError, match="restored from an older backup"):
                await one.store.write(CLAIMS, "a/y", put("v"))
            assert restored.revision == 11

    @pytest.mark.parametrize("lost", ["nothing", "a write", "a removal"])
    async def test_what_it_lost_alone_is_noticed(self, lost: str) -> None:
        data, restored = Data(), Data()
        key = PlainLayout().key(CLAIMS, "a/x")
        async with a_server(data) as first:
            await stored(first.store, CLAIMS, "a/x", "0")
        (held,) = data.range(RangeRequest(key=key)).kvs
        data.compact(CompactionRequest(revision=data.revision))  # a new server sees no changes
        async with a_server(data) as one, a_server(restored) as other:
            if lost != "a write":  # of what was there when the server started, else
                restored.put(key, held.value)
            if lost == "a removal":
                await one.store.write(CLAIMS, "a/x", remove("last"))
            for number in range(5):
                await stored(other.store, CLAIMS, "a/y", str(number))
            one.member.data = restored
            one.member.cut_watches()
            await one.clock.advance(1.0)
            if lost == "nothing":
                await one.store.catch_up()
                return
            with pytest.raises(EtcdError, match="restored from an older backup"):
                await one.store.catch_up()

    async def test_it_is_noticed_over_a_restart_too(self, tmp_path: Path) -> None:
        data = Data()
        mark = tmp_path / "etcd-revision"
        async with a_server(data, mark=mark) as one:
            for number in range(5):
                await stored(one.store, CLAIMS, "a/x", str(number))
        async with a_server(data, mark=mark) as one:
            assert one.store.count(CLAIMS) == 1
        with pytest.raises(UsageError, match=rf"was at 6 before.*remove {mark}"):
            async with a_server(Data(), mark=mark):
                pass
        mark.unlink()
        async with a_server(Data(), mark=mark) as one:
            assert one.store.count(CLAIMS) == 0

    async def test_one_whose_revision_was_raised_is_read_anew(self) -> None:
        data = Data()
        async with a_server(data) as one:
            await stored(one.store, CLAIMS, "a/x", "old")
            watch = one.store.watch(CLAIMS, one.store.revision, lambda: None)
            restored = Data(cluster_id=8)
            restored.revision = 1000
            restored.put(b"/registry/persistentvolumeclaims/a/y", b"other at \0\0")
            one.member.data = restored
            one.member.cut_watches()
            await one.clock.advance(5)
            await one.store.catch_up()
            assert [entry.name for entry in one.store.range(CLAIMS).entries] == ["a/y"]
            with pytest.raises(Compacted):
                watch.poll()


class TestLargeAnswers:
    async def test_a_server_that_was_behind_takes_changes_in_pieces(self) -> None:
        data = Data()
        async with a_server(data) as one, a_server(data) as two:
            watch = two.member.watches[0]
            watch.is_held = True
            for number in range(20):
                await stored(one.store, CLAIMS, "a/x", str(number))
            watch.release()
            await two.store.catch_up()
            found = two.store.get(CLAIMS, "a/x")
            assert found is not None
            assert found.revision == one.store.revision
            assert watch.most_at_once == 1

    async def test_what_one_revision_changed_is_whole_though_it_comes_in_pieces(self) -> None:
        data = Data()
        async with a_server(data) as server:
            key = PlainLayout(None).key
            puts = [
                RequestOp(request_put=PutRequest(key=key(CLAIMS, name), value=b"new\0\0"))
                for name in ("a/x", "a/y", "a/z")
            ]
            data.transact(TxnRequest(success=puts))
            await server.store.catch_up()
            assert [entry.name for entry in server.store.range(CLAIMS).entries] == [
                *("a/x", "a/y", "a/z")
            ]

    @pytest.mark.parametrize(
        ("limit", "size", "following"),
        [(50, 1, 200), (200, 0, 800), (1000, 100_000, 1000), (50, 50 << 20, 4), (1, 9 << 20, 1)],
    )
    def test_large_objects_are_read_a_few_at_a_time(
        self, limit: int, size: int, following: int
    ) -> None:
        assert next_limit(limit, size) == following


class TestValuesOfOthers:
    @pytest.mark.parametrize("is_removed", [True, False], ids=["removed", "mended"])
    async def test_trouble_with_a_value_ends_with_the_value(self, *, is_removed: bool) -> None:
        data = Data()
        async with a_server(data) as one:
            key = PlainLayout(None).key(CLAIMS, "a/x")
            data.put(key, b"garbled")
            await one.store.catch_up()
            assert one.store.trouble == "persistentvolumeclaims/a/x is garbled"
            await stored(one.store, CLAIMS, "a/y", "v")  # others go on
            if is_removed:
                remove_key = RequestOp(request_delete_range=DeleteRangeRequest(key=key))
                data.transact(TxnRequest(success=[remove_key]))
            else:
                data.put(key, b"head\0\0")
            await one.store.catch_up()
            assert one.store.trouble is None
