"""`mooring dashboard` on a socket: loopback, its own name only, streams that end with the page."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from mooring.dashboard.doors import OneTimeDoor
from mooring.dashboard.serve import serving
from mooring.errors import UsageError
from tests.fakes.waiting import until
from tests.unit.dashboard.world import GOOD, World

LET_IN = {"Authorization": f"Bearer {GOOD}"}


@asynccontextmanager
async def a_page(world: World) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        serving(world.dashboard, 0) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http,
    ):
        yield http


async def test_the_page_and_its_login() -> None:
    async with a_page(World()) as http:
        async with http.get("/") as answer:
            assert str(answer.url).endswith("/ui/")
            assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        async with http.post("/ui/login", data=b'{"token":"first"}') as answer:
            assert await answer.json() == {"session": GOOD}
        async with http.get("/ui/object?kind=secrets&id=a/b", headers=LET_IN) as answer:
            assert answer.status == 400


async def test_another_name_is_refused() -> None:
    async with a_page(World()) as http:
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example"):
            async with http.get("/ui/", headers={"Host": host}) as answer:
                assert answer.status == 421


async def test_a_feed_flows_and_ends_with_its_page() -> None:
    world = World()
    async with a_page(world) as http:
        answer = await http.get("/ui/feed", headers=LET_IN)
        line = json.loads(await answer.content.readline())
        assert line == {"k": "claims", "list": []}
        await until(lambda: len(world.client.streams) == 7)
        answer.close()
        await until(lambda: not world.client.streams)


async def test_a_server_that_stops_ends_its_feeds() -> None:
    world = World()
    async with asyncio.timeout(20), aiohttp.ClientSession() as http:
        async with serving(world.dashboard, 0) as port:
            answer = await http.get(f"http://127.0.0.1:{port}/ui/feed", headers=LET_IN)
            await answer.content.readline()
        assert world.client.streams == []
        answer.close()


async def test_a_port_that_is_taken_is_named() -> None:
    world = World()
    async with serving(world.dashboard, 0) as port:
        with pytest.raises(UsageError, match=f"port {port} .* give another --port"):
            async with serving(world.dashboard, port):
                pass


async def test_a_one_time_token_is_renewed_and_sessions_stay() -> None:
    world = World()
    told: list[str] = []
    door = OneTimeDoor(world.client, told.append)  # type: ignore[arg-type]  # the part that is used
    first = door.token
    session = door.enter(first)
    assert session is not None
    assert door.enter(first) is None
    assert told == [door.token]
    assert door.client(session) is not None
    assert door.client(first) is None
    assert door.client("") is None
    assert door.client("\udcff\udcfe") is None, "bytes of a header that are no text"
