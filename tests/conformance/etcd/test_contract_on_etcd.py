"""The store's contract, asked of a real etcd, and of kine on two databases: the tests
are those that every engine passes.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import count

import pytest

from mooring.apiserver.store.contract import Store
from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.member import GrpcMember
from mooring.apiserver.store.etcd.store import EtcdStore
from mooring.clock import RealClock
from mooring.errors import EtcdError
from tests.fakes.etcd.plain_layout import PlainLayout
from tests.unit.apiserver.store.engines import CLAIMS, Follower, a_put, stored
from tests.unit.apiserver.store.etcd.servers import increment
from tests.unit.apiserver.store.test_contract import (  # noqa: F401  pytest runs them
    TestCompaction,
    TestRange,
    TestWaiting,
    TestWatch,
    TestWrite,
)

_numbers = count()


async def opened(url: str, prefix: bytes) -> EtcdStore:
    clock = RealClock()
    layout = PlainLayout()
    layout.prefix = prefix
    cluster = Cluster([GrpcMember(url, None)], clock)
    return await EtcdStore.open(cluster, layout, clock, compaction_interval=0)


@pytest.fixture
def prefix() -> bytes:
    return b"/test-%d/" % next(_numbers)


@pytest.fixture
async def store(etcd_url: str, prefix: bytes) -> AsyncIterator[Store]:
    store = await opened(etcd_url, prefix)
    yield store
    await store.close()


@pytest.mark.timeout(300)
async def test_what_one_store_wrote_another_reads_at_once(etcd_url: str, prefix: bytes) -> None:
    one, two = await opened(etcd_url, prefix), await opened(etcd_url, prefix)
    for number in range(500):
        entry = await stored(one, CLAIMS, "a/x", str(number))
        await two.catch_up()
        found = two.get(CLAIMS, "a/x")
        assert found is not None
        assert found.revision == entry.revision
        await two.write(CLAIMS, "counter", increment)
        await one.write(CLAIMS, "counter", increment)
    await one.catch_up()
    counter = one.get(CLAIMS, "counter")
    assert counter is not None
    assert counter.value.startswith(b"1000 at ")
    await one.close()
    await two.close()


async def test_what_is_too_large_is_refused_in_the_words_of_etcd(store: Store) -> None:
    with pytest.raises(EtcdError, match=r"^etcdserver: request is too large$"):
        await store.write(CLAIMS, "a/x", lambda _: a_put("x" * (2 << 20)))


@pytest.mark.timeout(300)
async def test_questions_how_far_the_watch_is_overtake_no_change(
    etcd_url: str, prefix: bytes
) -> None:
    """Asked every millisecond while others write; whatever is told is complete."""
    writer, reader = await opened(etcd_url, prefix), await opened(etcd_url, prefix)
    start = reader.revision
    followers = [Follower(reader, CLAIMS, start) for _ in range(100)]
    written: list[int] = []

    async def write(mine: int) -> None:
        for number in range(20):
            written.append((await stored(writer, CLAIMS, f"a/{mine}", str(number))).revision)

    async def ask() -> None:
        while len(written) < 200:
            with suppress(TimeoutError):  # who waits has etcd asked
                async with asyncio.timeout(0.001):
                    await reader.wait_for(reader.revision + 1)
            known = [revision for revision in written if revision <= reader.revision]
            seen = {event.revision for event in reader.watch(CLAIMS, start, lambda: None).poll()}
            assert seen >= set(known)

    await asyncio.gather(ask(), *(write(mine) for mine in range(10)))
    for follower in followers:
        events = await follower.take(200)
        assert [event.revision for event in events] == sorted(written)
    await writer.close()
    await reader.close()
