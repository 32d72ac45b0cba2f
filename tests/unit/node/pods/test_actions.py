"""What probes and hooks do, against servers of this machine."""

import asyncio
from collections.abc import AsyncIterator, Callable

import grpc
import pytest

from mooring.clock import RealClock
from mooring.model.container import (
    Container,
    ContainerPort,
    ExecAction,
    GrpcAction,
    Handler,
    HttpGetAction,
    HttpHeader,
    SleepAction,
    TcpAction,
)
from mooring.node.pods.actions import Actions, Result, Unclear, resolve_port
from mooring.node.pods.hooks import HookFailed, Hooks
from tests.fakes.clock import VirtualClock
from tests.fakes.containers import FakeContainers
from tests.unit.node.pods.things import MAIN, a_pod

HOST = "127.0.0.1"
Page = Callable[[str], bytes]


def a_page(status: int, *headers: str) -> bytes:
    head = "".join(f"{each}\r\n" for each in (*headers, "Content-Length: 2"))
    return f"HTTP/1.1 {status} So\r\n{head}\r\nhi".encode()


class Server:
    """Answers each request by `page`, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.page: Page = lambda _: a_page(200)
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(request)
        writer.write(self.page(request))
        await writer.drain()
        writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    running = await asyncio.start_server(made.serve, HOST, 0)
    made.port = running.sockets[0].getsockname()[1]
    async with running:
        yield made


@pytest.fixture
def actions() -> Actions:
    return Actions(FakeContainers(RealClock()), RealClock(), HOST)


async def test_a_page_that_is_there(actions: Actions, server: Server) -> None:
    headers = (HttpHeader("X-Who", "me"), HttpHeader("Host", "example.com"))
    action = HttpGetAction(server.port, "/well?very=1", http_headers=headers)
    result = await actions.get_page(action, MAIN, 5, "probe")
    assert result.is_ok
    assert server.asked[0].startswith("GET /well?very=1 HTTP/1.1\r\n")
    for line in ("X-Who: me", "Host: example.com", "User-Agent: kube-probe/1.35", "Accept: */*"):
        assert f"{line}\r\n" in server.asked[0]


PAGES = {
    "an error of the server": (
        a_page(500),
        Result(is_ok=False, output="HTTP probe failed with statuscode: 500"),
    ),
    "a redirect to somebody else": (
        a_page(302, "Location: http://example.com/"),
        Result(is_ok=True, output="Probe terminated redirects, Response body: hi", is_warning=True),
    ),
}


@pytest.mark.parametrize(("page", "then"), PAGES.values(), ids=PAGES)
async def test_pages(actions: Actions, server: Server, page: bytes, then: Result) -> None:
    server.page = lambda _: page
    assert await actions.get_page(HttpGetAction(server.port), MAIN, 5, "probe") == then


async def test_redirects_are_followed_but_not_for_ever(actions: Actions, server: Server) -> None:
    server.page = lambda asked: (
        a_page(200) if "/there " in asked else a_page(302, "Location: /there")
    )
    assert (await actions.get_page(HttpGetAction(server.port), MAIN, 5, "probe")).is_ok
    server.page = lambda _: a_page(302, "Location: /again")
    result = await actions.get_page(HttpGetAction(server.port), MAIN, 5, "probe")
    assert not result.is_ok
    assert result.output.endswith("stopped after 10 redirects")


async def test_nobody_answers(actions: Actions, server: Server) -> None:
    server.page = lambda _: b""
    result = await actions.get_page(HttpGetAction(server.port, "/"), MAIN, 5, "probe")
    assert result.output == f'Get "http://{HOST}:{server.port}/": EOF'
    assert not result.is_answered


async def test_nobody_is_there(actions: Actions) -> None:
    free = await asyncio.start_server(lambda _, __: None, HOST, 0)
    port = free.sockets[0].getsockname()[1]
    free.close()
    await free.wait_closed()
    refused = f"dial tcp {HOST}:{port}: connect: connection refused"
    page = await actions.get_page(HttpGetAction(port, "/x"), MAIN, 5, "probe")
    assert page.output == f'Get "http://{HOST}:{port}/x": {refused}'
    assert (await actions.knock(TcpAction(port), MAIN, 5)).output == refused


async def test_somebody_takes_too_long(server: Server) -> None:
    """Time that does not pass by itself: the answer never comes."""
    clock = VirtualClock()
    actions = Actions(FakeContainers(clock), clock, HOST)
    forever = asyncio.Event()

    async def hang(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await forever.wait()
        writer.close()

    async with await asyncio.start_server(hang, HOST, 0) as running:
        port = running.sockets[0].getsockname()[1]
        asking = asyncio.create_task(actions.get_page(HttpGetAction(port, "/"), MAIN, 3, "probe"))
        await clock.advance(3)
        assert (await asking).output == (
            f'Get "http://{HOST}:{port}/": context deadline exceeded '
            "(Client.Timeout exceeded while awaiting headers)"
        )
        forever.set()


async def test_a_port_that_is_open(actions: Actions, server: Server) -> None:
    named = Container("main", ports=(ContainerPort(server.port, "web"),))
    assert (await actions.knock(TcpAction("web"), named, 5)).is_ok


def test_ports_by_name_and_number() -> None:
    named = Container("main", ports=(ContainerPort(8080, "web"),))
    assert [resolve_port(port, named) for port in (1, "web", "9")] == [1, 8080, 9]
    with pytest.raises(Unclear, match="invalid port number: 0"):
        resolve_port(0, named)
    with pytest.raises(Unclear, match="invalid syntax"):
        resolve_port("none", named)


HEALTHY, SICK = b"\x08\x01", b"\x08\x02"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [(HEALTHY, ""), (SICK, 'service unhealthy (responded with "NOT_SERVING")')],
    ids=["healthy", "not serving"],
)
async def test_a_grpc_server_is_asked_how_it_is(
    actions: Actions, answer: bytes, problem: str
) -> None:
    asked: list[bytes] = []

    async def check(request: bytes, _: object) -> bytes:
        asked.append(request)
        return answer

    methods = {"Check": grpc.unary_unary_rpc_method_handler(check)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("grpc.health.v1.Health", methods),)
    )
    port = server.add_insecure_port(f"{HOST}:0")
    await server.start()
    try:
        result = await actions.ask_health(GrpcAction(port, "db"), 5)
        strange = await actions.ask_health(GrpcAction(port, "x" * 200), 5)
    finally:
        await server.stop(None)
    assert (result.is_ok, result.output) == (not problem, problem)
    assert strange.output == problem
    assert asked == [b"\x0a\x02db", b"\x0a\xc8\x01" + b"x" * 200]


HOOKS: dict[str, tuple[Handler, str]] = {
    "a program that fails": (
        Handler(exec=ExecAction(("bye", "now"))),
        'Exec lifecycle hook ([bye now]) for Container "main" in Pod "web_ns(p1)" failed - '
        "error: container c1 does not exist",
    ),
    "a port that is none": (
        Handler(http_get=HttpGetAction(0, "/bye")),
        'HTTP lifecycle hook (/bye) for Container "main" in Pod "web_ns(p1)" failed - '
        "error: invalid port number: 0",
    ),
    "nothing at all": (Handler(), "Cannot run handler: invalid handler"),
}


@pytest.mark.parametrize(("hook", "text"), HOOKS.values(), ids=HOOKS)
async def test_hooks_that_fail(hook: Handler, text: str) -> None:
    clock = VirtualClock()
    hooks = Hooks(Actions(FakeContainers(clock), clock, HOST), clock)
    with pytest.raises(HookFailed) as raised:
        await hooks.run("c1", a_pod(), MAIN, hook)
    assert str(raised.value).startswith(text)


async def test_a_server_that_refuses_has_heard_the_hook(server: Server) -> None:
    server.page = lambda _: a_page(500)
    hooks = Hooks(Actions(FakeContainers(RealClock()), RealClock(), HOST), RealClock())
    await hooks.run("c1", a_pod(), MAIN, Handler(http_get=HttpGetAction(server.port, "/bye")))
    assert "User-Agent: kube-lifecycle/1.35" in server.asked[0]


async def test_a_hook_that_sleeps() -> None:
    clock = VirtualClock()
    hooks = Hooks(Actions(FakeContainers(clock), clock, HOST), clock)
    waiting = asyncio.ensure_future(hooks.run("c1", a_pod(), MAIN, Handler(sleep=SleepAction(7))))
    await clock.advance(6)
    assert not waiting.done()
    await clock.advance(1)
    assert waiting.done()
    await waiting
