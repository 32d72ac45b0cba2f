"""`mooring csi trace`: every process once, and what could not be read is said."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from mooring.cli.csi_trace import row_of, seconds_text
from mooring.client.connect import connect_to
from mooring.client.endpoint import Endpoint
from mooring.client.http import HttpClient
from mooring.clock import RealClock
from mooring.csi.call_log import CallLog
from mooring.csi.call_query import PATH
from mooring.csi.call_record import CsiCallEvent
from mooring.csi.serve_calls import ServedCalls
from mooring.errors import UsageError
from mooring.stack.csi_trace import Wanted, _follow, read_calls, run_trace
from tests.fakes.clock import VirtualClock
from tests.fakes.waiting import until

PROBE = "/csi.v1.Identity/Probe"
ALL = Wanted()


class Cluster:
    """An API server of `mooring up` with a node in its process, and further nodes."""

    def __init__(self) -> None:
        self.up = CallLog()
        self.nodes: dict[str, CallLog | int | bytes] = {"here": self.up}  # or how it refuses
        self.asked = 0  # pages of nodes
        self.port = 0
        self.may_list = True  # nodes

    def call(self, log: CallLog, driver: str, started: int = 0, code: str = "OK") -> None:
        moment = VirtualClock().now().replace(second=started)
        log.end(log.begin(driver, PROBE, moment, 0.0), code, 0.5)

    async def server_page(self, request: web.Request) -> web.StreamResponse:
        return await ServedCalls(RealClock(), self.up).serve(request)

    async def list_nodes(self, _: web.Request) -> web.Response:
        endpoint = {"kubeletEndpoint": {"Port": 10250}}
        if not self.may_list:
            return web.json_response({"message": "may not", "code": 403}, status=403)
        items: list[dict[str, Any]] = [
            {
                "metadata": {"name": name, "resourceVersion": "1"},
                "status": {"daemonEndpoints": endpoint},
            }
            for name in self.nodes
        ]
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})

    async def node_page(self, request: web.Request) -> web.StreamResponse:
        found = self.nodes[request.match_info["node"]]
        self.asked += 1
        if isinstance(found, bytes):
            return web.Response(body=found, content_type="application/json")
        if isinstance(found, int):
            return web.json_response({"message": "no", "code": found}, status=found)
        return await ServedCalls(RealClock(), found).serve(request)


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    made = Cluster()
    app = web.Application()
    app.add_routes(
        [
            web.get(PATH, made.server_page),
            web.get("/api/v1/nodes", made.list_nodes),
            web.get("/api/v1/nodes/{node}/proxy" + PATH, made.node_page),
        ]
    )
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.port = runner.addresses[0][1]
    yield made
    await runner.cleanup()


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[HttpClient]:
    endpoint = Endpoint(f"http://127.0.0.1:{cluster.port}")
    async with connect_to(endpoint, RealClock()) as client:
        yield client


async def test_a_process_that_two_paths_show_is_shown_once(
    cluster: Cluster, client: HttpClient
) -> None:
    there = cluster.nodes["there"] = CallLog()
    cluster.call(cluster.up, "b.example.com", started=2)
    cluster.call(there, "a.example.com", started=1)
    there.begin("c.example.com", PROBE, VirtualClock().now(), RealClock().monotonic())
    traced = await read_calls(client, ALL)
    assert [call.driver for _, call in traced.calls()] == [
        *("a.example.com", "b.example.com", "c.example.com"),
    ]
    assert traced.paths == (PATH, f"/api/v1/nodes/there/proxy{PATH}")
    assert traced.unseen == ()


async def test_what_cannot_be_read_is_said_and_the_rest_is_shown(
    cluster: Cluster, client: HttpClient
) -> None:
    cluster.nodes |= {"kubelet": 404, "forbidden": 403}
    traced = await read_calls(client, ALL)
    assert len(traced.pages) == 1
    assert traced.unseen[0].startswith("node kubelet shows no CSI calls")
    assert traced.unseen[1].startswith("the CSI calls of node forbidden cannot be read")


async def test_without_the_right_to_list_nodes_the_server_is_shown_and_that_is_said(
    cluster: Cluster, client: HttpClient
) -> None:
    cluster.may_list = False
    traced = await read_calls(client, ALL)
    assert len(traced.pages) == 1
    assert traced.unseen == ("nodes cannot be listed, so theirs are not shown: may not",)


async def test_the_question_reaches_every_process(cluster: Cluster, client: HttpClient) -> None:
    cluster.call(cluster.up, "a.example.com")
    cluster.call(cluster.up, "b.example.com")
    traced = await read_calls(client, Wanted(query={"driver": "b.example.com"}))
    assert [call.driver for _, call in traced.calls()] == ["b.example.com"]


async def test_a_stream_that_ends_is_opened_again_and_repeats_nothing(
    cluster: Cluster, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mooring.csi.serve_calls.LONGEST_WATCH", 0.2)
    monkeypatch.setattr("mooring.stack.csi_trace.PAUSE_SECONDS", 0.0)
    seen: asyncio.Queue[CsiCallEvent] = asyncio.Queue()
    cluster.call(cluster.up, "a.example.com")
    following = asyncio.create_task(_follow(client, PATH, ALL, seen.put_nowait))
    drivers = []
    async with asyncio.timeout(30):
        for driver in ("a.example.com", "b.example.com", "c.example.com"):
            drivers.append((await seen.get()).call)
            assert drivers[-1] is not None
            assert drivers[-1].driver == driver
            await asyncio.wait([following], timeout=0.5)  # the stream has ended meanwhile
            cluster.call(cluster.up, {"a": "b", "b": "c", "c": "d"}[driver[0]] + ".example.com")
    following.cancel()
    await asyncio.wait([following])


def call_of(**changes: Any) -> bytes:
    call = {"id": 1, "service": "csi.v1.Node", "method": "Probe", "seconds": 1.0}
    call |= {"started": "2026-01-01T00:00:00Z", **changes}
    return json.dumps({"process": {"id": "x", "host": "h", "pid": 1}, "calls": [call]}).encode()


@pytest.mark.parametrize(
    "page",
    [
        b"no JSON",
        call_of(started="2026-01-01T00:00:00"),
        call_of(seconds=1e300),
        call_of(seconds=-1),
    ],
)
async def test_a_node_that_answers_nonsense_spoils_nothing_for_the_others(
    cluster: Cluster, client: HttpClient, page: bytes
) -> None:
    cluster.nodes["mad"] = page
    cluster.call(cluster.up, "a.example.com")
    traced = await read_calls(client, ALL)
    assert [call.driver for _, call in traced.calls()] == ["a.example.com"]
    assert traced.unseen == (
        "the CSI calls of node mad cannot be read: it answered with something else",
    )


async def test_a_stream_of_nonsense_is_opened_again(
    cluster: Cluster, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mooring.stack.csi_trace.PAUSE_SECONDS", 0.0)
    cluster.nodes["mad"] = b"no JSON\n"
    seen: asyncio.Queue[CsiCallEvent] = asyncio.Queue()
    path = f"/api/v1/nodes/mad/proxy{PATH}"
    following = asyncio.create_task(_follow(client, path, ALL, seen.put_nowait))
    await until(lambda: cluster.asked >= 3 or following.done())
    assert not following.done(), following
    cluster.nodes["mad"] = cluster.up
    cluster.call(cluster.up, "a.example.com")
    async with asyncio.timeout(30):
        told = await seen.get()
    assert told.call is not None
    following.cancel()
    await asyncio.wait([following])


def test_a_token_goes_nowhere_but_to_this_machine(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": ""}}
    doc = {"clusters": [cluster], "contexts": [context], "current-context": "c"}
    kubeconfig.write_text(json.dumps(doc))
    for address in (
        *("http://10.0.0.1:80", "https://127.0.0.1:1", "10.0.0.1", "http://evil/127."),
        *("http://127.evil.example:80", "http://127.0.0.1@evil.example", "http://127.0.0.1.nip.io"),
        *("http://localhost:x@evil.example", "http://[::1]:80@evil.example", "http://[::1"),
    ):
        with pytest.raises(UsageError, match="a token is sent to this machine only"):
            run_trace(Wanted(kubeconfig, address))


async def test_a_row_moves_no_cursor(cluster: Cluster, client: HttpClient) -> None:
    cluster.call(cluster.up, "a\x1b[2J", code="Internal")
    ((process, call),) = (await read_calls(client, ALL)).calls()
    row = row_of(process, call)
    assert row[1] == "a\\u001b[2J"
    assert row[2:6] == ("Probe", "-", "500.0ms", "Internal")


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.0012, "1.2ms"), (1.234, "1.23s"), (250.4, "250s")]
)
def test_durations_are_short(seconds: float, said: str) -> None:
    assert seconds_text(seconds) == said
