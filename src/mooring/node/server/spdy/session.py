"""Talking to a process over SPDY: one stream each for input, output, errors, sizes, the outcome."""

import asyncio
from collections.abc import Mapping

from aiohttp import web

from mooring.node.server.outcome import Outcome
from mooring.node.server.resizing import SizeReader
from mooring.node.server.spdy.connection import SpdyConnection, SpdyStream
from mooring.node.server.spdy.upgrade import upgrade
from mooring.node.server.stream_options import Streams
from mooring.oci.contract import Session

SLOWEST_STREAMS = 30.0  # seconds in which a client opens all of them

_V4, _V3 = "v4.channel.k8s.io", "v3.channel.k8s.io"
_NAMES = {1: "stdout", 2: "stderr"}
PROTOCOLS = (_V4, _V3, "v2.channel.k8s.io", "channel.k8s.io")


async def open_session(request: web.Request, streams: Streams) -> "SpdySession":
    """Upgrade the connection, and wait for its streams.

    Raises: Refusal before the upgrade, ConnectionError after it.
    """
    protocol, connection, response = await upgrade(request, PROTOCOLS)
    expected = _expected(streams, can_resize=protocol in {_V4, _V3})
    found: dict[str, SpdyStream] = {}
    try:
        async with asyncio.timeout(SLOWEST_STREAMS):
            while expected - found.keys():
                stream = await connection.accept()
                if stream is None:
                    raise ConnectionResetError("the client left before it opened its streams")
                found[stream.type] = stream
                if stream.type not in {"stdin", "resize"}:
                    stream.ignore()
    except TimeoutError as error:
        await connection.close()
        raise ConnectionResetError("the client did not open its streams in time") from error
    return SpdySession(connection, response, streams, found, has_status=protocol == _V4)


def _expected(streams: Streams, *, can_resize: bool) -> set[str]:
    wanted = {
        "error": True,
        "stdin": streams.stdin,
        "stdout": streams.stdout,
        "stderr": streams.stderr,
        "resize": streams.tty and can_resize,
    }
    return {name for name, is_wanted in wanted.items() if is_wanted}


class SpdySession:
    """A `Client`."""

    def __init__(
        self,
        connection: SpdyConnection,
        response: web.StreamResponse,
        wanted: Streams,
        streams: Mapping[str, SpdyStream],
        *,
        has_status: bool,
    ) -> None:
        self.response = response
        self._connection = connection
        self._wanted = wanted
        self._streams = streams
        self._has_status = has_status

    async def listen(self, session: Session) -> None:
        async with asyncio.TaskGroup() as tasks:
            passing = []
            if stdin := self._streams.get("stdin"):
                passing.append(tasks.create_task(self._pass_input(stdin, session)))
            if resize := self._streams.get("resize"):
                passing.append(tasks.create_task(_pass_sizes(resize, session)))
            await self._connection.left.wait()
            for task in passing:  # a process that does not read would hold the first one for good
                task.cancel()

    async def _pass_input(self, stdin: SpdyStream, session: Session) -> None:
        while data := await stdin.read():
            await session.write(data)
        if not self._connection.has_left:
            await session.end_input()

    async def tell(self, stream: int, data: bytes) -> None:
        if (number := self._wanted.where(stream)) is not None:
            await self._streams[_NAMES[number]].write(data)

    async def probe(self) -> None:
        await self._connection.probe()

    async def finish(self, outcome: Outcome) -> None:
        for name in ("stdout", "stderr"):
            if stream := self._streams.get(name):
                await stream.finish()
        told = outcome.status if self._has_status else outcome.text.encode()
        error = self._streams["error"]
        await error.write(told)
        await error.finish()
        await self._connection.close()


async def _pass_sizes(resize: SpdyStream, session: Session) -> None:
    sizes = SizeReader()
    while data := await resize.read():
        for size in sizes.feed(data):
            session.resize(size)
