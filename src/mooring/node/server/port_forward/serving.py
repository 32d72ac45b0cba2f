"""`/portForward` and `/podTunnel`: which pod is meant, and which of the protocols is spoken."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from aiohttp import web

from mooring.clock import Clock
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.node.server.channels import is_websocket
from mooring.node.server.port_forward import channels
from mooring.node.server.port_forward.channels import ChannelForwarding
from mooring.node.server.port_forward.forwarding import PROTOCOL, ForwardedPod, Forwarding
from mooring.node.server.port_forward.ports import NotForwarded, PodPorts
from mooring.node.server.port_forward.tunnel import check_upgrade, serve_tunnel
from mooring.node.server.refusal import Refusal
from mooring.node.server.spdy.carriers import WebSocketCarrier
from mooring.node.server.spdy.connection import SpdyConnection
from mooring.node.server.spdy.upgrade import is_spdy, upgrade
from mooring.node.server.stream_options import target_of
from mooring.oci.contract import Containers, State

TUNNELED = f"SPDY/3.1+{PROTOCOL}"
MOST_PORTS = 100  # in one request over channels
MOST_MESSAGE = 1 << 20  # bytes
SLOWEST_GOODBYE = 2.0  # seconds

_POD = "{namespace}/{pod}"


class PortForwards:
    def __init__(
        self, containers: Containers, find_pod: Callable[[Key], Pod | None], clock: Clock
    ) -> None:
        self._containers = containers
        self._find_pod = find_pod
        self._clock = clock
        self._ports = PodPorts()

    def routes(self) -> Iterable[web.RouteDef]:
        for path in (_POD, f"{_POD}/{{uid}}"):
            yield web.get(f"/portForward/{path}", self.forward, allow_head=False)
            yield web.post(f"/portForward/{path}", self.forward)
        yield web.get(f"/podTunnel/{_POD}", self.tunnel, allow_head=False)

    async def forward(self, request: web.Request) -> web.StreamResponse:
        pod = self._pod(request)
        if is_websocket(request):
            return await self._over_websocket(request, pod)
        if is_spdy(request):
            _, connection, response = await upgrade(request, (PROTOCOL,))
            await Forwarding(pod, self._ports, connection, self._clock).serve()
            return response
        raise Refusal(400, "Upgrade request required")

    async def tunnel(self, request: web.Request) -> web.StreamResponse:
        pod, ports = self._pod(request), ports_of(request)
        if len(ports) != 1:
            raise Refusal(400, "exactly one port must be given")
        check_upgrade(request)
        try:
            async with self._ports.connected(pod.key, pod.uid, ports[0]) as connection:
                return await serve_tunnel(request, connection, self._clock)
        except NotForwarded as refusal:
            raise Refusal(503, str(refusal)) from refusal

    async def _over_websocket(self, request: web.Request, pod: ForwardedPod) -> web.StreamResponse:
        known = (TUNNELED, channels.BINARY, channels.TEXT)
        offered = [
            name.strip()
            for header in request.headers.getall("Sec-WebSocket-Protocol", ())
            for name in header.split(",")
        ]
        if not set(known) & set(offered):
            raise Refusal(403, f"requested protocol(s) are not supported: [{' '.join(offered)}]")
        ports = () if TUNNELED in offered else ports_of(request)
        socket = web.WebSocketResponse(
            protocols=known, compress=False, max_msg_size=MOST_MESSAGE, timeout=SLOWEST_GOODBYE
        )
        try:
            await socket.prepare(request)
        except web.HTTPBadRequest as error:
            raise Refusal(400, error.text or "") from error
        with suppress(ConnectionError):  # the client has disconnected
            if socket.ws_protocol == TUNNELED:
                await self._tunneled(socket, pod)
            else:
                await ChannelForwarding(pod, self._ports, self._clock).serve(socket, ports)
        return socket

    async def _tunneled(self, socket: web.WebSocketResponse, pod: ForwardedPod) -> None:
        carrier = WebSocketCarrier(socket)
        connection = SpdyConnection(carrier)
        carrying = asyncio.create_task(carrier.carry(connection))
        try:
            await Forwarding(pod, self._ports, connection, self._clock).serve()
        finally:
            carrying.cancel()
            await asyncio.gather(carrying, return_exceptions=True)
            await socket.close()

    def _pod(self, request: web.Request) -> ForwardedPod:
        """Raises: Refusal when there is no such pod, or none of its containers runs."""
        target = target_of(request)
        pod = self._find_pod(target.pod)
        if pod is None or target.uid not in ("", pod.uid):
            raise Refusal(404, "pod does not exist")
        uid = pod.uid
        if not self._runs(uid):
            raise Refusal(500, f"pod {target.pod.name} runs no container")
        return ForwardedPod(target.pod, uid, lambda: self._runs(uid))

    def _runs(self, uid: str) -> bool:
        found = self._containers.list()
        return any(each.owner.pod_uid == uid and each.state is State.RUNNING for each in found)


def ports_of(request: web.Request) -> Sequence[int]:
    """`port=80,443`, or `ports` repeated, in the order they are given. Raises: Refusal."""
    texts = [
        text.strip()
        for name in ("port", "ports")
        for value in request.query.getall(name, [])
        for text in value.split(",")
    ]
    if not texts:
        raise Refusal(400, 'query parameter "port" is required')
    if len(texts) > MOST_PORTS:
        raise Refusal(400, f"at most {MOST_PORTS} ports can be forwarded by one request")
    ports = [
        int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0 for text in texts
    ]
    for port, text in zip(ports, texts, strict=True):
        if not 0 < port < 1 << 16:
            raise Refusal(400, f'port "{text}" must be between 1 and 65535, inclusive')
    return ports
