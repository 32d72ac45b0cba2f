"""Clients that do not read, write or finish: thousands of them, and the server lives."""

import asyncio
import resource
import signal
import socket
import ssl
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from typing import Any

import pytest

from tests.fakes.objects import a_config_map
from tests.fakes.raw_http import RawHttp, WatchLines
from tests.fakes.real_server import RealServer
from tests.fakes.waiting import until

Doc = dict[str, Any]

MAPS = "/api/v1/namespaces/default/configmaps"
MB = 1 << 20
PAYLOAD = 900_000  # bytes in one object

MOST_CONNECTIONS = 9_500
OF_ONE_CALLER = 1_900
FEWEST_CONNECTIONS = 1_000
SPARE_FILES = 200  # for everything that is no connection


async def watch(
    server: RealServer, stack: AsyncExitStack, version: str, receive_buffer: int = 0
) -> RawHttp:
    client = await stack.enter_async_context(
        await RawHttp.connect(server, receive_buffer=receive_buffer)
    )
    url = f"{MAPS}?watch=true&resourceVersion={version}"
    await client.send(client.request("GET", url))
    assert (await client.head()).code == 200
    return client


async def write_large(client: RawHttp, numbers: range) -> None:
    """Change one large object again and again; each change carries its number."""
    for number in numbers:
        text = f"{number:06}" + "x" * PAYLOAD
        body = a_config_map("large", v=text)
        method, path = ("POST", MAPS) if number == 0 else ("PUT", f"{MAPS}/large")
        got = await client.ask(method, path, body)
        assert got.code in {200, 201}, got.body[:300]


async def numbers_of(client: RawHttp, most: int) -> tuple[list[int], Doc | None]:
    """The numbers that a watch tells of, up to `most` or an error, and the error."""
    events = WatchLines(client)
    numbers: list[int] = []
    while len(numbers) < most:
        event = await events.next()
        assert event is not None
        if event["type"] == "ERROR":
            return numbers, event["object"]
        if event["object"]["metadata"]["name"] == "large":
            numbers.append(int(event["object"]["data"]["v"][:6]))
    return numbers, None


async def test_watchers_that_do_not_read_cost_nobody_else(own_server: RealServer) -> None:
    """12 watchers sleep over 25 MB of events each, one reads; then they wake and miss nothing."""
    changes = range(28)
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(await RawHttp.connect(own_server))
        version = (await writer.ask("GET", MAPS)).doc["metadata"]["resourceVersion"]
        slow = [await watch(own_server, stack, version, receive_buffer=8192) for _ in range(12)]
        awake = await watch(own_server, stack, version)
        before = own_server.memory()
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(numbers_of(awake, len(changes)))
            tasks.create_task(write_large(writer, changes))
        assert reading.result() == (list(changes), None)
        grown = own_server.memory() - before
        # One copy is history's; each sleeper may hold what the sockets' buffers take, no more.
        assert grown < 120 * MB, f"{grown / MB:.0f} MB"
        for sleeper in slow:
            assert await numbers_of(sleeper, len(changes)) == (list(changes), None)


async def test_a_watcher_that_slept_too_long_is_told_410(own_server: RealServer) -> None:
    changes = range(70)  # more than history holds
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(await RawHttp.connect(own_server))
        version = (await writer.ask("GET", MAPS)).doc["metadata"]["resourceVersion"]
        slow = await watch(own_server, stack, version, receive_buffer=8192)
        before = own_server.memory()
        await write_large(writer, changes)
        assert own_server.memory() - before < 150 * MB
        numbers, status = await numbers_of(slow, len(changes))
        assert numbers == list(range(len(numbers))), "in order, without a gap"
        assert status is not None
        assert (status["code"], status["reason"]) == (410, "Expired")
        assert await slow.chunk() == b"", "a clean end"
        assert await slow.ended()


async def test_a_reader_of_a_long_list_may_take_its_time(own_server: RealServer) -> None:
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(await RawHttp.connect(own_server))
        text = "x" * PAYLOAD
        for number in range(30):
            assert (await writer.ask("POST", MAPS, a_config_map(f"m{number}", v=text))).code == 201
        slow = []
        before = own_server.memory()
        for _ in range(6):
            client = await stack.enter_async_context(
                await RawHttp.connect(own_server, receive_buffer=8192)
            )
            await client.send(client.request("GET", MAPS))
            slow.append(client)
        for client in slow:
            assert (await client.head()).code == 200
        assert (await writer.ask("GET", "/version")).code == 200
        assert own_server.memory() - before < 20 * MB  # of six lists of 26 MB each
        for client in slow:
            await client.close()
        assert (await writer.ask("GET", "/version")).code == 200


def connections_possible(server: RealServer) -> int:
    """As many as the limits of both processes allow; the server's is raised by itself."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    limit, _ = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    return min(MOST_CONNECTIONS, hard - SPARE_FILES, limit - SPARE_FILES) // 100 * 100


@contextmanager
def idle_connections(
    server: RealServer, count: int, tokens: list[str]
) -> Iterator[list[ssl.SSLSocket]]:
    """Blocking sockets in threads: the quickest way to shake hands that often.

    Each has shown a token: of strangers, the oldest would have to give way.
    """
    tls = server.tls()
    opened: list[ssl.SSLSocket] = []

    def open_some(token: str) -> None:
        for _ in range(count // len(tokens)):
            plain = socket.create_connection((server.host, server.port), timeout=30)
            opened.append(tls.wrap_socket(plain, server_hostname=server.host))
            assert is_answered(opened[-1], token)

    try:
        with ThreadPoolExecutor(len(tokens)) as pool:
            for done in [pool.submit(open_some, token) for token in tokens]:
                done.result()
        yield opened
    finally:
        for each in opened:
            each.close()


def is_answered(connection: ssl.SSLSocket, token: str = "") -> bool:
    shown = f"Authorization: Bearer {token}\r\n" if token else ""
    connection.sendall(f"GET /version HTTP/1.1\r\nHost: mooring\r\n{shown}\r\n".encode())
    return connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def tokens_of_many(server: RealServer, count: int) -> list[str]:
    """Of as many service accounts."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    tokens = []
    for number in range(count):
        assert server.ask("POST", accounts, {"metadata": {"name": f"a{number}"}}).code == 201
        reply = server.ask("POST", f"{accounts}/a{number}/token", {})
        tokens.append(str(reply.doc["status"]["token"]))
    return tokens


