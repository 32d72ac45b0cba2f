"""Logs, exec, attach and port forwarding, through a real API server to a node that is played."""

import asyncio
import hashlib
import itertools
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from tests.fakes.node_server import (
    SWITCHED,
    Asked,
    FakeNode,
    Script,
    echo,
    flooding,
    running_node,
    saying,
)
from tests.fakes.raw_http import RawHttp
from tests.fakes.real_server import RealServer

Doc = dict[str, Any]

UPGRADE = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
TEN_MIB = 10 * 1024 * 1024
_numbers = itertools.count()


class Pod(msgspec.Struct, frozen=True):
    """A pod on a node that is played."""

    server: RealServer
    node: FakeNode
    name: str

    def path(self, part: str, query: str = "") -> str:
        return f"/api/v1/namespaces/default/pods/{self.name}/{part}?{query}"

    @property
    def asked(self) -> Asked:
        return self.node.asked[-1]


def create(server: RealServer, path: str, doc: Doc) -> None:
    reply = server.ask("POST", path, doc)
    assert reply.code == 201, reply.body


def a_pod(name: str, node: str, *containers: str) -> Doc:
    named = [{"name": container, "image": "busybox"} for container in containers]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": named, **({"nodeName": node} if node else {})},
    }


@asynccontextmanager
async def a_pod_on(
    server: RealServer, directory: Path, script: Script, **annotations: str
) -> AsyncIterator[Pod]:
    """A pod whose node plays `script`."""
    name = f"passage-{next(_numbers)}"
    async with running_node(directory, server.data_dir / "pki" / "ca.crt", script) as node:
        await asyncio.to_thread(create, server, "/api/v1/nodes", node.document(name, **annotations))
        doc = a_pod(name, name, "main")
        await asyncio.to_thread(create, server, "/api/v1/namespaces/default/pods", doc)
        yield Pod(server, node, name)


# logs


async def test_a_log_comes_as_plain_text(real_server: RealServer, tmp_path: Path) -> None:
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
    async with a_pod_on(real_server, tmp_path, saying(said)) as pod:
        async with await RawHttp.connect(real_server) as client:
            got = await client.ask("GET", pod.path("log", "tailLines=5&timestamps=true&follow=0"))
        assert (got.code, got.body) == (200, b"hello\n")
        assert got.headers["content-type"] == "text/plain"
        assert pod.asked.path == f"/containerLogs/default/{pod.name}/main"
        assert pod.asked.query == {
            "tailLines": ["5"],
            "timestamps": ["true"],
        }


async def test_the_node_sees_the_api_server_and_not_the_token_of_the_client(
    real_server: RealServer, tmp_path: Path
) -> None:
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    async with a_pod_on(real_server, tmp_path, saying(said)) as pod:
        async with await RawHttp.connect(real_server) as client:
            await client.ask("GET", pod.path("log"))
        assert pod.asked.caller == {
            "commonName": "system:kube-apiserver",
            "organizationName": "system:masters",
        }
        assert not pod.asked.header("authorization")


