"""A dashboard over a cluster in memory."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import cast

from mooring.client.contract import Listing, T
from mooring.client.http import HttpClient
from mooring.dashboard.app import Dashboard, Parts
from mooring.dashboard.message import DashboardAnswer, DashboardRequest
from mooring.errors import MooringError
from tests.fakes.client import FakeClient, FakeServer
from tests.fakes.clock import VirtualClock

GOOD = "good-session"


class PathsClient(FakeClient):
    """A `FakeClient` that also answers paths."""

    def __init__(self, server: FakeServer, clock: VirtualClock) -> None:
        super().__init__(server, clock)
        self.paths: dict[str, bytes | MooringError] = {
            "/version": b'{"gitVersion":"v1.35.0"}',
            "/api": b"{}",
        }
        self.asked: list[str] = []

    async def pages(self, kind: type[T]) -> AsyncGenerator[Listing[T], None]:
        """Pages of one object."""
        whole = await self.list(kind)
        for it in whole.readable:
            yield Listing([it], whole.version, [])
        if not whole.readable or whole.unread:
            yield Listing([], whole.version, whole.unread)

    async def read(self, path: str, query: Mapping[str, str]) -> bytes:
        self.asked.append(path)
        answer = self.paths[path]
        if isinstance(answer, MooringError):
            raise answer
        return answer


class FakeDoor:
    def __init__(self, client: PathsClient) -> None:
        self._client = client
        self.one_time = "first"

    def enter(self, one_time: str) -> str | None:
        if one_time != self.one_time:
            return None
        self.one_time = "spent"
        return GOOD

    def client(self, bearer: str) -> AbstractAsyncContextManager[HttpClient] | None:
        return self._open() if bearer == GOOD else None

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[HttpClient]:
        yield cast(HttpClient, self._client)


class World:
    def __init__(self, parts: Parts | None = None) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = PathsClient(self.server, self.clock)
        self.door = FakeDoor(self.client)
        self.dashboard = Dashboard(self.door, self.clock, parts)

    async def get(self, path: str, bearer: str = GOOD, **query: str) -> DashboardAnswer:
        return await self.dashboard.handle(DashboardRequest("GET", path, query, bearer))

    async def send(self, method: str, path: str, body: bytes = b"") -> DashboardAnswer:
        return await self.dashboard.handle(DashboardRequest(method, path, {}, GOOD, body))


def body_of(answer: DashboardAnswer) -> bytes:
    assert isinstance(answer.body, bytes)
    return answer.body
