"""Two servers, lost answers and broken watches in any order: no increment is lost or made twice."""

import asyncio
import random

import pytest

from mooring.apiserver.store.contract import Entry
from mooring.apiserver.store.etcd.proto.etcd_pb2 import RangeRequest, TxnRequest
from mooring.errors import EtcdError
from tests.fakes.clock import settle
from tests.fakes.etcd.data import Data
from tests.unit.apiserver.store.engines import CLAIMS
from tests.unit.apiserver.store.etcd.servers import Server, a_server, increment

NAMES = ("a/x", "a/y")
WRITES = 12  # of each writer


class Writer:
    def __init__(self, server: Server, rng: random.Random) -> None:
        self.written: list[tuple[str, int]] = []  # name, and what it counted to
        self.unknown = 0
        self._server = server
        self._rng = rng

    async def run(self) -> None:
        for _ in range(WRITES):
            self._trouble()
            name = self._rng.choice(NAMES)
            try:
                entry = await self._server.store.write(CLAIMS, name, increment)
            except EtcdError:
                self.unknown += 1
                continue
            assert entry is not None
            self.written.append((name, count_of(entry)))
            await settle(self._rng.randrange(4))

    def _trouble(self) -> None:
        member = self._rng.choice(self._server.members)
        match self._rng.randrange(8):
            case 0 | 1:
                member.loses_answers_of.add(TxnRequest)
            case 2:
                member.forgets.add(TxnRequest)
            case 3:
                member.forgets.add(RangeRequest)
            case 4:
                member.cut_watches()
            case _:
                pass


def count_of(entry: Entry) -> int:
    return int(entry.value.split()[0])


@pytest.mark.parametrize("seed", range(15))
async def test_no_increment_is_lost_or_made_twice(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  a course of events, no secret
    data = Data()
    async with a_server(data, members=2) as one, a_server(data, members=2) as two:
        writers = [Writer(server, rng) for server in (one, two) for _ in range(3)]
        running = asyncio.gather(*(writer.run() for writer in writers))
        while not running.done():
            for server in (one, two):
                await server.clock.advance(0.1)
        await running
        written = [each for writer in writers for each in writer.written]
        assert len(set(written)) == len(written), "one count was given twice"
        unknown = sum(writer.unknown for writer in writers)
        for server in (one, two):
            for member in server.members:
                member.loses_answers_of.clear()
                member.forgets.clear()
        catching_up = asyncio.gather(one.store.catch_up(), two.store.catch_up())
        while not catching_up.done():
            for server in (one, two):
                await server.clock.advance(0.1)
        await catching_up
        states = [
            {entry.name: entry.value for entry in server.store.range(CLAIMS).entries}
            for server in (one, two)
        ]
        assert states[0] == states[1]
        total = sum(map(count_of, one.store.range(CLAIMS).entries))
        assert len(written) <= total <= len(written) + unknown