async def test_a_followed_log_is_shown_line_by_line(
    real_server: RealServer, tmp_path: Path
) -> None:
    go_on = asyncio.Event()

    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
        await go_on.wait()
        writer.write(b"4\r\ntwo\n\r\n0\r\n\r\n")
        await writer.drain()

    async with (
        a_pod_on(real_server, tmp_path, script) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        await client.send(client.request("GET", pod.path("log", "follow=true")))
        assert (await client.head()).code == 200
        assert await client.chunk() == b"one\n"
        go_on.set()
        assert await client.chunk() == b"two\n"
        assert await client.chunk() == b""


async def test_a_log_that_breaks_off_does_not_end_as_if_it_were_whole(
    real_server: RealServer, tmp_path: Path
) -> None:
    said = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n"
    async with (
        a_pod_on(real_server, tmp_path, saying(said)) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        await client.send(client.request("GET", pod.path("log", "follow=true")))
        await client.head()
        assert await client.chunk() == b"one\n"
        assert await client.ended()


async def test_a_client_that_stops_following_lets_the_node_go(
    real_server: RealServer, tmp_path: Path
) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
        await reader.read()

    async with a_pod_on(real_server, tmp_path, script) as pod:
        async with await RawHttp.connect(real_server) as client:
            await client.send(client.request("GET", pod.path("log", "follow=true")))
            await client.head()
            await client.chunk()
        async with asyncio.timeout(10):
            await pod.node.left.wait()


async def test_a_slow_reader_gets_all_of_a_large_log(
    real_server: RealServer, tmp_path: Path
) -> None:
    content = bytes(range(256)) * (TEN_MIB // 256)
    said = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content)
    async with (
        a_pod_on(real_server, tmp_path, saying(said + content)) as pod,
        await RawHttp.connect(real_server, receive_buffer=4096) as client,
    ):
        await client.send(client.request("GET", pod.path("log")))
        await client.head()
        digest, length = hashlib.sha256(), 0
        while chunk := await client.chunk():
            digest.update(chunk)
            length += len(chunk)
        assert (length, digest.digest()) == (len(content), hashlib.sha256(content).digest())


# what a node refuses

REFUSALS = {
    "400 keeps its words": (400, "no such container yet", "BadRequest", "no such container yet"),
    "500 is an internal error": (
        500,
        "disk on fire",
        "InternalError",
        "Internal error occurred: disk on fire",
    ),
    "404 is worded by the server": (
        404,
        "nothing here",
        "NotFound",
        "the server could not find the requested resource ( pods/log {pod})",
    ),
    "502 says that the node was to blame": (
        502,
        "bad",
        "InternalError",
        'an error on the server ("bad") has prevented the request from succeeding '
        "( pods/log {pod})",
    ),
}


@pytest.mark.parametrize(("code", "said", "reason", "message"), REFUSALS.values(), ids=REFUSALS)
async def test_a_log_that_the_node_refuses(
    real_server: RealServer, tmp_path: Path, code: int, said: str, reason: str, message: str
) -> None:
    answer = f"HTTP/1.1 {code} No\r\nContent-Length: {len(said)}\r\n\r\n{said}".encode()
    async with (
        a_pod_on(real_server, tmp_path, saying(answer)) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        got = await client.ask("GET", pod.path("log"))
        assert (got.code, got.doc["reason"]) == (code, reason)
        assert got.doc["message"] == message.format(pod=pod.name)


async def test_an_upgrade_that_the_node_refuses_is_shown_as_it_is(
    real_server: RealServer, tmp_path: Path
) -> None:
    answer = b"HTTP/1.1 403 No\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nnope"
    async with (
        a_pod_on(real_server, tmp_path, saying(answer)) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        got = await client.ask("POST", pod.path("exec", "command=ls"), headers=UPGRADE)
        assert (got.code, got.body) == (403, b"nope")
        assert got.headers["content-type"] == "text/plain"
        assert await client.ended()


async def test_a_node_that_upgrades_nothing(real_server: RealServer, tmp_path: Path) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    async with (
        a_pod_on(real_server, tmp_path, saying(answer)) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        got = await client.ask("GET", pod.path("exec", "command=ls"), headers=UPGRADE)
        assert (got.code, got.doc["message"]) == (
            500,
            "invalid upgrade response: status code 200",
        )


# streams


async def test_what_is_asked_of_exec_reaches_the_node_in_its_own_words(
    real_server: RealServer, tmp_path: Path
) -> None:
    query = (
        "command=sh&command=-c&command=a%20%26%20b&container=main&stdin=true&stdout=true&tty=false"
    )
    headers = {**UPGRADE, "X-Stream-Protocol-Version": "v4.channel.k8s.io", "Cookie": "secret"}
    async with (
        a_pod_on(real_server, tmp_path, echo) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        await client.send(client.request("POST", pod.path("exec", query), headers=headers))
        assert (await client.head()).code == 101
        asked = pod.asked
        assert (asked.method, asked.path) == ("POST", f"/exec/default/{pod.name}/main")
        assert asked.query == {
            "command": ["sh", "-c", "a & b"],
            "input": ["1"],
            "output": ["1"],
        }
        assert asked.header("upgrade") == ["SPDY/3.1"]
        assert asked.header("x-stream-protocol-version") == ["v4.channel.k8s.io"]
        assert not asked.header("cookie")
        assert not asked.header("authorization")


async def test_bytes_behind_the_head_of_either_side_are_not_lost(
    real_server: RealServer, tmp_path: Path
) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SWITCHED + b"welcome ")
        writer.write(await reader.readexactly(5))
        await writer.drain()

    async with (
        a_pod_on(real_server, tmp_path, script) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        await client.send(client.request("POST", pod.path("attach"), headers=UPGRADE) + b"early")
        assert (await client.head()).code == 101
        async with asyncio.timeout(10):
            assert await client.reader.read() == b"welcome early"


async def test_ten_mebibytes_there_and_back(real_server: RealServer, tmp_path: Path) -> None:
    content = bytes(range(256)) * (TEN_MIB // 256)
    async with (
        a_pod_on(real_server, tmp_path, echo) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        await client.send(client.request("POST", pod.path("exec", "command=cat"), headers=UPGRADE))
        await client.head()
        sending = asyncio.create_task(client.send(content))
        async with asyncio.timeout(60):
            back = await client.reader.readexactly(len(content))
            await sending
        assert hashlib.sha256(back).digest() == hashlib.sha256(content).digest()


async def test_a_node_that_floods_a_client_that_does_not_read_has_to_wait(
    real_server: RealServer, tmp_path: Path
) -> None:
    sent = 0

    def count(length: int) -> None:
        nonlocal sent
        sent += length

    async with (
        a_pod_on(real_server, tmp_path, flooding(SWITCHED, count)) as pod,
        await RawHttp.connect(real_server, receive_buffer=4096) as client,
    ):
        before = real_server.memory()
        client.reader._transport.pause_reading()  # type: ignore[attr-defined]  # no public word for it
        await client.send(client.request("POST", pod.path("exec", "command=yes"), headers=UPGRADE))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3):
                await pod.node.left.wait()
        assert sent < 2 * TEN_MIB  # what sockets hold, far from all of it
        assert real_server.memory() - before < 4 * 1024 * 1024


async def test_a_client_that_vanishes_lets_the_node_go(
    real_server: RealServer, tmp_path: Path
) -> None:
    async with a_pod_on(real_server, tmp_path, echo) as pod:
        async with await RawHttp.connect(real_server) as client:
            request = client.request("POST", pod.path("exec", "command=cat"), headers=UPGRADE)
            await client.send(request)
            await client.head()
        async with asyncio.timeout(10):
            await pod.node.left.wait()


async def test_a_node_that_vanishes_ends_the_stream(
    real_server: RealServer, tmp_path: Path
) -> None:
    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SWITCHED + b"half a w")
        await writer.drain()
        writer.transport.abort()

    async with (
        a_pod_on(real_server, tmp_path, script) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        await client.send(client.request("POST", pod.path("exec", "command=x"), headers=UPGRADE))
        await client.head()
        async with asyncio.timeout(10):
            assert (await client.reader.read()) in (b"half a w", b"")
        assert await client.ended()


async def test_a_websocket_through_the_server(real_server: RealServer, tmp_path: Path) -> None:
    async with (
        _websocket_pod(real_server, tmp_path) as (url, headers),
        aiohttp.ClientSession(connector=_trusting(real_server)) as session,
        session.ws_connect(url, headers=headers, protocols=("v5.channel.k8s.io",)) as socket,
    ):
        assert socket.protocol == "v5.channel.k8s.io"
        await socket.send_bytes(b"\x00hello")
        assert await socket.receive_bytes(timeout=10) == b"\x00hello"


def _trusting(server: RealServer) -> aiohttp.TCPConnector:
    return aiohttp.TCPConnector(ssl=server.tls())


@asynccontextmanager
async def _websocket_pod(
    server: RealServer, directory: Path
) -> AsyncIterator[tuple[str, dict[str, str]]]:
    """A pod whose node speaks WebSocket: the address of its exec, and who asks."""

    async def handler(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io",))
        await socket.prepare(request)
        async for message in socket:
            await socket.send_bytes(message.data)
        return socket

    async with a_pod_on(server, directory, echo) as pod:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(directory / "node.pem")
        application = web.Application()
        application.router.add_get("/exec/{rest:.*}", handler)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        port = runner.addresses[0][1]
        patch = {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}}
        media = {"Content-Type": "application/merge-patch+json"}
        path = f"/api/v1/nodes/{pod.name}/status"
        reply = await asyncio.to_thread(
            server.ask, "PATCH", path, msgspec.json.encode(patch), media
        )
        assert reply.code == 200, reply.body
        yield (
            f"{server.url}{pod.path('exec', 'command=cat')}",
            {"Authorization": f"Bearer {server.token()}"},
        )
        await runner.cleanup()


# nodes that cannot be had


async def test_a_node_with_another_certificate_is_told_nothing(
    real_server: RealServer, tmp_path: Path
) -> None:
    other = {"mooring.dev/serving-certificate-sha256": "0" * 64}
    async with (
        a_pod_on(real_server, tmp_path, echo, **other) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        got = await client.ask("POST", pod.path("exec", "command=x"), headers=UPGRADE)
        assert got.code == 500
        assert got.doc["message"].startswith(
            "error dialing backend: tls: failed to verify certificate: "
        )
        assert pod.node.asked == []


async def test_a_node_without_a_known_certificate_is_not_called(
    real_server: RealServer, tmp_path: Path
) -> None:
    none = {"mooring.dev/serving-certificate-sha256": ""}
    async with (
        a_pod_on(real_server, tmp_path, echo, **none) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        got = await client.ask("GET", pod.path("log"))
        assert (got.code, got.doc["reason"]) == (503, "ServiceUnavailable")
        assert "mooring.dev/serving-certificate-sha256" in got.doc["message"]


async def test_a_node_that_is_down(real_server: RealServer, tmp_path: Path) -> None:
    async with a_pod_on(real_server, tmp_path, echo) as pod:
        port = pod.node.port
    async with await RawHttp.connect(real_server) as client:
        got = await client.ask("GET", pod.path("exec", "command=x"), headers=UPGRADE)
    why = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert (got.code, got.doc["message"]) == (500, f"error dialing backend: {why}")
    async with await RawHttp.connect(real_server) as client:
        got = await client.ask("GET", pod.path("log"))
    assert got.code == 500
    assert got.doc["message"].startswith(f'Get "https://127.0.0.1:{port}/containerLogs/')
    assert got.doc["message"].endswith(why)


async def test_a_node_that_hangs_up_without_a_word(real_server: RealServer, tmp_path: Path) -> None:
    async with (
        a_pod_on(real_server, tmp_path, saying(b"")) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        got = await client.ask("GET", pod.path("log"))
        assert got.code == 500
        assert got.doc["message"] == f"error reading from backend: node {pod.name}: EOF"


async def test_a_node_that_talks_nonsense(real_server: RealServer, tmp_path: Path) -> None:
    async with (
        a_pod_on(real_server, tmp_path, saying(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        got = await client.ask("GET", pod.path("log"))
        assert got.code == 500
        assert "malformed HTTP response" in got.doc["message"]


# what is refused before a node is asked


async def test_without_an_upgrade_there_is_no_stream(
    real_server: RealServer, tmp_path: Path
) -> None:
    async with (
        a_pod_on(real_server, tmp_path, echo) as pod,
        await RawHttp.connect(real_server) as client,
    ):
        got = await client.ask("GET", pod.path("exec", "command=x"))
        assert (got.code, got.doc["message"]) == (400, "Upgrade request required")
        assert pod.node.asked == []


UNSERVED = {
    "several containers, none named": (
        "log",
        400,
        "a container name must be specified for pod two, choose one of: [a b]",
    ),
    "a container that is not there": (
        "log?container=x",
        400,
        "container x is not valid for pod two",
    ),
    "exec before it has a node": (
        "exec?container=a&command=ls",
        400,
        "pod two does not have a host assigned",
    ),
    "a negative number of lines": (
        "log?container=a&tailLines=-1",
        422,
        'PodLogOptions "two" is invalid: tailLines: Invalid value: -1: '
        "must be greater than or equal to 0",
    ),
    "no number at all": (
        "log?container=a&tailLines=x",
        400,
        'strconv.ParseInt: parsing "x": invalid syntax',
    ),
}


@pytest.fixture(scope="module")
def unscheduled(real_server: RealServer) -> str:
    doc = a_pod("two", "", "a", "b")
    create(real_server, "/api/v1/namespaces/default/pods", doc)
    return "/api/v1/namespaces/default/pods/two"


@pytest.mark.parametrize(("rest", "code", "message"), UNSERVED.values(), ids=UNSERVED)
def test_refused_without_asking_a_node(
    real_server: RealServer, unscheduled: str, rest: str, code: int, message: str
) -> None:
    reply = real_server.ask("GET", f"{unscheduled}/{rest}")
    assert (reply.code, reply.doc["message"]) == (code, message)


def test_a_pod_without_a_node_has_an_empty_log(real_server: RealServer, unscheduled: str) -> None:
    reply = real_server.ask("GET", f"{unscheduled}/log?container=a")
    assert (reply.code, reply.body) == (204, b"")


def test_a_pod_that_is_not_there(real_server: RealServer) -> None:
    reply = real_server.ask("GET", "/api/v1/namespaces/default/pods/nobody/log")
    assert (reply.code, reply.doc["message"]) == (404, 'pods "nobody" not found')


def test_whoever_may_only_read_gets_logs_and_no_shell(
    real_server: RealServer, unscheduled: str
) -> None:
    token = real_server.token("read-only")
    assert real_server.ask("GET", f"{unscheduled}/log?container=a", token=token).code == 204
    for method in ("GET", "POST"):
        reply = real_server.ask(method, f"{unscheduled}/exec?container=a", token=token)
        assert reply.code == 403
