"""Many who ask for the newest revision share few reads, and none gets one that began too early."""

import asyncio

import pytest

from mooring.apiserver.store.etcd.newest_revision import NewestRevision
from mooring.errors import EtcdError
from tests.fakes.clock import settle


class Etcd:
    """Answers with how often it was asked, when it may."""

    def __init__(self) -> None:
        self.reads = 0
        self.may_answer = asyncio.Event()
        self.fails = False

    async def read(self) -> int:
        self.reads += 1
        number = self.reads
        await self.may_answer.wait()
        if self.fails:
            raise EtcdError("etcd does not answer")
        return number


async def test_who_asks_during_a_read_waits_for_the_next() -> None:
    etcd = Etcd()
    newest = NewestRevision(etcd.read)
    first = asyncio.ensure_future(newest.ask())
    await settle()
    later = [asyncio.ensure_future(newest.ask()) for _ in range(10)]
    await settle()
    assert etcd.reads == 1
    etcd.may_answer.set()
    assert await first == 1
    assert [await asking for asking in later] == [2] * 10


async def test_who_asks_during_a_read_that_fails_is_not_kept_waiting() -> None:
    etcd = Etcd()
    newest = NewestRevision(etcd.read)
    asking = [asyncio.ensure_future(newest.ask())]
    await settle()
    asking.append(asyncio.ensure_future(newest.ask()))
    await settle()
    etcd.fails = True
    etcd.may_answer.set()
    for each in asking:
        with pytest.raises(EtcdError, match="does not answer"):
            await each
    assert etcd.reads == 1
    etcd.fails = False
    assert await newest.ask() == 2


async def test_one_who_gives_up_spoils_nothing_for_the_others() -> None:
    etcd = Etcd()
    newest = NewestRevision(etcd.read)
    impatient, patient = (asyncio.ensure_future(newest.ask()) for _ in range(2))
    await settle()
    impatient.cancel()
    etcd.may_answer.set()
    assert await patient == 1
