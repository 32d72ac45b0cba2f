"""A whole API in this process: memory store, virtual time, seeded randomness, no sockets.

`api.post("/api/v1/...", {...})` goes through the very same code as a request from kubectl.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from mooring.apiserver.auth.pki import Pki, open_pki
from mooring.apiserver.auth.tokens import ADMIN, NODE_PREFIX, RoleTokens, open_role_tokens
from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.request.message import Answer, Body, Joined, Request, Response, Stream
from mooring.apiserver.server import Parts, assemble
from mooring.apiserver.store.contract import Store
from mooring.apiserver.store.memory import MemoryStore
from mooring.model.feature_gates import FeatureGates
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from tests.fakes.clock import VirtualClock, settle

Doc = dict[str, Any]

JSON = {"content-type": "application/json"}


class Answered(msgspec.Struct, frozen=True):
    """What came back."""

    code: int
    body: bytes
    headers: tuple[tuple[str, str], ...]
    content_type: str

    @property
    def doc(self) -> Doc:
        return dict(json.loads(self.body))

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def warnings(self) -> list[str]:
        """The texts of the Warning headers."""
        found = [value for name, value in self.headers if name == "Warning"]
        return [json.loads(value.removeprefix("299 - ")) for value in found]

    def header(self, name: str) -> str | None:
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)


class Watching:
    """The receiving end of a watch: events as they arrive, one list."""

    def __init__(self, stream: Stream) -> None:
        self.events: list[Doc] = []
        self.ended = False
        self.ready = True
        self.raw = b""
        self._stream = stream
        self._rest = b""

    def start(self) -> None:
        self._stream.source.start(self)

    def write(self, data: bytes) -> None:
        self.raw += data
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.events += [json.loads(line) for line in lines]

    def write_framed(self, chunk: bytes) -> None:
        self.write(chunk.partition(b"\r\n")[2][:-2])

    def end(self) -> None:
        if not self.ended:
            self.ended = True
            self._stream.source.on_closed()

    def cut(self) -> None:
        self.end()

    def pause(self) -> None:
        """The client stops reading."""
        self.ready = False

    def resume(self) -> None:
        self.ready = True
        self._stream.source.on_ready()

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def names(self) -> list[tuple[str, str]]:
        return [(e["type"], e["object"]["metadata"].get("name", "")) for e in self.events]


class ApiUnderTest:
    def __init__(self, parts: Parts, clock: VirtualClock, tokens: RoleTokens) -> None:
        self.parts = parts
        self.clock = clock
        self.tokens = tokens
        self.token: str | None = tokens.token(ADMIN).reveal()

    async def send(
        self,
        method: str,
        url: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> Answer:
        path, _, query = url.partition("?")
        given = {k.lower(): v for k, v in (headers or {}).items()}
        shown = token or self.token
        if shown:
            given.setdefault("authorization", f"Bearer {shown}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            given.setdefault("content-type", "application/json")
        request = Request(method, path, query, given, body or b"")
        return await self.parts.api.handle(request)

    async def ask(
        self,
        method: str,
        url: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> Answered:
        answer = await self.send(method, url, body, headers, token)
        assert isinstance(answer, Response), "this is a watch: use api.watch"
        whole = await whole_body(answer.body)
        return Answered(answer.status, whole, answer.headers, answer.content_type)

    async def get(self, url: str, **headers: str) -> Answered:
        return await self.ask("GET", url, headers=_named(headers))

    async def post(self, url: str, body: Any, **headers: str) -> Answered:
        return await self.ask("POST", url, body, _named(headers))

    async def put(self, url: str, body: Any, **headers: str) -> Answered:
        return await self.ask("PUT", url, body, _named(headers))

    async def delete(self, url: str, body: Any = None, **headers: str) -> Answered:
        return await self.ask("DELETE", url, body, _named(headers))

    async def patch(self, url: str, body: Any, kind: str = "merge-patch+json") -> Answered:
        return await self.ask("PATCH", url, body, {"content-type": f"application/{kind}"})

    async def apply(self, url: str, body: Any) -> Answered:
        return await self.patch(url, body, "apply-patch+yaml")

    async def watch(self, url: str, **headers: str) -> Watching:
        answer = await self.send("GET", url, headers=_named(headers))
        assert isinstance(answer, Stream), answer
        watching = Watching(answer)
        watching.start()
        return watching

    def token_of(self, role: str) -> str:
        """Of a fixed role, or of `node:<name>`."""
        if role.startswith(NODE_PREFIX):
            return self.tokens.node_token(role.removeprefix(NODE_PREFIX)).reveal()
        return self.tokens.token(role).reveal()

    async def settle(self) -> None:
        """Let garbage collection and namespaces do what they have to do."""
        await settle()


async def whole_body(body: Body) -> bytes:
    if isinstance(body, bytes):
        return body
    if isinstance(body, Joined):
        return b"".join(body)
    return b"".join([block async for block in body])


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


async def on_memory(clock: VirtualClock) -> Store:
    return MemoryStore(clock)


@asynccontextmanager
async def running_api(
    pki: Pki,
    directory: Path,
    gates: FeatureGates | None = None,
    release: KubernetesVersion = NEWEST,
    open_store: Callable[[VirtualClock], Awaitable[Store]] = on_memory,
) -> AsyncIterator[ApiUnderTest]:
    clock = VirtualClock()
    store = await open_store(clock)
    tokens = open_role_tokens(directory / "tokens.json")
    rng = random.Random(7)  # noqa: S311  the same names and uids every time
    parts = assemble(store, clock, rng, pki, tokens, "127.0.0.1:6443", builtin(gates, release))
    parts.nodes.start()
    parts.definitions.start()
    await parts.namespaces.create_first()
    async with asyncio.TaskGroup() as tasks:
        owned = [
            tasks.create_task(part.run())
            for part in (
                parts.definitions,
                parts.namespaces,
                parts.garbage,
                parts.events,
                parts.quotas,
                parts.migrations,
            )
        ]
        await settle()
        yield ApiUnderTest(parts, clock, tokens)
        for task in owned:
            task.cancel()
    await store.close()


def make_pki(directory: Path) -> Pki:
    return open_pki(directory, now=VirtualClock().now(), host_name="test")
