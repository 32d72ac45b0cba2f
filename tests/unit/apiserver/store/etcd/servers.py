"""Several API servers' stores on one fake etcd."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mooring.apiserver.store.contract import Change, Entry, Put
from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.store import EtcdStore
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.etcd.data import Data
from tests.fakes.etcd.member import FakeMember
from tests.fakes.etcd.plain_layout import PlainLayout


class Server:
    """One store, and the members it talks to."""

    def __init__(self, store: EtcdStore, members: list[FakeMember], clock: VirtualClock) -> None:
        self.store = store
        self.members = members
        self.clock = clock

    @property
    def member(self) -> FakeMember:
        return self.members[0]


@asynccontextmanager
async def a_server(
    data: Data,
    *,
    members: int = 1,
    mark: Path | None = None,
    seconds: dict[str, int] | None = None,
    compaction_interval: float = 0,
) -> AsyncIterator[Server]:
    clock = VirtualClock()
    known = [FakeMember(data, f"http://fake-{number}:2379") for number in range(members)]
    store = await EtcdStore.open(
        Cluster(known, clock),
        PlainLayout(seconds),
        clock,
        mark,
        compaction_interval=compaction_interval,
    )
    await settle()  # its watch stands
    try:
        yield Server(store, known, clock)
    finally:
        for member in known:
            member.is_down = False
            member.loses_answers_of.clear()
            member.forgets.clear()
        await store.close()


def increment(current: Entry | None) -> Change:
    count = 0 if current is None else int(current.value.split()[0])
    return Put(b"%d at " % (count + 1), b"")
