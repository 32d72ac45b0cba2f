"""The transport in this process, with a server that does as it is told."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mooring.client.contract import ChangeType, Scope
from mooring.client.local import MOST_AT_ONCE, LocalClient
from mooring.errors import Expired, ServerError
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.meta import Resource

Doc = dict[str, Any]


class Cursor:
    def __init__(self) -> None:
        self.changes: list[tuple[str, bytes]] = []
        self.error: Expired | None = None
        self.polls = 0
        self.is_closed = False

    def poll(self, most: int) -> Sequence[tuple[str, bytes]]:
        self.polls += 1
        if self.error is not None:
            raise self.error
        found, self.changes = self.changes[:most], self.changes[most:]
        return found

    def close(self) -> None:
        self.is_closed = True


class Told:
    """A server that has what it was given."""

    def __init__(self, *objects: bytes) -> None:
        self.objects = objects
        self.cursor = Cursor()
        self.stir: Callable[[], None] = lambda: None

    async def get(self, resource: Resource, key: Key) -> bytes:
        return self.objects[0]

    async def list(self, resource: Resource, scope: Scope) -> tuple[Sequence[bytes], str]:
        return self.objects, "9"

    async def watch(
        self, resource: Resource, version: str, scope: Scope, on_change: Callable[[], None]
    ) -> Cursor:
        self.stir = on_change
        return self.cursor

    async def create(self, resource: Resource, doc: Doc) -> bytes:
        return self.objects[0]

    async def patch(
        self, resource: Resource, key: Key, version: str, changes: Sequence[tuple[str, Doc]]
    ) -> bytes:
        return self.objects[0]

    async def post(self, resource: Resource, key: Key, part: str, doc: Doc) -> bytes:
        return self.objects[0]

    async def delete(self, resource: Resource, key: Key, uid: str, grace: int | None) -> None:
        pass


def stored(name: str) -> bytes:
    return b'{"metadata":{"resourceVersion":"5","name":"%b"}}' % name.encode()


async def test_a_watch_looks_again_only_when_something_happened() -> None:
    server = Told()
    async with LocalClient(server).watch(Claim, "5") as changes:
        waiting = asyncio.ensure_future(anext(changes))
        await asyncio.wait([waiting], timeout=0.01)
        assert (waiting.done(), server.cursor.polls) == (False, 1)
        server.cursor.changes.append(("ADDED", stored("a")))
        server.stir()
        assert (await waiting).object.name == "a"
        assert server.cursor.polls == 2


async def test_what_happens_while_a_change_is_worked_on_is_not_missed() -> None:
    server = Told()
    server.cursor.changes.append(("ADDED", stored("a")))
    async with LocalClient(server).watch(Claim, "5") as changes:
        await anext(changes)
        server.cursor.changes.append(("DELETED", stored("a")))
        server.stir()  # nobody waits at this moment
        async with asyncio.timeout(1):
            assert (await anext(changes)).type is ChangeType.DELETED


async def test_a_cursor_that_falls_behind_has_expired() -> None:
    server = Told()
    server.cursor.error = Expired("too old resource version: 5 (9)")
    with pytest.raises(Expired):
        async with LocalClient(server).watch(Claim, "5") as changes:
            await anext(changes)
    assert server.cursor.is_closed


async def test_a_cancelled_watch_closes_its_cursor() -> None:
    server = Told()

    async def follow() -> None:
        async with LocalClient(server).watch(Claim, "5") as changes:
            async for _ in changes:
                pass

    task = asyncio.create_task(follow())
    await asyncio.wait([task], timeout=0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.cursor.is_closed


async def test_a_long_list_lets_others_run_in_between() -> None:
    server = Told(*[stored("a")] * (3 * MOST_AT_ONCE))
    loop = asyncio.get_running_loop()
    seen: list[int] = []
    loop.call_soon(lambda: seen.append(1))
    listing = await LocalClient(server).list(Claim)
    assert len(listing.items) == 3 * MOST_AT_ONCE
    assert seen == [1]


async def test_an_object_that_cannot_be_read_is_named() -> None:
    server = Told(b'{"metadata":{"name":"a","namespace":"b"},"spec":{"volumeName":7}}')
    with pytest.raises(
        ServerError, match=r"PersistentVolumeClaim b/a cannot be read: .*volumeName"
    ):
        await LocalClient(server).get(Claim, Key("b", "a"))


async def test_objects_of_a_kind_share_its_name() -> None:
    client = LocalClient(Told(stored("a"), stored("b")))
    first, second = (await client.list(Claim)).items
    assert first.kind is second.kind
    assert (first.kind, first.api_version) == ("PersistentVolumeClaim", "v1")
