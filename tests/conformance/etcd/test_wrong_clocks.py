"""Members of an etcd whose wall clocks are hours and days from the truth, and from each other."""

from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic

import pytest

from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.member import GrpcMember
from mooring.apiserver.store.etcd.store import EtcdStore
from mooring.clock import RealClock
from tests.conformance.etcd import gateway
from tests.conformance.etcd.members import EtcdMember, etcd_cluster
from tests.conformance.etcd.skewed_clock import NoClock, set_ahead
from tests.conformance.peers import FORGETFUL
from tests.fakes.etcd.plain_layout import PlainLayout
from tests.unit.apiserver.store.engines import CLAIMS, Follower, stored
from tests.unit.apiserver.store.etcd.servers import increment

EVENTS = "events"
SECONDS_TO_LIVE = 5
HOUR, DAY = 3600, 86400
LATE = 10.0  # seconds that etcd may take to expire a lease
CLOCKS = {"the leader's is an hour ahead": HOUR, "the leader's is a day behind": -DAY}


def set_clock(member: EtcdMember, seconds: int) -> None:
    try:
        set_ahead(member.pid, seconds)
    except NoClock as reason:
        pytest.skip(str(reason))
    told = gateway.seconds_ahead(member)
    assert abs(told - seconds) < 5, f"{member.name} is {told} s ahead, and should be {seconds}"


async def opened(stack: AsyncExitStack, members: list[EtcdMember]) -> EtcdStore:
    cluster = Cluster([GrpcMember(member.client_url, None) for member in members], RealClock())
    layout = PlainLayout({EVENTS: SECONDS_TO_LIVE})
    store = await EtcdStore.open(cluster, layout, RealClock(), compaction_interval=0)
    stack.push_async_callback(store.close)
    return store


@pytest.mark.parametrize("skew", CLOCKS.values(), ids=CLOCKS)
async def test_events_live_as_long_as_they_should(
    skew: int, etcd_program: Path, tmp_path: Path
) -> None:
    with etcd_cluster(etcd_program, tmp_path, 3, FORGETFUL) as members:
        leader = gateway.leader(members)
        others = [member for member in members if member is not leader]
        async with AsyncExitStack() as stack:
            store = await opened(stack, [leader, *others])
            second = await opened(stack, [*others, leader])
            await stored(store, EVENTS, "a/before", "v")
            began = monotonic()
            await second.catch_up()
            follower = Follower(second, EVENTS, second.revision)
            set_clock(leader, skew)  # while the lease runs
            set_clock(others[0], -skew)
            entry = await stored(store, EVENTS, "a/after", "v")
            for _ in range(50):
                await store.write(CLAIMS, "counter", increment)
                await second.write(CLAIMS, "counter", increment)
            taken = await follower.take(3)
            assert monotonic() - began >= SECONDS_TO_LIVE
            assert (taken[0].entry.name, taken[0].deleted) == ("a/after", False)
            gone = {event.entry.name for event in taken if event.deleted}
            assert gone == {"a/before", "a/after"}
            assert taken[0].revision == entry.revision
            assert monotonic() - began < SECONDS_TO_LIVE + LATE
            assert await count(store) == await count(second) == 100


async def test_a_new_leader_with_another_clock_lets_nothing_expire_early(
    etcd_program: Path, tmp_path: Path
) -> None:
    with etcd_cluster(etcd_program, tmp_path, 3, FORGETFUL) as members:
        leader = gateway.leader(members)
        others = [member for member in members if member is not leader]
        for member, skew in zip(others, (HOUR, DAY), strict=True):
            set_clock(member, skew)
        async with AsyncExitStack() as stack:
            store = await opened(stack, others)
            await stored(store, EVENTS, "a/x", "v")
            began = monotonic()
            follower = Follower(store, EVENTS, store.revision)
            leader.kill()
            assert gateway.leader(others) in others
            for _ in range(20):
                await store.write(CLAIMS, "counter", increment)
            (event,) = await follower.take(1)
            assert (event.entry.name, event.deleted) == ("a/x", True)
            assert monotonic() - began >= SECONDS_TO_LIVE
            assert await count(store) == 20


async def count(store: EtcdStore) -> int:
    await store.catch_up()
    counter = store.get(CLAIMS, "counter")
    assert counter is not None
    return int(counter.value.split()[0])
