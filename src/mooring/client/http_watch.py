"""The receiving end of a watch over HTTP: lines of JSON, one change each."""

import asyncio
import socket
from collections import deque
from typing import Generic

import aiohttp
import msgspec

from mooring.client.contract import Change, ChangeType, T
from mooring.client.decoding import Reader
from mooring.client.lost import FAILURES, lost
from mooring.client.refusals import refusal
from mooring.errors import ConnectionLost, ServerError

QUIET = 30  # seconds without a word before the other side is asked whether it still lives
ASK_EVERY, MOST_ASKS = 10, 3


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


_lines = msgspec.json.Decoder(_Line)
_TYPES = {each.value: each for each in ChangeType}


class Changes(Generic[T]):
    """The changes in an answer, until the server ends it."""

    def __init__(self, response: aiohttp.ClientResponse, reader: Reader[T], server: str) -> None:
        self._content = response.content
        self._reader = reader
        self._server = server
        self._lines: deque[bytes] = deque()
        self._rest: list[bytes] = []  # of a line that has not ended yet

    def __aiter__(self) -> "Changes[T]":
        return self

    async def __anext__(self) -> Change[T]:
        while not self._lines:
            await self._receive()
        return self._change(self._lines.popleft())

    async def _receive(self) -> None:
        try:
            data = await self._content.readany()
        except FAILURES as error:
            raise lost(self._server, error) from error
        if not data:
            if self._rest:
                raise ConnectionLost(f"{self._server} ended a watch in the middle of a change")
            raise StopAsyncIteration
        first, *others = data.split(b"\n")
        self._rest.append(first)
        if others:
            whole = (b"".join(self._rest), *others[:-1])
            self._lines.extend(line for line in whole if line)
            self._rest = [others[-1]] if others[-1] else []

    def _change(self, text: bytes) -> Change[T]:
        try:
            line = _lines.decode(text)
        except msgspec.DecodeError as error:
            raise ServerError(
                f"{self._server} sent a change that cannot be read: {error}"
            ) from error
        if line.type == "ERROR":
            raise refusal(500, line.object)
        known = _TYPES.get(line.type)
        if known is None:
            raise ServerError(f"{self._server} sent a change of the unknown type {line.type!r}")
        if known is ChangeType.BOOKMARK:
            return Change(known, self._reader.read_bookmark(line.object))
        return Change(known, self._reader.read(line.object))


def keep_alive(response: aiohttp.ClientResponse) -> None:
    """Have the system notice when the server is gone without a word: a watch only listens, so it
    would otherwise wait until its time is over."""
    transport = _transport(response)
    connected = transport.get_extra_info("socket") if transport else None
    if connected is not None:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, QUIET)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, ASK_EVERY)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, MOST_ASKS)


def hang_up(response: aiohttp.ClientResponse) -> None:
    """End a watch at once: there is no other way to tell the server than to go, and no use in
    the farewells of TLS, which would outlive the watch."""
    if transport := _transport(response):
        transport.abort()
    response.close()


def _transport(response: aiohttp.ClientResponse) -> asyncio.Transport | None:
    return response.connection.transport if response.connection else None
