"""Leases and compaction, with a clock that is moved by hand."""

from contextlib import AsyncExitStack

from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.compaction import INTERVAL, Compaction
from mooring.apiserver.store.etcd.leases import MOST_OBJECTS
from tests.fakes.clock import VirtualClock
from tests.fakes.etcd.data import Data
from tests.fakes.etcd.member import FakeMember
from tests.unit.apiserver.store.engines import CLAIMS, Follower, stored
from tests.unit.apiserver.store.etcd.servers import a_server

EVENTS = "events"
HOUR = 3600


class TestLeases:
    async def test_what_is_written_within_a_minute_shares_a_lease(self) -> None:
        data = Data()
        async with a_server(data, seconds={EVENTS: HOUR}) as one:
            for number in range(3):
                await stored(one.store, EVENTS, f"a/{number}", "v")
            await one.clock.advance(61)
            await stored(one.store, EVENTS, "a/later", "v")
            await stored(one.store, CLAIMS, "a/x", "for ever")
            assert list(data.granted.values()) == [HOUR + 60, HOUR + 60]
            assert [data.keys_on(lease) for lease in data.granted] == [3, 1]

    async def test_a_lease_takes_a_thousand_objects_at_most(self) -> None:
        data = Data()
        async with a_server(data, seconds={EVENTS: HOUR}) as one:
            for number in range(MOST_OBJECTS + 1):
                await stored(one.store, EVENTS, f"a/{number}", "v")
            assert [data.keys_on(lease) for lease in data.granted] == [MOST_OBJECTS, 1]

    async def test_what_expired_is_deleted_for_every_watcher(self) -> None:
        data = Data()
        async with a_server(data, seconds={EVENTS: HOUR}) as one:
            await stored(one.store, EVENTS, "a/1", "v")
            await stored(one.store, EVENTS, "a/2", "v")
            follower = Follower(one.store, EVENTS, one.store.revision)
            data.expire(next(iter(data.granted)))
            events = await follower.take(2)
            assert [(e.entry.name, e.deleted) for e in events] == [("a/1", True), ("a/2", True)]

    async def test_a_lease_that_etcd_forgot_is_granted_anew(self) -> None:
        data = Data()
        async with a_server(data, seconds={EVENTS: HOUR}) as one:
            await stored(one.store, EVENTS, "a/1", "v")
            data.expire(next(iter(data.granted)))
            await stored(one.store, EVENTS, "a/2", "v")
            assert one.store.get(EVENTS, "a/2") is not None
            assert len(data.granted) == 1


class TestCompaction:
    async def test_of_three_servers_one_compacts_each_interval(self) -> None:
        data = Data()
        clock = VirtualClock()
        servers = [Compaction(Cluster([FakeMember(data)], clock), clock) for _ in range(3)]
        done: list[list[int]] = []
        seen: list[int] = []
        for number in range(5):
            data.put(b"/registry/pods/a", b"%d" % number)
            seen.append(data.revision)
            done.append([await server.take_part() for server in servers])
        assert done[0] == [0, 0, 0]
        for before, compacted in zip(seen, done[1:], strict=False):
            assert sum(revision > 0 for revision in compacted) == 1
            assert max(compacted) <= before + len(servers)
        assert data.compacted < seen[-1]

    async def test_the_round_goes_on_when_its_owner_dies(self) -> None:
        data = Data()
        clock = VirtualClock()
        first, second = (Compaction(Cluster([FakeMember(data)], clock), clock) for _ in range(2))
        await first.take_part()
        await second.take_part()
        data.put(b"/registry/pods/a", b"1")
        taken = [await second.take_part() for _ in range(2)]
        assert max(taken) > 0

    async def test_a_store_compacts_by_itself_and_watchers_go_on(self) -> None:
        data = Data()
        async with AsyncExitStack() as stack:
            one = await stack.enter_async_context(a_server(data, compaction_interval=INTERVAL))
            follower = Follower(one.store, CLAIMS, one.store.revision)
            for number in range(4):
                entry = await stored(one.store, CLAIMS, "a/x", str(number))
                await one.clock.advance(INTERVAL)
                events = await follower.take(1)
                assert [event.revision for event in events] == [entry.revision]
            assert data.compacted > 1
