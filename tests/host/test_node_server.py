"""The node's server over a real runtime: exec, attach and logs of containers that really run."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import pytest

from mooring.clock import RealClock
from tests.fakes.waiting import until
from tests.host.containers import (  # the last two are fixtures
    World,
    little,  # noqa: F401
    world,  # noqa: F401
)
from tests.unit.node.server.running import Book, Served, a_pod, client_of

pytestmark = pytest.mark.usefixtures("needs_root")

V5 = "v5.channel.k8s.io"
FOREVER = "trap 'exit 0' TERM; while :; do sleep 0.1; done"


@pytest.fixture
async def http(world: World) -> AsyncIterator[aiohttp.ClientSession]:  # noqa: F811
    pod = a_pod(world.pod_uid)
    served = Served(world.containers, lambda _: pod, Book(), RealClock())
    async with served.running(), client_of(served) as session:
        yield session


def wishes(*command: str, tty: bool = False, stdin: bool = False) -> str:
    words = [("command", word) for word in command]
    flags = [("output", "1"), ("error", "1"), ("tty", str(int(tty))), ("input", str(int(stdin)))]
    return urlencode([*words, *flags])


async def heard(socket: aiohttp.ClientWebSocketResponse) -> dict[int, bytes]:
    channels: dict[int, bytes] = {1: b"", 2: b"", 3: b""}
    async for message in socket:
        channels[message.data[0]] += message.data[1:]
    return channels


async def run(http: aiohttp.ClientSession, *command: str) -> tuple[str, dict[int, bytes]]:
    """How a command ended (its status or its exit code), and what it said."""
    url = f"/exec/team/web/main?{wishes(*command)}"
    async with http.ws_connect(url, protocols=(V5,), max_msg_size=0) as socket:
        channels = await heard(socket)
    status = json.loads(channels[3])
    causes = status.get("details", {}).get("causes", ())
    return next((each["message"] for each in causes), status["status"]), channels


COMMANDS = {
    "its output and its errors": ("echo out; echo err >&2", "Success", b"out\n", b"err\n"),
    "its exit code": ("exit 3", "3", b"", b""),
    "that a signal ended it": ("kill -9 $$", "137", b"", b""),
}


@pytest.mark.parametrize(("script", "end", "out", "err"), COMMANDS.values(), ids=COMMANDS)
async def test_a_command_tells(
    world: World,  # noqa: F811
    http: aiohttp.ClientSession,
    script: str,
    end: str,
    out: bytes,
    err: bytes,
) -> None:
    await world.start(world.script(FOREVER))
    ended, channels = await run(http, "/bin/sh", "-c", script)
    assert (ended, channels[1], channels[2]) == (end, out, err)


async def test_a_program_that_is_not_there_is_no_success(
    world: World,  # noqa: F811
    http: aiohttp.ClientSession,
) -> None:
    await world.start(world.script(FOREVER))
    ended, _ = await run(http, "/no/such/program")
    assert ended == "127"


async def test_ten_mebibytes_go_through_a_command(
    world: World,  # noqa: F811
    http: aiohttp.ClientSession,
) -> None:
    await world.start(world.script(FOREVER))
    piece = bytes(range(256)) * 128
    url = f"/exec/team/web/main?{wishes('cat', stdin=True)}"
    async with http.ws_connect(url, protocols=(V5,), max_msg_size=0) as socket:
        hearing = asyncio.create_task(heard(socket))
        for _ in range(320):
            await socket.send_bytes(b"\0" + piece)
        await socket.send_bytes(b"\xff\0")
        channels = await hearing
    assert channels[1] == piece * 320
    assert json.loads(channels[3])["status"] == "Success"


async def test_a_terminal_has_the_size_of_the_clients(
    world: World,  # noqa: F811
    http: aiohttp.ClientSession,
) -> None:
    await world.start(world.script(FOREVER))
    # The runtime passes the size on when it comes to it.
    script = 'until [ "$(stty size)" != "0 0" ]; do sleep 0.05; done; stty size'
    url = f"/exec/team/web/main?{wishes('/bin/sh', '-c', script, tty=True, stdin=True)}"
    async with http.ws_connect(url, protocols=(V5,)) as socket:
        await socket.send_bytes(b'\4{"Width":123,"Height":45}')
        channels = await heard(socket)
    assert b"45 123" in channels[1]


async def test_a_client_that_vanishes_takes_its_command_with_it(
    world: World,  # noqa: F811
    http: aiohttp.ClientSession,
) -> None:
    id = await world.start(world.script(FOREVER))
    found = world.containers.find(id)
    assert found is not None
    url = f"/exec/team/web/main?{wishes('sleep', '4321')}"
    socket = await http.ws_connect(url, protocols=(V5,))
    await until(lambda: bool(processes("sleep\0004321")))
    connection = socket._response.connection
    assert connection is not None
    assert connection.transport is not None
    connection.transport.abort()
    await until(lambda: not processes("sleep\0004321"))


def processes(words: str) -> list[Path]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if place.read_text().startswith(words):
                found.append(place)
        except (OSError, UnicodeDecodeError):
            continue
    return found


async def test_a_log_is_followed_to_its_end(
    world: World,  # noqa: F811
    http: aiohttp.ClientSession,
) -> None:
    script = "echo one; echo two >&2; read line; echo $line"
    spec = world.script(script, has_stdin=True, closes_stdin_after_first=True)
    id = await world.start(spec)
    async with http.get("/containerLogs/team/web/main?follow=true") as log:
        assert await log.content.readline() == b"one\n"
        assert await log.content.readline() == b"two\n"
        url = "/attach/team/web/main?input=1&output=1"
        async with http.ws_connect(url, protocols=(V5,)) as socket:
            await socket.send_bytes(b"\0three\n")
            channels = await heard(socket)
        assert channels[1] == b"three\n"
        assert json.loads(channels[3])["status"] == "Success"
        assert await log.content.read() == b"three\n"
    await world.end_of(id)
    async with http.get("/containerLogs/team/web/main?tailLines=1&timestamps=true") as log:
        stamp, _, text = (await log.read()).partition(b" ")
    assert text == b"three\n"
    assert len(stamp) == len("2026-01-02T03:04:05.000000000Z")
