"""What is served under which path; the paths and the words are kubelet's."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Protocol

import msgspec
from aiohttp import web

from mooring.clock import Clock
from mooring.csi.call_query import PATH as CALLS_PATH
from mooring.csi.serve_calls import ServedCalls
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.node.server.attach import Attached
from mooring.node.server.channels import Channels, is_websocket, open_channels
from mooring.node.server.conversation import StreamClient
from mooring.node.server.endings import Endings
from mooring.node.server.exec import Executed
from mooring.node.server.log_options import log_options
from mooring.node.server.logs import LogSender, choose_log
from mooring.node.server.port_forward.serving import PortForwards
from mooring.node.server.refusal import Refusal
from mooring.node.server.spdy.session import SpdySession, open_session
from mooring.node.server.spdy.upgrade import is_spdy
from mooring.node.server.stream_options import (
    Streams,
    Target,
    command_of,
    find_container,
    streams_of,
    target_of,
)
from mooring.oci.contract import Containers, Found, State

FindPod = Callable[[Key], Pod | None]


class Summarize(Protocol):
    """`node.summary.Summary.document`."""

    def __call__(self, *, only_cpu_and_memory: bool) -> Awaitable[Doc]: ...


_CONTAINER = "{namespace}/{pod}/{container}"
_CONTAINER_OF = "{namespace}/{pod}/{uid}/{container}"


class Conversation(Protocol):
    async def serve(self, client: StreamClient, streams: Streams, clock: Clock) -> None: ...


class Paths:
    def __init__(self, containers: Containers, find_pod: FindPod, clock: Clock) -> None:
        self._containers = containers
        self._find_pod = find_pod
        self._clock = clock
        self._log_sender = LogSender(Endings(containers))
        self._port_forwards = PortForwards(containers, find_pod, clock)
        self._calls = ServedCalls(clock)
        self.summarize: Summarize | None = None  # who measures the volumes of the pods

    def routes(self) -> Iterable[web.RouteDef]:
        yield web.get("/healthz", _health, allow_head=False)
        yield web.get("/stats/summary", self.summary, allow_head=False)
        yield web.get(f"/containerLogs/{_CONTAINER}", self.logs, allow_head=False)
        for path in (_CONTAINER, _CONTAINER_OF):
            for verb, handler in (("exec", self.exec), ("attach", self.attach)):
                yield web.get(f"/{verb}/{path}", handler, allow_head=False)
                yield web.post(f"/{verb}/{path}", handler)
        yield web.get(CALLS_PATH, self._calls.serve, allow_head=False)
        yield from self._port_forwards.routes()

    async def logs(self, request: web.Request) -> web.StreamResponse:
        target = target_of(request)
        options = log_options(request.query, self._clock.now())
        pod = self._find_pod(target.pod)
        if pod is None:
            raise Refusal(404, f'pod "{target.pod.name}" does not exist')
        if find_container(pod, target.container) is None:
            name, where = target.container, pod.name
            raise Refusal(404, f'container "{name}" not found in pod "{where}"')
        found = choose_log(pod, target.container, options, self._containers)
        return await self._log_sender.send(request, found, options)

    async def summary(self, request: web.Request) -> web.StreamResponse:
        if self.summarize is None:
            raise Refusal(404, "404 page not found")
        only = request.query.get("only_cpu_and_memory", "") in ("1", "true", "True", "TRUE")
        document = await self.summarize(only_cpu_and_memory=only)
        return web.Response(body=msgspec.json.encode(document), content_type="application/json")

    async def exec(self, request: web.Request) -> web.StreamResponse:
        streams, command, target = streams_of(request), command_of(request), target_of(request)
        found = self._find_running(target)
        if found is None:
            raise Refusal(500, f'container not found ("{target.container}")')
        return await self._talk(request, streams, Executed(self._containers, found.id, command))

    async def attach(self, request: web.Request) -> web.StreamResponse:
        streams, target = streams_of(request), target_of(request)
        found = self._find_running(target)
        if found is None:
            pod = f"{target.pod.name}_{target.pod.namespace}"
            raise Refusal(500, f"container {target.container} not found in pod {pod}")
        return await self._talk(request, streams, Attached(self._containers, found.id))

    async def _talk(
        self, request: web.Request, streams: Streams, conversation: Conversation
    ) -> web.StreamResponse:
        client = await _open(request, streams)
        with suppress(ConnectionError):  # the client has disconnected
            await conversation.serve(client, streams, self._clock)
        return client.response

    def _find_running(self, target: Target) -> Found | None:
        """Raises: Refusal when there is no such pod."""
        pod = self._find_pod(target.pod)
        if pod is None:
            raise Refusal(404, "pod does not exist")
        if target.uid not in ("", pod.uid):
            return None
        for found in self._containers.list():
            is_meant = found.owner.pod_uid == pod.uid and found.owner.container == target.container
            if is_meant and found.state is State.RUNNING:
                return found
        return None


async def _open(request: web.Request, streams: Streams) -> Channels | SpdySession:
    """Upgrade the connection to what the client can speak. Raises: Refusal, ConnectionError."""
    if is_websocket(request):
        return await open_channels(request, streams)
    if is_spdy(request):
        return await open_session(request, streams)
    raise Refusal(400, "Upgrade request required")


async def _health(_: web.Request) -> web.StreamResponse:
    return web.Response(text="ok")
