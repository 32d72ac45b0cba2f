"""Connections as any server, and any proxy before it, may treat them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.client import connection, connections, http
from mooring.client.connect import connect_to
from mooring.client.endpoint import Endpoint
from mooring.client.http import HttpClient
from mooring.client.tls import Trust
from mooring.errors import ConnectionLost
from mooring.model.claim import Claim
from mooring.model.keys import Key
from tests.fakes.clock import VirtualClock
from tests.unit.client.scripted_server import a_stored, a_tls_server

DATA = Key("default", "data")
BODY = b'{"metadata":{"name":"data","namespace":"default","uid":"u1","resourceVersion":"5"}}'
LENGTH = b"Content-Length: %d\r\n\r\n" % len(BODY)
GOOD = b"HTTP/1.1 200 OK\r\n" + LENGTH + BODY

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Listening:
    """What a plain server was asked, by connection."""

    def __init__(self) -> None:
        self.url = ""
        self.heads: list[list[bytes]] = []
        self.open = 0
        self.changed = asyncio.Event()

    async def until_open(self, count: int) -> None:
        async with asyncio.timeout(5):
            while self.open != count:
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def listening(*answers: bytes | None, hangs_up: bool = False) -> AsyncIterator[Listening]:
    """Each request gets the next of the answers, whatever connection it comes by; None: no answer,
    and the end of the connection."""
    left, seen = list(answers), Listening()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads: list[bytes] = []
        seen.heads.append(heads)
        seen.open += 1
        seen.changed.set()
        try:
            while left:
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                answer = left.pop(0)
                writer.write(answer or b"")
                if hangs_up or answer is None:
                    break
            else:
                await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            seen.open -= 1
            seen.changed.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        seen.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield seen


@asynccontextmanager
async def client_of(seen: Listening) -> AsyncIterator[HttpClient]:
    async with connect_to(Endpoint(seen.url), VirtualClock()) as client:
        yield client


ANSWERS = {
    "of a given length": GOOD,
    "in chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"7\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (BODY[:7], len(BODY) - 7, BODY[7:]),
    "behind one that is not the last": b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n" + GOOD,
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_a_connection_is_kept_after_an_answer(answer: bytes) -> None:
    async with listening(answer, answer) as seen, client_of(seen) as client:
        for _ in range(2):
            assert (await client.get(Claim, DATA)).name == "data"
    assert [len(heads) for heads in seen.heads] == [2]


LAST = {
    "that says so": b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + LENGTH + BODY,
    "of HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + LENGTH + BODY,
}


@pytest.mark.parametrize("answer", LAST.values(), ids=LAST)
async def test_a_connection_ends_with_an_answer(answer: bytes) -> None:
    async with listening(answer, answer) as seen, client_of(seen) as client:
        for _ in range(2):
            assert (await client.get(Claim, DATA)).name == "data"
    assert [len(heads) for heads in seen.heads] == [1, 1]


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    answer = b"HTTP/1.1 200 OK\r\n\r\n" + BODY
    async with listening(answer, hangs_up=True) as seen, client_of(seen) as client:
        assert (await client.get(Claim, DATA)).name == "data"


async def test_an_answer_that_is_shorter_than_it_said_is_a_lost_connection() -> None:
    async with listening(GOOD[:-1], hangs_up=True) as seen, client_of(seen) as client:
        with pytest.raises(ConnectionLost, match="the server closed it"):
            await client.get(Claim, DATA)


async def test_a_read_is_sent_again_when_its_kept_connection_was_closed() -> None:
    async with listening(GOOD, GOOD, hangs_up=True) as seen, client_of(seen) as client:
        for _ in range(2):
            assert (await client.get(Claim, DATA)).name == "data"


async def test_a_write_is_not_sent_again_for_it_may_be_done() -> None:
    async with listening(GOOD, None, GOOD) as seen, client_of(seen) as client:
        claim = await client.get(Claim, DATA)
        with pytest.raises(ConnectionLost, match="the server closed it"):
            await client.patch(claim, {})
    assert [len(heads) for heads in seen.heads] == [2]


NONSENSE = {
    "what is no HTTP": (b"220 mail.example.com ESMTP\r\n", "no answer"),
    "another protocol": (
        b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
        "no answer",
    ),
    "a head without end": (b"HTTP/1.1 200 OK\r\n" + b"X-Y: zzz\r\n" * 9_000, "a head of over"),
    "a trailer without end": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Y: " + b"z" * 400_000,
        "a head of over",
    ),
}


@pytest.mark.parametrize(("answer", "words"), NONSENSE.values(), ids=NONSENSE)
async def test_a_lost_connection_is_one_with(answer: bytes, words: str) -> None:
    async with listening(answer) as seen, client_of(seen) as client:
        with pytest.raises(ConnectionLost, match=words):
            await client.get(Claim, DATA)
        await seen.until_open(0)


async def test_an_answer_without_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_ANSWER_BYTES", 1000)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"x" * 1001
    async with listening(answer) as seen, client_of(seen) as client:
        with pytest.raises(ConnectionLost, match="over 1000 bytes"):
            await client.get(Claim, DATA)
        await seen.until_open(0)


async def test_a_refused_watch_whose_refusal_has_no_end_leaves_no_connection_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "ANSWER_SECONDS", 0.01)
    half = b"HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\n{"
    async with listening(half) as seen, client_of(seen) as client:
        with pytest.raises(ConnectionLost, match="did not answer in time"):
            async with client.watch(Claim, "5"):
                pass
        await seen.until_open(0)


async def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    async with listening(GOOD + GOOD, GOOD) as seen, client_of(seen) as client:
        await client.get(Claim, DATA)
        await seen.until_open(0)
        assert (await client.get(Claim, DATA)).name == "data"


async def test_whoever_is_cancelled_leaves_no_connection_behind() -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"
    async with listening(half) as seen, client_of(seen) as client:
        asking = asyncio.create_task(client.get(Claim, DATA))
        await seen.until_open(1)
        asking.cancel()
        await asyncio.wait([asking])
        await seen.until_open(0)


async def test_idle_connections_are_closed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "KEPT_SECONDS", 0.01)
    async with listening(GOOD) as seen, client_of(seen) as client:
        await client.get(Claim, DATA)
        await seen.until_open(0)


async def test_a_stream_that_nobody_reads_waits_in_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MOST_HELD_BYTES", 1000)
    line = b"%x\r\n%b\n\r\n" % (5001, b"x" * 5000)
    endless = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + line * 4
    async with (
        listening(endless) as seen,
        client_of(seen) as client,
        client.follow("/log", {}) as lines,
    ):
        found = [await anext(lines) for _ in range(4)]
    assert found == [b"x" * 5000] * 4


async def test_the_connection_of_a_stream_that_was_left_at_its_end_is_of_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MOST_HELD_BYTES", 1000)
    lines = b"%x\r\n%b\n\r\n" % (5001, b"x" * 5000) + b"0\r\n\r\n"
    stream = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + lines
    async with listening(stream, GOOD) as seen, client_of(seen) as client:
        async with client.follow("/log", {}):
            pass
        async with asyncio.timeout(5):
            assert (await client.get(Claim, DATA)).name == "data"
    assert [len(heads) for heads in seen.heads] == [2]


ESTABLISHED = {
    "without a length": b"HTTP/1.1 200 Connection established\r\n\r\n",
    "of no length, which is to be ignored": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "of HTTP/1.0, of no length": b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("established", ESTABLISHED.values(), ids=ESTABLISHED)
async def test_a_proxy_leads_to_a_server_with_tls_and_sees_none_of_it(
    tmp_path: Path, established: bytes
) -> None:
    asked: list[bytes] = []
    async with a_tls_server(tmp_path, "127.0.0.1") as (script, authority):
        port = int(script.url.rpartition(":")[2])

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            to, out = await asyncio.open_connection("127.0.0.1", port)
            writer.write(established)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_pass_on(reader, out))
                tasks.create_task(_pass_on(to, writer))

        proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with proxy:
            where = f"http://u:p%40s@127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
            endpoint = Endpoint(script.url, Trust(authority.pem), proxy=where)
            async with connect_to(endpoint, VirtualClock()) as client:
                for _ in range(2):
                    script.answer(a_stored())
                    assert (await client.get(Claim, DATA)).name == "data"
    to = script.url.removeprefix("https://").encode()
    assert asked == [
        b"CONNECT %b HTTP/1.1\r\nHost: %b\r\nProxy-Authorization: Basic dTpwQHM=\r\n\r\n" % (to, to)
    ]


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
    except ConnectionError:
        pass
    finally:
        writer.close()


async def test_a_proxy_that_refuses_is_told() -> None:
    async with listening(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n") as seen:
        endpoint = Endpoint("https://api.invalid", Trust(skip_verify=True), proxy=seen.url)
        async with connect_to(endpoint, VirtualClock()) as client:
            with pytest.raises(ConnectionLost, match=r"cannot reach .*: the proxy answered 407"):
                await client.get(Claim, DATA)
            await seen.until_open(0)


async def test_a_proxy_that_closes_its_tunnel_at_once_holds_nothing_up() -> None:
    junk = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\njunk"
    async with asyncio.timeout(5), listening(junk) as seen:
        endpoint = Endpoint("https://api.invalid", Trust(skip_verify=True), proxy=seen.url)
        async with connect_to(endpoint, VirtualClock()) as client:
            with pytest.raises(ConnectionLost, match="the proxy closed it"):
                await client.get(Claim, DATA)
            await seen.until_open(0)


async def test_a_server_that_wants_no_tls_handshake_is_told() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 16)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with connect_to(Endpoint(url, Trust(skip_verify=True)), VirtualClock()) as client:
            with pytest.raises(ConnectionLost, match=r"cannot reach .*: it closes the connection"):
                await client.get(Claim, DATA)


async def test_a_server_is_logged_in_to_by_its_url() -> None:
    async with listening(GOOD) as seen:
        endpoint = Endpoint(seen.url.replace("//", "//user:word@"))
        async with connect_to(endpoint, VirtualClock()) as client:
            await client.get(Claim, DATA)
    assert b"\r\nAuthorization: Basic dXNlcjp3b3Jk\r\n" in seen.heads[0][0]
