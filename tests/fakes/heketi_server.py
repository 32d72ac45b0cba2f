"""heketi on loopback: volumes of one cluster, checked tokens, and bad manners on request."""

import asyncio
import hashlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import jwt
from aiohttp import web

from mooring.model.document import Doc

USER, KEY = "admin", "a key that is at least as long as HS256 asks for"
CLUSTER, NODES = "c1", {"n1": "10.0.0.1", "n2": "10.0.0.2"}
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HeketiServer:
    def __init__(self) -> None:
        self.url = ""
        self.volumes: dict[str, Doc] = {}
        self.asked: list[str] = []
        self.wishes: list[Doc] = []
        self.pending = 1  # looks until something has ended
        self.plays: dict[str, Answer] = {}  # by method and path
        self.addresses = dict(NODES)
        self._ids = itertools.count(1)
        self._queue: dict[str, tuple[int, str]] = {}  # looks that are left, and where it ends

    async def answer(self, request: web.Request) -> web.StreamResponse:
        called = f"{request.method} {request.path}"
        self.asked.append(called)
        if (played := self.plays.get(called)) is not None:
            return await played(request)
        self._check(request)
        match request.method, request.path.split("/")[1:]:
            case "GET", ["volumes"]:
                return web.json_response({"volumes": list(self.volumes)})
            case "POST", ["volumes"]:
                return self._later(self._add(await request.json()))
            case "POST", ["volumes", id, "expand"]:
                self.volumes[id]["size"] += (await request.json())["expand_size"]
                return self._later(f"/volumes/{id}")
            case "DELETE", ["volumes", id] if id in self.volumes:
                del self.volumes[id]
                return self._later("")
            case "GET", ["volumes", id] if id in self.volumes:
                return web.json_response(self.volumes[id])
            case "GET", ["clusters", id] if id == CLUSTER:
                return web.json_response({"id": id, "nodes": list(self.addresses)})
            case "GET", ["nodes", id] if id in self.addresses:
                names = {"manage": [id], "storage": [self.addresses[id]]}
                return web.json_response({"id": id, "hostnames": names})
            case "GET", ["queue", id]:
                return self._end(id)
            case _:
                return web.Response(status=404)

    def _add(self, wish: Doc) -> str:
        self.wishes.append(wish)
        id = f"v{next(self._ids)}"
        self.volumes[id] = {**wish, "id": id, "cluster": CLUSTER}
        return f"/volumes/{id}"

    def _later(self, place: str) -> web.Response:
        id = f"q{next(self._ids)}"
        self._queue[id] = (self.pending, place)
        return web.Response(status=202, headers={"Location": f"/queue/{id}"})

    def _end(self, id: str) -> web.Response:
        left, place = self._queue[id]
        if left:
            self._queue[id] = (left - 1, place)
            return web.Response(headers={"X-Pending": "true"})
        if not place:
            return web.Response(status=204)
        return web.Response(status=303, headers={"Location": place})

    def _check(self, request: web.Request) -> None:
        """A token is for one method and one path."""
        token = request.headers["Authorization"].removeprefix("bearer ")
        options: Any = {"verify_iat": False, "verify_exp": False}  # time is played
        claims = jwt.decode(token, KEY, algorithms=["HS256"], options=options)
        signed = hashlib.sha256(f"{request.method}&{request.path}".encode()).hexdigest()
        if (claims["iss"], claims["qsh"]) != (USER, signed):
            raise web.HTTPUnauthorized
        if claims["exp"] - claims["iat"] != 300:
            raise web.HTTPUnauthorized


@asynccontextmanager
async def served(server: Any) -> AsyncIterator[None]:
    """At `server.url` until the end."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield
    finally:
        await runner.cleanup()


async def hangs(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def megabytes(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    for _ in range(64):
        await answer.write(b"x" * (1 << 20))
    return answer


async def no_json(_: web.Request) -> web.StreamResponse:
    return web.Response(body=b"\xff{{")


async def another_shape(_: web.Request) -> web.StreamResponse:
    return web.json_response({"id": 7, "volumes": {"a": 1}, "result": [1], "hostnames": 3})


async def an_error(_: web.Request) -> web.StreamResponse:
    return web.Response(status=500, text="the password is hunter2")


async def elsewhere(_: web.Request) -> web.StreamResponse:
    return web.Response(status=303, headers={"Location": "http://127.0.0.1:1/stolen"})


BAD: dict[str, Answer] = {
    "hangs": hangs,
    "megabytes": megabytes,
    "no JSON": no_json,
    "another shape": another_shape,
    "an error": an_error,
    "elsewhere": elsewhere,
}
