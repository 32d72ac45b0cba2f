"""HTTP as it arrives on real sockets: in pieces, in heaps, and in ways nobody should send it."""

import asyncio
import gzip
import json
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from tests.fakes.objects import NAMESPACES, a_config_map, a_namespace
from tests.fakes.raw_http import RawHttp, WatchLines
from tests.fakes.real_server import RealServer
from tests.fakes.waiting import until

Doc = dict[str, Any]

MAPS = "/api/v1/namespaces/sockets/configmaps"
MOST_BODY = 3 * 1024 * 1024


@pytest.fixture(scope="module")
def server(real_server: RealServer) -> RealServer:
    """With a namespace that this file's tests may fill."""
    real_server.ask("POST", NAMESPACES, a_namespace("sockets"))
    return real_server


@pytest.fixture
async def client(server: RealServer) -> AsyncIterator[RawHttp]:
    async with await RawHttp.connect(server) as connection:
        yield connection


def a_large(size: int, name: str = "large") -> bytes:
    """A config map whose JSON is `size` bytes long."""
    frame = json.dumps(a_config_map(name, v="")).encode()
    return frame.replace(b'"v": ""', b'"v": "%b"' % (b"x" * (size - len(frame))))


JSON = {"Content-Type": "application/json"}


async def test_a_connection_serves_request_after_request(client: RawHttp) -> None:
    for _ in range(3):
        got = await client.ask("GET", f"{NAMESPACES}/default")
        assert got.code == 200
        assert "connection" not in got.headers
        assert got.headers["content-type"] == "application/json"
        assert got.headers["cache-control"] == "no-cache, private"
        assert got.headers["date"].endswith(" GMT")


async def test_a_connection_closes_when_the_client_asks(client: RawHttp) -> None:
    got = await client.ask("GET", "/version", headers={"Connection": "close"})
    assert got.code == 200
    assert got.headers["connection"] == "close"
    assert await client.ended()


