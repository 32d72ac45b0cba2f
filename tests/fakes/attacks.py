"""Clients that mean harm: each attack asks a real server for as much as one client can ask for.

`hold` runs one, and fails when it costs the server more memory, or others more time, than it may.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress

from tests.fakes.probe import measured
from tests.fakes.raw_http import RawHttp
from tests.fakes.real_server import RealServer

MOST_MB = 100
LONGEST = 0.1  # seconds

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods?dryRun=All"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
JSON, YAML = "application/json", "application/yaml"

Attack = Callable[[RealServer, AsyncExitStack, int], Awaitable[None]]
"""(the server, what is closed at the end, how many times as much as it takes)"""


async def opened(server: RealServer, stack: AsyncExitStack, buffer: int = 0) -> RawHttp:
    tls = server.tls()
    return await stack.enter_async_context(
        await RawHttp.connect(server, tls, receive_buffer=buffer)
    )


def head(method: str, path: str, token: str, **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: mooring"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    lines += (f"{name.replace('_', '-')}: {value}" for name, value in headers.items())
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def send(client: RawHttp, path: str, body: bytes, media: str, token: str) -> int:
    """POST it; the code of the answer."""
    data = head("POST", path, token, Content_Type=media, Content_Length=str(len(body)))
    await client.send(data + body)
    return (await client.answer()).code


async def long_queries_of_strangers(server: RealServer, stack: AsyncExitStack, times: int) -> None:
    """Long queries, paths and headers that differ each time, without a token."""
    client = await opened(server, stack)
    for number in range(400 * times):
        query = f"{number:06}&" + "&".join(f"{name:x}" for name in range(3_300))
        await client.send(head("GET", f"{MAPS}?{query}", "", Accept=f"{number}" * 4000))
        assert (await client.answer()).code == 401
        if number % 4 == 0:
            await client.send(head("GET", f"/api/{number}/{'x' * 15_000}", ""))
            assert (await client.answer()).code in {401, 403, 404}


async def aliases(server: RealServer, stack: AsyncExitStack, times: int) -> None:
    """YAML whose aliases repeat a megabyte two thousand times."""
    client = await opened(server, stack)
    body = b"spec:\n  resourceAttributes:\n    name: &a " + b"x" * 1_000_000
    body += b"\n  extra:\n    a: [" + b"*a, " * 2000 + b"]\n"
    for _ in range(3 * times):
        assert await send(client, REVIEWS, body, YAML, server.token("admin")) == 400


async def containers_without_anything(
    server: RealServer, stack: AsyncExitStack, times: int
) -> None:
    """From a few thousand, which are looked at, to three megabytes, which are not."""
    client = await opened(server, stack)
    for count in (1_000, 4_900, 20_000, 400_000, 999_000):
        body = b'{"metadata":{"name":"x"},"spec":{"containers":[' + b"{}," * count + b"{}]}}"
        code = await send(client, PODS, body, JSON, server.token("admin"))
        assert code == (422 if count < 5_000 else 413)


async def finalizers_without_end(server: RealServer, stack: AsyncExitStack, times: int) -> None:
    """Up to a million empty finalizers, not one of them valid."""
    client = await opened(server, stack)
    for count in (9_000, 950_000):
        body = b'{"metadata":{"name":"x","finalizers":[' + b'"",' * count + b'""]}}'
        code = await send(client, f"{MAPS}?dryRun=All", body, JSON, server.token("admin"))
        assert code == (422 if count < 10_000 else 413)


async def bodies_withheld(server: RealServer, stack: AsyncExitStack, times: int) -> None:
    """200 bodies of three megabytes, all but their last byte, by nobody and by somebody."""
    for token in ("", server.token("admin")):
        for _ in range(100 * times):
            client = await opened(server, stack)
            size = 3 * (1 << 20)
            data = head("POST", MAPS, token, Content_Type=JSON, Content_Length=str(size))
            await client.send(data + b" " * (size - 1))


async def connections_of_strangers(server: RealServer, stack: AsyncExitStack, times: int) -> None:
    """As many as it takes, most of them without even a handshake."""
    for number in range(4_000 * min(times, 3)):
        if number % 8 == 0:
            await opened(server, stack)
        else:
            _, writer = await asyncio.open_connection(server.host, server.port)
            stack.callback(writer.close)


async def lists_unread(server: RealServer, stack: AsyncExitStack, times: int) -> None:
    """Lists of 10 MB that nobody reads, as objects and as tables."""
    writer = await opened(server, stack)
    for number in range(12):
        body = {"metadata": {"name": f"m{number}"}, "data": {"v": "x" * 800_000}}
        assert (await writer.ask("POST", MAPS, body)).code == 201
    for number in range(60 * times):
        client = await opened(server, stack, buffer=4096)
        form = "application/json;as=Table;g=meta.k8s.io;v=v1" if number % 2 else JSON
        url = f"{MAPS}?includeObject=Object"
        await client.send(head("GET", url, server.token("admin"), Accept=form))


async def watches_unread(server: RealServer, stack: AsyncExitStack, times: int) -> None:
    """Watches that nobody reads, and events of a megabyte."""
    for _ in range(100 * times):
        client = await opened(server, stack, buffer=4096)
        await client.send(head("GET", f"{MAPS}?watch=1", server.token("admin")))
    writer = await opened(server, stack)
    for number in range(4):
        body = {"metadata": {"name": f"m{number}"}, "data": {"v": "x" * 1_000_000}}
        assert (await writer.ask("POST", MAPS, body)).code == 201


async def selectors_without_end(server: RealServer, stack: AsyncExitStack, times: int) -> None:
    """As long as they may be, over 1,000 objects, many at once, lists and watches."""
    writer = await opened(server, stack)
    for number in range(1_000):
        body = {"metadata": {"name": f"m{number}", "labels": {"a": "b"}}}
        assert (await writer.ask("POST", MAPS, body)).code == 201
    text = ",".join(f"l{number}%21=x" for number in range(255))
    too_long = ",".join(f"l{number}%21=x" for number in range(257))
    await writer.send(head("GET", f"{MAPS}?labelSelector={too_long}", server.token()))
    assert (await writer.answer()).code == 400
    clients = [await opened(server, stack) for _ in range(30 * times)]
    for number, client in enumerate(clients):
        verb = "watch=1&" if number % 3 == 0 else ""
        query = f"{verb}limit=1&labelSelector={text},none={number}"
        await client.send(head("GET", f"{MAPS}?{query}", server.token()))
    for number, client in enumerate(clients):
        assert (await client.head()).code == 200, number


ATTACKS = {
    "long queries of strangers": long_queries_of_strangers,
    "aliases of a megabyte": aliases,
    "selectors without end": selectors_without_end,
    "bodies withheld": bodies_withheld,
    "connections of strangers": connections_of_strangers,
    "lists that nobody reads": lists_unread,
    "watches that nobody reads": watches_unread,
    "containers without anything": containers_without_anything,
    "finalizers without end": finalizers_without_end,
}


async def hold(server: RealServer, attack: Attack, times: int = 1) -> None:
    """Raises: AssertionError when the attack costs too much."""
    async with AsyncExitStack() as stack:
        # Whoever costs too much is cut off.
        with measured(server) as cost, suppress(ConnectionError):
            await attack(server, stack, times)
        told = f"{cost.worst * 1000:.0f} ms, {cost.megabytes:.0f} MB, {cost.probes} probes"
        print(told)  # noqa: T201  to compare with the next time
        assert cost.probes > 1
        assert cost.megabytes <= MOST_MB, told
        assert cost.worst <= LONGEST, told
    assert "Traceback" not in server.log.read_text()
