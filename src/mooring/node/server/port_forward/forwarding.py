"""Port forwarding over SPDY: two streams for each connection, one for data, one for its error.

As upstream: a client names the connection (`requestID`) and the port in the headers of both; what
is written on the error stream tells it why a connection failed.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import msgspec

from mooring.clock import Clock
from mooring.model.keys import Key
from mooring.node.server.conversation import PROBED_EVERY
from mooring.node.server.port_forward.ports import NotForwarded, PodPorts
from mooring.node.server.port_forward.relay import relay
from mooring.node.server.spdy.connection import SpdyConnection, SpdyStream

PROTOCOL = "portforward.k8s.io"
IDLE = 4 * 60 * 60.0  # seconds without a byte after which a client is let go, as the kubelet's
SLOWEST_STREAMS = 30.0  # seconds in which the second stream of a connection follows the first
MOST_PAIRS = 100  # connections of one client at a time; the rest are told so


class ForwardedPod(msgspec.Struct, frozen=True):
    """The pod that a client forwards to, and whether it still runs."""

    key: Key
    uid: str
    is_running: Callable[[], bool]


class _Pair:
    """The two streams of one connection; either may come first."""

    def __init__(self, *, is_one_too_many: bool) -> None:
        self.is_one_too_many = is_one_too_many
        self.data: SpdyStream | None = None
        self.error: SpdyStream | None = None
        self.is_whole = asyncio.Event()


class _Data:
    """A data stream, as the relay wants it."""

    def __init__(self, stream: SpdyStream, connection: SpdyConnection) -> None:
        self._connection = connection
        self.read, self.write = stream.read, stream.write
        self.finish, self.reset = stream.finish, stream.reset
        self.given_up = stream.given_up

    @property
    def is_held_up(self) -> bool:
        return self._connection.is_held_up


class Forwarding:
    """Serves one client until it leaves, or does nothing for too long."""

    def __init__(
        self, pod: ForwardedPod, ports: PodPorts, connection: SpdyConnection, clock: Clock
    ) -> None:
        self._pod = pod
        self._ports = ports
        self._connection = connection
        self._clock = clock
        self._pairs: dict[str, _Pair] = {}

    async def serve(self) -> None:
        """After: nothing is connected any more."""
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._watch())
            serving: set[asyncio.Task[None]] = set()
            while (stream := await self._connection.accept()) is not None:
                if (pair := await self._paired(stream)) is not None:
                    task = tasks.create_task(self._serve_pair(*pair))
                    serving.add(task)
                    task.add_done_callback(serving.discard)
            for task in (watching, *serving):
                task.cancel()

    async def _watch(self) -> None:
        """Find out a client that left without a word; let go of one that is idle."""
        moved, since = -1, self._clock.monotonic()
        try:
            while True:
                if moved != self._connection.moved:
                    moved, since = self._connection.moved, self._clock.monotonic()
                elif self._clock.monotonic() - since >= IDLE:
                    await self._connection.close()
                    break
                await self._clock.sleep(PROBED_EVERY)
                await self._connection.probe()
        except ConnectionError:
            pass
        self._connection.feed_eof()

    async def _paired(self, stream: SpdyStream) -> tuple[str, _Pair] | None:
        """The connection that this stream begins; None when it belongs to one, or to none."""
        request = stream.headers.get("requestid") or _request_of(stream)
        if stream.type not in {"data", "error"} or _port_of(stream) is None:
            await _give_up(stream)
            return None
        pair = self._pairs.get(request)
        begins = pair is None
        if pair is None:
            pair = _Pair(is_one_too_many=len(self._pairs) >= MOST_PAIRS)
            self._pairs[request] = pair
        if stream.type == "data" and pair.data is None:
            pair.data = stream
        elif stream.type == "error" and pair.error is None:
            pair.error = stream
            stream.ignore()
        else:
            await _give_up(stream)  # a second one of the same name
        if pair.data is not None and pair.error is not None:
            pair.is_whole.set()
        return (request, pair) if begins else None

    async def _serve_pair(self, request: str, pair: _Pair) -> None:
        try:
            if await self._whole(pair):
                await self._forward(pair)
        except ConnectionError:
            pass  # the client has left; `accept` tells so, too
        finally:
            self._pairs.pop(request, None)

    async def _whole(self, pair: _Pair) -> bool:
        waiting = asyncio.ensure_future(pair.is_whole.wait())
        patience = asyncio.ensure_future(self._clock.sleep(SLOWEST_STREAMS))
        try:
            await asyncio.wait((waiting, patience), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            patience.cancel()
        if pair.is_whole.is_set():
            return True
        for stream in (pair.data, pair.error):
            if stream is not None:
                await _give_up(stream)
        return False

    async def _forward(self, pair: _Pair) -> None:
        data, error = pair.data, pair.error
        assert data is not None  # noqa: S101  the pair is whole
        assert error is not None  # noqa: S101
        pod, port = self._pod, _port_of(data)
        assert port is not None  # noqa: S101  checked when the stream came
        try:
            self._check(pair, port)
            async with self._ports.connected(pod.key, pod.uid, port) as connection:
                await relay(_Data(data, self._connection), connection, self._clock)
        except NotForwarded as refusal:
            await error.write(str(refusal).encode())
            await data.finish()
        finally:
            data.ignore()
        await error.finish()

    def _check(self, pair: _Pair, port: int) -> None:
        name, uid = self._pod.key.name, self._pod.uid
        if not self._pod.is_running():
            raise NotForwarded(
                f"error forwarding port {port} to pod {name}, uid {uid}: the pod does not run"
            )
        if pair.is_one_too_many:
            raise NotForwarded(
                f"error forwarding port {port} to pod {name}, uid {uid}: "
                f"this client has {MOST_PAIRS} connections open already"
            )


def _request_of(stream: SpdyStream) -> str:
    """Of clients that name no request: they open the error stream first, the data stream next."""
    return str(stream.id if stream.type == "error" else stream.id - 2)


def _port_of(stream: SpdyStream) -> int | None:
    text = stream.headers.get("port", "")
    port = int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else 0
    return port if 0 < port < 1 << 16 else None


async def _give_up(stream: SpdyStream) -> None:
    stream.ignore()
    with suppress(ConnectionError):  # the client has left; `accept` tells so, too
        await stream.reset()
