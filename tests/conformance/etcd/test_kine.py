"""kine in etcd's place: what a database behind etcd's API must still do for Mooring's servers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.compaction import Compaction
from mooring.apiserver.store.etcd.member import GrpcMember
from mooring.apiserver.store.etcd.store import EtcdStore
from mooring.clock import RealClock
from mooring.errors import Compacted
from tests.clients.mooring_command import done
from tests.conformance.etcd.kines import Kine, kines, on_sqlite, postgresql
from tests.conformance.etcd.servers import Client, NoAnswer
from tests.conformance.etcd.test_faults import MAPS, a_map, code_of, until
from tests.conformance.obtain import Missing, Say
from tests.fakes.etcd.plain_layout import PlainLayout
from tests.fakes.real_server import ApiServer
from tests.fakes.waiting import until as until_here
from tests.unit.apiserver.store.engines import CLAIMS, Follower, stored
from tests.unit.apiserver.store.etcd.servers import increment

EVENTS = "events"
SECONDS_TO_LIVE = 3
STARTS = 12  # of servers
TURNS = 10  # of two kines: each finds the other's rows once a second


@pytest.fixture
def kine(kine_program: Path, tmp_path: Path) -> Iterator[Kine]:
    with kines(kine_program, on_sqlite(tmp_path), tmp_path) as started:
        yield started[0]


@pytest.fixture
def two_kines(kine_program: Path, tmp_path: Path) -> Iterator[list[Kine]]:
    try:
        with (
            postgresql(tmp_path / "postgresql") as endpoint,
            kines(kine_program, endpoint, tmp_path, count=2) as started,
        ):
            yield started
    except Missing as reason:
        pytest.skip(str(reason))


def cluster_of(kine: Kine) -> Cluster:
    return Cluster([GrpcMember(kine.client_url, None)], RealClock())


@asynccontextmanager
async def store_on(kine: Kine) -> AsyncIterator[EtcdStore]:
    layout = PlainLayout({EVENTS: SECONDS_TO_LIVE})
    store = await EtcdStore.open(cluster_of(kine), layout, RealClock(), compaction_interval=0)
    try:
        yield store
    finally:
        await store.close()


async def test_servers_on_two_kines_see_what_the_other_wrote(two_kines: list[Kine]) -> None:
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(store_on(kine)) for kine in two_kines]
        follower = Follower(two, CLAIMS, two.revision)
        for number in range(TURNS):
            entry = await stored(one, CLAIMS, "a/x", str(number))
            await two.catch_up()
            found = two.get(CLAIMS, "a/x")
            assert found is not None
            assert found.revision == entry.revision
            await two.write(CLAIMS, "counter", increment)
            await one.write(CLAIMS, "counter", increment)
        events = await follower.take(3 * TURNS)
        revisions = [event.revision for event in events]
        assert revisions == sorted(set(revisions))


async def test_servers_that_start_while_others_write_know_everything(
    two_kines: list[Kine],
) -> None:
    """Many connections commit at once, so that revisions show up out of order in the database."""
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(store_on(two_kines[0]))
        is_over = False

        async def write(mine: int) -> None:
            number = 0
            while not is_over:
                await stored(writer, CLAIMS, f"a/{mine}-{number % 50}", str(number))
                await writer.write(CLAIMS, "counter", increment)
                number += 1

        async with asyncio.TaskGroup() as tasks:
            for mine in range(20):
                tasks.create_task(write(mine))
            started = [
                await stack.enter_async_context(store_on(two_kines[number % 2]))
                for number in range(STARTS)
            ]
            is_over = True
        for store in (writer, *started):
            await store.catch_up()
        known = {entry.name: entry for entry in writer.range(CLAIMS).entries}
        for store in started:
            assert {entry.name: entry for entry in store.range(CLAIMS).entries} == known


async def test_what_has_a_time_to_live_goes_for_every_watcher(kine: Kine) -> None:
    async with store_on(kine) as store:
        await stored(store, EVENTS, "a/1", "v")
        follower = Follower(store, EVENTS, store.revision)
        (event,) = await follower.take(1)
        assert (event.entry.name, event.deleted) == ("a/1", True)
        assert store.get(EVENTS, "a/1") is None


async def test_of_two_servers_one_compacts_and_late_watchers_are_told(kine: Kine) -> None:
    """kine keeps the newest 1000 revisions whatever it is asked."""
    rounds = [Compaction(cluster_of(kine), RealClock()) for _ in range(2)]
    async with store_on(kine) as store:
        done_by: list[int] = []
        for _ in range(3):
            for number in range(700):
                await stored(store, CLAIMS, "a/x", str(number))
            done_by.append(sum([await each.take_part() > 0 for each in rounds]))
        assert done_by == [0, 1, 1]
        newest = store.revision
    async with store_on(kine) as again:
        assert again.revision >= newest
        found = again.get(CLAIMS, "a/x")
        assert found is not None
        assert found.value.startswith(b"699 at ")
        with pytest.raises(Compacted):
            again.watch(CLAIMS, 1, lambda: None)


async def test_a_kine_that_was_killed_is_gone_on_with(kine: Kine) -> None:
    async with store_on(kine) as store:
        follower = Follower(store, CLAIMS, store.revision)
        for number in range(3):
            entry = await stored(store, CLAIMS, "a/x", str(number))
            (event,) = await follower.take(1)
            assert event.revision == entry.revision
            kine.kill()
            kine.start()
            await until_here(lambda: store.trouble is None)


def test_an_api_server_on_kine_survives_its_death(kine: Kine, tmp_path: Path, say: Say) -> None:
    server = ApiServer(tmp_path / "data", "--etcd-servers", kine.client_url)
    try:
        server.start()
        client = Client([server], 0)
        acknowledged = []
        for number in range(60):
            if number == 30:
                kine.kill()
                kine.start()
            try:
                code, _ = client.ask("POST", MAPS, a_map(f"m{number}"))
            except NoAnswer:
                continue
            if code == 201:
                acknowledged.append(f"m{number}")
        until(lambda: code_of(client, MAPS) == 200, "it does not recover")
        _, doc = client.ask("GET", MAPS)
        names = {item["metadata"]["name"] for item in doc["items"]}
        assert names >= set(acknowledged)
        say(f"{len(acknowledged)} of 60 acknowledged")
        assert len(acknowledged) > 40
        client.close()
        assert server.ask("GET", "/readyz/etcd").code == 200
    finally:
        server.kill()


def test_objects_move_from_sqlite_to_kine_and_back(kine: Kine, tmp_path: Path) -> None:
    server = ApiServer(tmp_path / "data").start()
    try:
        made = server.ask("POST", MAPS, a_map("mine"))
        assert made.code == 201, made.body
    finally:
        server.stop()
    at = ("--etcd-servers", kine.client_url)
    done("migrate", "--from", "sqlite", "--to", "etcd", "--data-dir", server.data_dir, *at)
    back = tmp_path / "back"
    done("migrate", "--from", "etcd", "--to", "sqlite", "--data-dir", back, *at)
    again = ApiServer(back).start()
    try:
        found = again.ask("GET", f"{MAPS}/mine")
        assert found.doc["metadata"]["uid"] == made.doc["metadata"]["uid"]
        assert int(found.doc["metadata"]["resourceVersion"]) > int(
            made.doc["metadata"]["resourceVersion"]
        )
    finally:
        again.kill()