@pytest.mark.timeout(300)
async def test_thousands_of_idle_connections(
    own_server: RealServer, capsys: pytest.CaptureFixture[str]
) -> None:
    count = connections_possible(own_server)
    if count < FEWEST_CONNECTIONS:
        pytest.skip(f"the limit on open files allows only {count} connections")
    tokens = tokens_of_many(own_server, -(-count // OF_ONE_CALLER))
    count = count // len(tokens) * len(tokens)
    await until(lambda: own_server.connections() == 0)
    before = own_server.memory()
    with idle_connections(own_server, count, tokens) as connections:
        await until(lambda: own_server.connections() == count, 60)
        most = own_server.memory()
        each = (most - before) / count
        with capsys.disabled():
            print(  # noqa: T201  a figure to compare with the next time
                f"\n{count} idle connections: {each / 1024:.1f} KiB each, "
                f"{most / MB:.0f} MiB in all"
            )
        assert each < 64 * 1024
        assert own_server.ask("GET", "/version").code == 200
        assert all(map(is_answered, connections[:: count // 50]))
    await until(lambda: own_server.connections() == 0, 60)
    for _ in range(2):  # what was released is used again
        with idle_connections(own_server, count // 10, tokens[:1]):
            await until(lambda: own_server.connections() == count // 10, 60)
            assert own_server.memory() < most * 1.1
        await until(lambda: own_server.connections() == 0, 60)


async def test_a_server_out_of_descriptors_serves_whom_it_has_and_recovers(
    own_server: RealServer,
) -> None:
    limit = own_server.open_files() + 20
    resource.prlimit(own_server.pid, resource.RLIMIT_NOFILE, (limit, limit))
    tls = own_server.tls()
    async with await RawHttp.connect(own_server, tls) as first:
        crowd = [asyncio.create_task(RawHttp.connect(own_server, tls)) for _ in range(40)]
        done, waiting = await asyncio.wait(crowd, timeout=2)
        assert (await first.ask("GET", "/version")).code == 200
        assert (await first.ask("POST", MAPS, a_config_map("written"))).code == 201
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for task in done:
            if task.exception() is None:
                await task.result().close()
    async with asyncio.timeout(20):
        while True:
            try:
                async with await RawHttp.connect(own_server, tls) as later:
                    assert (await later.ask("GET", f"{MAPS}/written")).code == 200
                    break
            except ConnectionError:
                continue


HANDSHAKES = {
    "that never begin": b"",
    "that stop in the middle": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 20,
}


@pytest.mark.parametrize("beginning", HANDSHAKES.values(), ids=HANDSHAKES)
async def test_handshakes_that_never_finish_are_given_up(
    own_server: RealServer, beginning: bytes
) -> None:
    await until(lambda: own_server.connections() == 0)
    streams = []
    for _ in range(300):
        streams.append(await asyncio.open_connection(own_server.host, own_server.port))
        streams[-1][1].write(beginning)
    await until(lambda: own_server.connections() == 300)
    assert own_server.ask("GET", "/version").code == 200
    async with asyncio.timeout(30):
        for reader, _ in streams:
            try:
                await reader.read()
            except ConnectionError:
                continue
    await until(lambda: own_server.connections() == 0)
    for _, writer in streams:
        writer.close()


async def test_a_handshake_with_nonsense_is_the_end_of_it(own_server: RealServer) -> None:
    await until(lambda: own_server.connections() == 0)
    for _ in range(50):
        reader, writer = await asyncio.open_connection(own_server.host, own_server.port)
        writer.write(b"\x16\x03\x01" + struct.pack(">H", 5) + b"wrong" + b"\x00" * 100)
        async with asyncio.timeout(10):
            await reader.read()
        writer.close()
    assert own_server.ask("GET", "/version").code == 200
    await until(lambda: own_server.connections() == 0)


async def test_only_tls_1_2_and_newer(own_server: RealServer) -> None:
    old = own_server.tls()
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await RawHttp.connect(own_server, old)
    new = own_server.tls()
    new.minimum_version = ssl.TLSVersion.TLSv1_3
    async with await RawHttp.connect(own_server, new) as client:
        assert (await client.ask("GET", "/version")).code == 200


async def test_a_stop_does_not_wait_for_those_who_never_finish(own_server: RealServer) -> None:
    """A handshake, a request, a body, a list that nobody reads."""
    async with AsyncExitStack() as stack:
        _, shaking = await asyncio.open_connection(own_server.host, own_server.port)
        stack.callback(shaking.close)
        for cut in (10, 120):
            client = await stack.enter_async_context(await RawHttp.connect(own_server))
            body = a_config_map("never")
            await client.send(client.request("POST", MAPS, body)[:-cut])
        unread = await stack.enter_async_context(
            await RawHttp.connect(own_server, receive_buffer=4096)
        )
        await unread.send(unread.request("GET", "/openapi/v2"))
        own_server.send(signal.SIGTERM)
        loop = asyncio.get_running_loop()
        assert await loop.run_in_executor(None, own_server.wait, 15.0) == 0
    assert "Traceback" not in own_server.log.read_text()
