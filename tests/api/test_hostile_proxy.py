"""Clients, pods and Node objects that abuse `pods/proxy` and `nodes/proxy`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from mooring.apiserver.limits.budgets import MOST_NODE_STREAMS
from tests.api.test_node_proxy import a_pod_on, create
from tests.fakes.node_server import Script, flooding, saying
from tests.fakes.probe import measured
from tests.fakes.raw_http import Got, RawHttp
from tests.fakes.real_server import RealServer

TUNNEL = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def a_pod_that_says(answer: bytes, heard: list[bytes]) -> Script:
    """The node opens a tunnel, and the pod at its end answers this."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(TUNNEL)
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await writer.drain()

    return script


def raw(server: RealServer, path: str, *headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Authorization: Bearer {server.token()}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def ask(server: RealServer, path: str, *headers: str) -> Got:
    async with await RawHttp.connect(server) as client:
        await client.send(raw(server, path, *headers))
        return await client.answer()


REPEATED: dict[str, Sequence[str]] = {
    "a host that carries a header": ("Host: a", "Host: X-Injected: yes"),
    "a host that carries an upgrade": ("Host: a", "Host: Upgrade: SPDY/3.1"),
    "hosts that differ": ("Host: a", "Host: b"),
}


@pytest.mark.parametrize("headers", REPEATED.values(), ids=REPEATED)
@pytest.mark.parametrize("kind", ["pods", "nodes"])
async def test_two_hosts_are_refused_and_nobody_is_asked(
    real_server: RealServer, tmp_path: Path, headers: Sequence[str], kind: str
) -> None:
    async with a_pod_on(real_server, tmp_path, a_pod_that_says(OK, [])) as pod:
        path = {"pods": pod.path("proxy/"), "nodes": f"/api/v1/nodes/{pod.name}/proxy/healthz"}
        got = await ask(real_server, path[kind], *headers)
        assert got.code == 400
        assert not pod.node.asked


async def test_no_header_of_a_client_ends_early_in_what_a_pod_is_sent(
    real_server: RealServer, tmp_path: Path
) -> None:
    heard: list[bytes] = []
    async with a_pod_on(real_server, tmp_path, a_pod_that_says(OK, heard)) as pod:
        upgrades = ("Connection: upgrade", "Upgrade: a", "Upgrade: X-Injected: yes")
        await ask(real_server, pod.path("proxy/"), "Host: a", *upgrades)
    assert b"\n" not in heard[0].replace(b"\r\n", b"")


async def test_what_a_pod_says_before_its_answer_is_not_the_answer(
    real_server: RealServer, tmp_path: Path
) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nX-Early: 1\r\n\r\n" * 2
    async with a_pod_on(real_server, tmp_path, a_pod_that_says(early + OK, [])) as pod:
        got = await ask(real_server, pod.path("proxy/"), "Host: a")
    assert (got.code, got.body) == (200, b"ok")
    assert "x-early" not in got.headers


async def test_a_pod_that_says_early_things_for_ever_is_cut_off(
    real_server: RealServer, tmp_path: Path
) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" * 20_000
    async with a_pod_on(real_server, tmp_path, a_pod_that_says(early, [])) as pod:
        got = await ask(real_server, pod.path("proxy/"), "Host: a")
    assert got.code == 503
    assert "exceeded 64 KiB" in got.doc["message"]


async def test_a_pod_that_changes_the_protocol_unasked_is_refused(
    real_server: RealServer, tmp_path: Path
) -> None:
    async with a_pod_on(real_server, tmp_path, a_pod_that_says(TUNNEL + b"evil", [])) as pod:
        got = await ask(real_server, pod.path("proxy/"), "Host: a")
    assert got.code == 503
    assert b"evil" not in got.body


async def test_a_node_that_changes_the_protocol_unasked_is_refused(
    real_server: RealServer, tmp_path: Path
) -> None:
    async with a_pod_on(real_server, tmp_path, saying(TUNNEL + b"evil")) as pod:
        got = await ask(real_server, f"/api/v1/nodes/{pod.name}/proxy/healthz", "Host: a")
    assert got.code == 503
    assert b"evil" not in got.body


async def test_a_second_answer_is_not_passed_on(real_server: RealServer, tmp_path: Path) -> None:
    two = OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    async with a_pod_on(real_server, tmp_path, a_pod_that_says(two, [])) as pod:
        got = await ask(real_server, pod.path("proxy/"), "Host: a")
    assert (got.code, got.body) == (200, b"ok")


SPELLED = (
    "/api/v1/nodes/{}/%70roxy",
    "/api/v1/nodes/{}/%70roxy/healthz",
    "/api/v1/%6eamespaces/default/pods/{}/proxy",
    "/api/v1/namespaces/default/%70ods/{}/proxy/x",
    "/api/v1/watch/nodes/{}/proxy",
    "/api/v1/watch/namespaces/default/pods/{}/proxy",
    "/api/v1/nodes/{}%2Fproxy/x",
    "/api/v1/nodes/{}/proxy%2Fx",
)


@pytest.mark.parametrize("path", SPELLED)
async def test_an_odd_spelling_is_served_or_refused_and_is_no_error_of_ours(
    real_server: RealServer, tmp_path: Path, path: str
) -> None:
    async with a_pod_on(real_server, tmp_path, a_pod_that_says(OK, [])) as pod:
        got = await ask(real_server, path.format(pod.name), "Host: a")
    assert got.code in (200, 301, 400, 404, 405, 503)


ADDRESSES = {
    "no name": "a..b",
    "too long": "a" * 300,
    "a null": "a\0b",
    "lines": "127.0.0.1\r\nX-Injected: yes",
    "not of ASCII": "\ud7ff.\u3002",
}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
async def test_a_node_with_an_address_that_is_none_says_so(
    real_server: RealServer, tmp_path: Path, address: str
) -> None:
    where = {"mooring.dev/serving-address": address}
    async with a_pod_on(real_server, tmp_path, saying(OK), **where) as pod:
        got = await ask(real_server, f"/api/v1/nodes/{pod.name}/proxy/healthz", "Host: a")
        log = await ask(real_server, pod.path("log"), "Host: a")
    assert got.code == 503
    assert "dial tcp" in got.doc["message"]
    assert log.code == 500
    assert "dial tcp" in log.doc["message"]


@pytest.mark.parametrize("port", [-1, 65536, 2**31 - 1])
def test_a_node_with_a_port_that_is_none_says_so(real_server: RealServer, port: int) -> None:
    name = f"port-{abs(port)}"
    create(
        real_server,
        "/api/v1/nodes",
        {
            "metadata": {
                "name": name,
                "annotations": {"mooring.dev/serving-certificate-sha256": "a" * 64},
            },
            "status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            },
        },
    )
    got = real_server.ask("GET", f"/api/v1/nodes/{name}/proxy/healthz")
    assert got.code == 503
    assert "dial tcp" in got.doc["message"]


# clients that do not read

SILENT = 150
MOST_BEYOND = 80 << 20  # bytes


@pytest.mark.parametrize("part", ["proxy/", "log"])
async def test_clients_that_never_read_what_pods_say_cost_little(
    own_api_server: RealServer, tmp_path: Path, part: str
) -> None:
    """Those that wait longest are let go, and others are served."""
    server = own_api_server

    head = b"HTTP/1.1 200 OK\r\n\r\n" if part == "log" else TUNNEL + b"HTTP/1.1 200 OK\r\n\r\n"

    async def never_read(path: str) -> RawHttp:
        client = await RawHttp.connect(server, receive_buffer=4096)
        client.reader._transport.pause_reading()  # type: ignore[attr-defined]  # no public word
        await client.send(raw(server, path, "Host: a"))
        return client

    async with a_pod_on(server, tmp_path, flooding(head)) as pod:
        idle = server.memory()
        clients = [await never_read(pod.path(part)) for _ in range(SILENT)]
        try:
            for _ in range(20):
                assert (await ask(server, "/livez", "Host: a")).code == 200
            assert server.memory() - idle < MOST_BEYOND
        finally:
            for client in clients:
                await client.close()


# streams of one user

ASKED = 1_000
AT_A_TIME = 50


async def a_web_socket(server: RealServer, path: str) -> tuple[RawHttp, int]:
    client = await RawHttp.connect(server, server.tls())
    await client.send(raw(server, path, "Host: a", "Connection: Upgrade", "Upgrade: websocket"))
    return client, (await client.head()).code


@pytest.mark.timeout(120)
async def test_a_thousand_proxied_web_sockets_are_bounded_and_cost_little(
    own_api_server: RealServer, tmp_path: Path
) -> None:
    """Beyond a number they are refused; whoever closes one may open another."""
    server, clients, codes = own_api_server, list[RawHttp](), list[int]()

    async def agree(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(TUNNEL)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(TUNNEL)
        await reader.read()

    async with a_pod_on(server, tmp_path, agree) as pod:
        path = pod.path("proxy/")
        try:
            with measured(server) as cost:
                while len(clients) < ASKED:
                    some = (a_web_socket(server, path) for _ in range(AT_A_TIME))
                    for client, code in await asyncio.gather(*some):
                        clients.append(client)
                        codes.append(code)
            print(cost)  # noqa: T201  to compare with the next time
            assert codes.count(101) == MOST_NODE_STREAMS
            assert codes.count(429) == ASKED - MOST_NODE_STREAMS
            assert cost.megabytes < 100, cost
            assert cost.worst < 0.1, cost
            await clients[0].close()
            again, code = await a_web_socket(server, path)
            clients.append(again)
            assert code == 101
        finally:
            for client in clients:
                await client.close()
