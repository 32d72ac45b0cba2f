"""`mooring csi trace`: the CSI calls of a cluster, read from the API server and from its nodes."""

import asyncio
import ipaddress
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import uvloop

from mooring.client.connect import connect_to
from mooring.client.http import HttpClient
from mooring.client.kubeconfig import Surroundings, find_endpoint
from mooring.clock import RealClock
from mooring.csi.call_log import MOST_CALLS
from mooring.csi.call_query import PATH
from mooring.csi.call_record import CsiCall, CsiCallEvent, CsiCalls, Process
from mooring.errors import ApiError, ConnectionLost, MooringError, NotFound, UsageError
from mooring.model.node import Node
from mooring.stack.process import stop_event

PAUSE_SECONDS = 1.0  # before a stream that broke is opened again
_READING_NODES = 16  # at once
_REMEMBERED = 3 * MOST_CALLS  # told calls, so that a stream opened again does not repeat them

Take = Callable[[CsiCallEvent], None]


class Wanted(msgspec.Struct, frozen=True):
    """Whose calls, and which of them."""

    kubeconfig: Path | None = None
    address: str = ""  # of one role's own page, `http://host:port`; empty: the whole cluster
    query: Mapping[str, str] = {}


class Traced(msgspec.Struct, frozen=True):
    """The pages that could be read, one of each process, and what could not."""

    pages: tuple[CsiCalls, ...]
    unseen: tuple[str, ...] = ()  # each with its reason
    paths: tuple[str, ...] = ()  # of the pages

    def calls(self) -> list[tuple[Process, CsiCall]]:
        """Of all processes, oldest first; those in flight last."""
        found = [(page.process, call) for page in self.pages for call in page.calls]
        return sorted(found, key=lambda one: (one[1].in_flight, one[1].started))


def run_trace(wanted: Wanted) -> Traced:
    """Raises: MooringError."""

    async def run() -> Traced:
        async with _connected(wanted) as client:
            return await read_calls(client, wanted)

    return uvloop.run(run())


def run_follow(wanted: Wanted, tell_unseen: Callable[[str], None], take: Take) -> None:
    """Every event to `take`, until SIGINT or SIGTERM. Raises: MooringError."""

    async def run() -> None:
        stop = stop_event()
        async with _connected(wanted) as client:
            found = await read_calls(client, wanted, limit=1)
            for line in found.unseen:
                tell_unseen(line)
            async with asyncio.TaskGroup() as tasks:
                following = [
                    tasks.create_task(_follow(client, path, wanted, take)) for path in found.paths
                ]
                await stop.wait()
                for task in following:
                    task.cancel()

    uvloop.run(run())


@asynccontextmanager
async def _connected(wanted: Wanted) -> AsyncIterator[HttpClient]:
    clock = RealClock()
    endpoint = find_endpoint(wanted.kubeconfig, Surroundings(os.environ, clock))
    if wanted.address:
        if not is_on_this_machine(wanted.address):
            raise UsageError(
                f"{wanted.address!r}: a token is sent to this machine only; give --address as "
                "http://127.0.0.1:PORT, through ssh -L or kubectl port-forward if need be"
            )
        address = wanted.address.rstrip("/")
        endpoint = msgspec.structs.replace(endpoint, server=address, proxy="")
    async with connect_to(endpoint, clock) as client:
        yield client


def is_on_this_machine(url: str) -> bool:
    """Whether whoever opens it can only get here: `http://127.example.com` is elsewhere."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
    return parts.scheme == "http" and is_here and "@" not in parts.netloc


async def read_calls(client: HttpClient, wanted: Wanted, limit: int | None = None) -> Traced:
    """Raises: MooringError when nothing at all could be read."""
    query = {**wanted.query, **({} if limit is None else {"limit": str(limit)})}
    unseen: list[str] = []
    paths = [PATH]
    if not wanted.address:
        try:
            paths += await _node_paths(client)
        except ApiError as error:
            unseen.append(f"nodes cannot be listed, so theirs are not shown: {error}")
    gate = asyncio.Semaphore(_READING_NODES)

    async def read(path: str) -> CsiCalls | MooringError:
        try:
            async with gate:
                return msgspec.json.decode(await client.read(path, query), type=CsiCalls)
        except (ApiError, ConnectionLost) as error:
            return error
        except msgspec.DecodeError:
            return MooringError("it answered with something else")

    answers = await asyncio.gather(*map(read, paths))
    pages: dict[str, tuple[str, CsiCalls]] = {}
    for path, answer in zip(paths, answers, strict=True):
        if isinstance(answer, CsiCalls):
            pages.setdefault(answer.process.id, (path, answer))
        elif isinstance(answer, NotFound):
            remedy = "; ask a role itself with --address" if path == PATH else ""
            unseen.append(f"{_who(path)} shows no CSI calls: it makes none, or is older{remedy}")
        else:
            unseen.append(f"the CSI calls of {_who(path)} cannot be read: {answer}")
    if not pages:
        raise UsageError("; ".join(unseen))
    kept = pages.values()
    read_from = tuple(path for path, _ in kept)
    return Traced(tuple(page for _, page in kept), tuple(unseen), read_from)


async def _node_paths(client: HttpClient) -> list[str]:
    """Of nodes that have a server. Raises: ApiError, ConnectionLost."""
    nodes = (await client.list(Node)).readable
    return [
        f"/api/v1/nodes/{node.name}/proxy{PATH}"
        for node in nodes
        if node.status.daemon_endpoints.kubelet_endpoint.port
    ]


def _who(path: str) -> str:
    if path == PATH:
        return "the server"
    return f"node {path.split('/')[4]}"


async def _follow(client: HttpClient, path: str, wanted: Wanted, take: Take) -> None:
    """A stream that ends is opened again; what was seen is not told twice."""
    seen = _Seen()
    while True:
        with suppress(ApiError, ConnectionLost, msgspec.DecodeError):
            async with client.follow(path, {**wanted.query, "watch": "1"}) as lines:
                async for line in lines:
                    event = msgspec.json.decode(line, type=CsiCallEvent)
                    if seen.is_news(event):
                        take(event)
        await RealClock().sleep(PAUSE_SECONDS)


class _Seen:
    """The last calls that were told, of one process."""

    def __init__(self) -> None:
        self._process = ""
        self._told: dict[tuple[int, bool], None] = {}

    def is_news(self, event: CsiCallEvent) -> bool:
        if event.process.id != self._process:
            self._process = event.process.id
            self._told.clear()
        if event.call is None:
            return True
        key = (event.call.id, event.call.in_flight)
        if key in self._told:
            return False
        self._told[key] = None
        if len(self._told) > _REMEMBERED:
            del self._told[next(iter(self._told))]
        return True
