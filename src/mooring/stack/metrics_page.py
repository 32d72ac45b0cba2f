"""/metrics and /healthz of a standalone role, on an address of its own.

Plain HTTP without authentication, as Prometheus expects: every client that reaches the address may
read. The API server serves both pages itself. Pages that not everybody may read check that.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from mooring.errors import UsageError

Say = Callable[[str], None]
AskAlive = Callable[[str], Awaitable[tuple[bool, str]]]
"""Whether what has this name is alive, and what to say; an empty name: all of it."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
NO_OTHERS: Final[Mapping[str, Handler]] = {}


async def always_alive(_: str) -> tuple[bool, str]:
    return True, "ok"


@asynccontextmanager
async def metrics_served(
    address: str,
    registry: CollectorRegistry,
    say: Say,
    ask_alive: AskAlive = always_alive,
    others: Mapping[str, Handler] = NO_OTHERS,
) -> AsyncIterator[None]:
    """Serve them at `host:port` while the context is entered; `say` prints the URL.

    `others` are further pages, by path.

    Raises: UsageError when there is no such address, or it is taken.
    """
    host, port = _parse(address)

    async def metrics(_: web.Request) -> web.Response:
        # not in a thread: the collectors read data of the event loop
        body = generate_latest(registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def health(request: web.Request) -> web.Response:
        is_alive, text = await ask_alive(request.match_info.get("name", ""))
        return web.Response(status=200 if is_alive else 500, text=text)

    app = web.Application()
    app.add_routes(
        [
            web.get("/metrics", metrics),
            web.get("/healthz", health),
            web.get("/healthz/{name}", health),
            *(web.get(path, handler, allow_head=False) for path, handler in others.items()),
        ]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            why = error.strerror or error
            raise UsageError(f"metrics cannot be served at {address}: {why}") from error
        say(f"metrics are at http://{_shown(*runner.addresses[0][:2])}/metrics")
        yield
    finally:
        await runner.cleanup()


def _parse(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"{address!r} is no address: give --metrics-address as host:port")
    return host.strip("[]"), int(port)


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