async def test_a_client_of_http_1_0_is_answered_and_left(client: RawHttp) -> None:
    await client.send(client.request("GET", "/version").replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert (await client.answer()).code == 200
    assert await client.ended()


async def test_a_request_may_come_byte_by_byte(client: RawHttp) -> None:
    for byte in client.request("GET", "/version"):
        await client.send(bytes([byte]))
    assert (await client.answer()).code == 200


async def test_pipelined_requests_are_answered_in_order(client: RawHttp) -> None:
    requests = []
    for number in range(40):
        name = f"piped-{number}"
        requests.append(client.request("POST", MAPS, a_config_map(name)))
        requests.append(client.request("GET", f"{MAPS}/{name}"))
        requests.append(client.request("DELETE", f"{MAPS}/{name}"))
    await client.send(b"".join(requests))
    for number in range(40):
        created, read, deleted = [await client.answer() for _ in range(3)]
        assert (created.code, read.code, deleted.code) == (201, 200, 200)
        assert read.doc["metadata"]["name"] == f"piped-{number}"
        assert deleted.doc["details"]["name"] == f"piped-{number}"


async def test_what_is_sent_behind_a_watch_is_not_done(server: RealServer, client: RawHttp) -> None:
    """A watch ends its connection, so nobody could be told how it went."""
    watch = client.request("GET", f"{MAPS}?watch=true&timeoutSeconds=1&resourceVersion=0")
    await client.send(watch + client.request("POST", MAPS, a_config_map("behind-a-watch")))
    assert (await client.answer()).code == 200
    assert await client.ended()
    assert server.ask("GET", f"{MAPS}/behind-a-watch").code == 404


CONTINUED = {
    "small": 200,
    "as large as may be": MOST_BODY - 1000,
}


@pytest.mark.parametrize("size", CONTINUED.values(), ids=CONTINUED)
async def test_a_client_that_waits_for_a_go_gets_it(client: RawHttp, size: int) -> None:
    body = a_large(size, "continued")
    headers = JSON | {"Expect": "100-continue", "Content-Length": str(len(body))}
    await client.send(client.request("POST", f"{MAPS}?dryRun=All", headers=headers))
    assert (await client.head()).code == 100
    await client.send(body)
    got = await client.answer()
    assert got.code == (201 if size < 1000 else 422), got.body[:300]


async def test_a_go_never_comes_before_an_earlier_answer(client: RawHttp) -> None:
    body = a_large(300, "later")
    headers = JSON | {"Expect": "100-continue", "Content-Length": str(len(body))}
    earlier = client.request("GET", f"{NAMESPACES}/sockets")
    later = client.request("POST", f"{MAPS}?dryRun=All", headers=headers)
    await client.send(earlier + later + body)
    first = await client.answer()
    assert (first.code, first.doc["kind"]) == (200, "Namespace")
    assert (await client.answer()).code in {100, 201}


@pytest.mark.parametrize("path", [f"{NAMESPACES}/default", MAPS, "/version"])
async def test_head_is_405_without_a_body(client: RawHttp, path: str) -> None:
    got = await client.ask("HEAD", path)
    assert got.code == 405
    assert int(got.headers["content-length"]) > 0
    assert (await client.ask("GET", "/version")).code == 200, "no stray body in between"


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PROPFIND"])
async def test_other_methods_are_405(client: RawHttp, method: str) -> None:
    got = await client.ask(method, MAPS)
    assert (got.code, got.doc["reason"]) == (405, "MethodNotAllowed")
    assert (await client.ask("GET", "/version")).code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_body_too_large_is_413_and_the_connection_goes_on(
    client: RawHttp, method: str
) -> None:
    path = MAPS if method == "POST" else f"{MAPS}/large"
    media = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else JSON
    got = await client.ask(method, path, a_large(4 * 1024 * 1024), media)
    assert got.code == 413
    assert got.doc["reason"] == "RequestEntityTooLarge"
    assert got.doc["message"] == "Request entity too large: limit is 3145728"
    assert (await client.ask("GET", f"{NAMESPACES}/default")).code == 200


async def test_a_body_of_the_limit_is_read(client: RawHttp) -> None:
    assert (await client.ask("POST", MAPS, a_large(MOST_BODY), JSON)).code == 422  # data: 1 MiB
    assert (await client.ask("POST", MAPS, a_large(MOST_BODY + 1), JSON)).code == 413


async def test_a_body_that_never_ends_is_not_read_for_ever(
    server: RealServer, client: RawHttp
) -> None:
    before = server.memory()
    headers = JSON | {"Content-Length": str(1 << 40)}
    await client.send(client.request("POST", MAPS, headers=headers))
    piece = b"x" * (1 << 20)
    sent = 0
    with suppress(ConnectionError):
        while sent < 1000:
            await client.send(piece)
            sent += 1
    assert 64 <= sent < 1000
    assert server.memory() - before < 64 << 20


def chunked(body: bytes, size: int, *, trailer: bytes = b"", extension: bytes = b"") -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    framed = b"".join(b"%x%b\r\n%b\r\n" % (len(p), extension, p) for p in pieces)
    return framed + b"0\r\n" + trailer + b"\r\n"


CHUNKED = {
    "in one piece": (10_000, b"", b""),
    "in bytes": (1, b"", b""),
    "with extensions": (7, b"", b";a=b"),
    "with a trailer": (50, b"X-Sum: 1\r\n", b""),
}


@pytest.mark.parametrize(("size", "trailer", "extension"), CHUNKED.values(), ids=CHUNKED)
async def test_chunked_bodies(client: RawHttp, size: int, trailer: bytes, extension: bytes) -> None:
    body = json.dumps(a_config_map("chunked")).encode()
    head = client.request(
        "POST", f"{MAPS}?dryRun=All", headers=JSON | {"Transfer-Encoding": "chunked"}
    )
    await client.send(head + chunked(body, size, trailer=trailer, extension=extension))
    assert (await client.answer()).code == 201
    assert (await client.ask("GET", "/version")).code == 200


async def test_a_chunked_body_too_large_is_413(client: RawHttp) -> None:
    head = client.request("POST", MAPS, headers=JSON | {"Transfer-Encoding": "chunked"})
    await client.send(head + chunked(a_large(4 << 20), 65536))
    assert (await client.answer()).code == 413
    assert (await client.ask("GET", "/version")).code == 200


MALFORMED = {
    "no HTTP at all": b"hello there\r\n\r\n",
    "binary": bytes(range(256)),
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "a version that is none": b"GET / HTTP/9.9.9\r\nHost: x\r\n\r\n",
    "no version": b"GET /version\r\n\r\n",
    "HTTP/2 by force": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a header without a name": b"GET /version HTTP/1.1\r\n: x\r\n\r\n",
    "a header with a space in its name": b"GET /version HTTP/1.1\r\nA B: x\r\n\r\n",
    "a header that is none": b"GET /version HTTP/1.1\r\nnonsense\r\n\r\n",
    "a NUL in a header": b"GET /version HTTP/1.1\r\nHost: a\x00b\r\n\r\n",
    "a line ending in a header": b"GET /version HTTP/1.1\r\nHost: a\rb: c\r\n\r\n",
    "a length that is no number": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n",
    "a negative length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "two lengths": (
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde"
    ),
    "a length and chunks": (
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\n"
    ),
    "an encoding behind chunks": (
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"
    ),
    "a chunk whose size is none": (
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"
    ),
    "a chunk longer than it says": (
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n"
    ),
    "a chunk size of 30 digits": (
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 30 + b"\r\n"
    ),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
async def test_malformed_requests_are_400_and_the_end(
    server: RealServer, client: RawHttp, data: bytes
) -> None:
    await client.send(data)
    got = await client.answer()
    assert got.code == 400
    assert got.headers["connection"] == "close"
    assert await client.ended()
    assert server.ask("GET", "/version").code == 200


async def test_what_precedes_a_malformed_request_is_answered(client: RawHttp) -> None:
    await client.send(client.request("GET", f"{NAMESPACES}/default") * 3 + b"nonsense\r\n\r\n")
    assert [(await client.answer()).code for _ in range(4)] == [200, 200, 200, 400]
    assert await client.ended()


TOO_LARGE = {
    "one long header": b"GET /version HTTP/1.1\r\nA: " + b"x" * 70_000 + b"\r\n\r\n",
    "many headers": b"GET /version HTTP/1.1\r\n" + b"A: 50 bytes long\r\n" * 8000 + b"\r\n",
}


@pytest.mark.parametrize("data", TOO_LARGE.values(), ids=TOO_LARGE)
async def test_headers_too_large_are_431_and_the_end(client: RawHttp, data: bytes) -> None:
    client.writer.write(data)
    assert (await client.answer()).code == 431
    assert await client.ended()


async def test_a_url_too_long_is_414_and_the_end(client: RawHttp) -> None:
    client.writer.write(b"GET /" + b"x" * 17_000 + b" HTTP/1.1\r\n\r\n")
    assert (await client.answer()).code == 414
    assert await client.ended()


ENDLESS = {
    "a header": b"GET /version HTTP/1.1\r\nA: ",
    "a path": b"GET /",
    "a header's name": b"GET /version HTTP/1.1\r\nA",
    "a trailer": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: ",
    "a chunk's extension": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;a=",
}


@pytest.mark.parametrize("beginning", ENDLESS.values(), ids=ENDLESS)
async def test_what_has_no_end_is_not_kept(
    server: RealServer, client: RawHttp, beginning: bytes
) -> None:
    before = server.memory()
    await client.send(beginning)
    closed = asyncio.create_task(client.reader.read())
    sent = 0
    with suppress(ConnectionError):
        while sent < 200 and not closed.done():
            await client.send(b"x" * (1 << 20))
            await asyncio.wait((closed,), timeout=0)  # a send may hear nothing of the other end
            sent += 1
    assert sent < 200
    closed.cancel()
    await asyncio.gather(closed, return_exceptions=True)
    assert server.memory() - before < 32 << 20


async def test_many_small_headers_are_fine(client: RawHttp) -> None:
    many = {f"X-{number}": "y" for number in range(500)}
    assert (await client.ask("GET", "/version", headers=many)).code == 200


async def test_plain_http_is_no_way_in(server: RealServer) -> None:
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(10):
        answered = await reader.read()
    assert b"200" not in answered
    writer.close()
    assert server.ask("GET", "/version").code == 200


async def test_a_client_that_leaves_in_the_middle_leaves_nothing(server: RealServer) -> None:
    """In the middle of a head, of a body, of an answer, of a watch."""
    before = server.open_files()
    for cut in (10, 150, None):
        client = await RawHttp.connect(server)
        data = client.request("GET", "/openapi/v2")
        await client.send(data[:cut])
        await client.close()
    watching = await RawHttp.connect(server)
    await watching.send(watching.request("GET", f"{MAPS}?watch=true"))
    assert (await watching.head()).code == 200
    await watching.close()
    await until(lambda: server.open_files() <= before)


async def test_headers_of_a_watch_come_before_its_first_event(client: RawHttp) -> None:
    version = (await client.ask("GET", MAPS)).doc["metadata"]["resourceVersion"]
    await client.send(client.request("GET", f"{MAPS}?watch=true&resourceVersion={version}"))
    head = await client.head()
    assert head.code == 200
    assert head.headers["transfer-encoding"] == "chunked"
    assert head.headers["connection"] == "close"  # it ends with the watch
    assert head.headers["content-type"] == "application/json"


async def test_a_watch_ends_cleanly_when_its_time_is_over(client: RawHttp) -> None:
    loop = asyncio.get_running_loop()
    version = (await client.ask("GET", MAPS)).doc["metadata"]["resourceVersion"]
    began = loop.time()
    got = await client.ask("GET", f"{MAPS}?watch=true&resourceVersion={version}&timeoutSeconds=1")
    assert (got.code, got.body) == (200, b"")
    assert 0.9 < loop.time() - began < 5
    assert await client.ended()


async def test_a_watch_tells_of_a_write_at_once(server: RealServer, client: RawHttp) -> None:
    version = (await client.ask("GET", MAPS)).doc["metadata"]["resourceVersion"]
    await client.send(client.request("GET", f"{MAPS}?watch=true&resourceVersion={version}"))
    await client.head()
    events = WatchLines(client)
    async with await RawHttp.connect(server) as writer:
        for number in range(20):
            made = await writer.ask("POST", MAPS, a_config_map(f"told-{number}"))
            event = await events.next()
            assert event == {"type": "ADDED", "object": made.doc}


async def test_watches_end_cleanly_at_sigterm(own_server: RealServer) -> None:
    url = "/api/v1/configmaps?watch=true"
    async with (
        await RawHttp.connect(own_server) as idle,
        await RawHttp.connect(own_server) as watching,
    ):
        await idle.ask("GET", "/version")
        await watching.send(watching.request("GET", url))
        assert (await watching.head()).code == 200
        events = WatchLines(watching)
        own_server.send(signal.SIGTERM)
        while event := await events.next():  # until the last chunk, which is empty
            assert event["type"] == "ADDED"
        assert await watching.ended()
        assert await idle.ended()
    assert own_server.wait() == 0
    assert own_server.log.read_text() == ""


async def test_a_large_answer_and_a_watch_list_are_compressed_for_who_asks(
    server: RealServer, client: RawHttp
) -> None:
    server.ask("POST", NAMESPACES, a_namespace("compressed"))
    maps = "/api/v1/namespaces/compressed/configmaps"
    for number in range(3):
        got = await client.ask("POST", maps, a_config_map(f"m{number}", v=f"{number}" * 200_000))
        assert got.code == 201
    asks = {"accept-encoding": "gzip"}
    await client.send(client.request("GET", maps, headers=asks))
    head = await client.head()
    assert (head.code, head.headers["content-encoding"]) == (200, "gzip")
    body = b""
    while piece := await client.chunk():
        body += piece
    listed = json.loads(gzip.decompress(body))["items"]
    assert {item["metadata"]["name"] for item in listed} >= {"m0", "m1", "m2"}
    got = await client.ask("GET", f"{maps}/m1")  # the connection is fit for more
    assert got.doc["data"] == {"v": "1" * 200_000}
    url = f"{maps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    await client.send(client.request("GET", url, headers=asks))
    head = await client.head()
    assert head.headers["content-encoding"] == "gzip"
    names: set[str] = set()
    while not names >= {"m0", "m1", "m2"}:
        for line in gzip.decompress(await client.chunk()).splitlines():
            names.add(json.loads(line)["object"]["metadata"].get("name", ""))
