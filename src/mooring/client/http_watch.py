"""Reading a watch over HTTP: lines of JSON, one change each."""

import asyncio
from collections import deque
from typing import Generic

import aiohttp
import msgspec

from mooring import log
from mooring.client.contract import Change, ChangeType, T
from mooring.client.decoding import UNREADABLE, Reader
from mooring.client.lost import FAILURES, lost
from mooring.client.refusals import refusal
from mooring.errors import ConnectionLost, ServerError

MOST_LINE_BYTES = 64 << 20  # of one change; etcd takes objects of 1.5 MB
_log = log.get("mooring.client")


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


_lines = msgspec.json.Decoder(_Line)
_TYPES = {each.value: each for each in ChangeType if each is not ChangeType.UNREADABLE}


class Changes(Generic[T]):
    """The changes in a watch response, until the server ends it."""

    def __init__(self, response: aiohttp.ClientResponse, reader: Reader[T], server: str) -> None:
        self._content = response.content
        self._reader = reader
        self._server = server
        self._lines: deque[bytes] = deque()
        self._rest: list[bytes] = []  # pieces of an incomplete line
        self._held = 0  # its size in bytes, approximately

    def __aiter__(self) -> "Changes[T]":
        return self

    async def __anext__(self) -> Change[T]:
        while not self._lines:
            await self._receive()
        return self._change(self._lines.popleft())

    async def _receive(self) -> None:
        try:
            data = await self._content.readany()
        except aiohttp.SocketTimeoutError as error:
            if self._rest:
                raise lost(self._server, error) from error
            # Not even a bookmark: the server, or a proxy in between, has lost this watch. A new
            # watch costs little, and fails if the server is gone.
            _log.info("a watch without a word begins anew", server=self._server)
            raise StopAsyncIteration from None
        except FAILURES as error:
            raise lost(self._server, error) from error
        if not data:
            if self._rest:
                raise ConnectionLost(f"{self._server} ended a watch in the middle of a change")
            raise StopAsyncIteration
        first, *others = data.split(b"\n")
        self._rest.append(first)
        self._held = len(data) if others else self._held + len(data)
        if self._held > MOST_LINE_BYTES:
            raise ServerError(f"{self._server} sent a change of more than {MOST_LINE_BYTES} bytes")
        if others:
            whole = (b"".join(self._rest), *others[:-1])
            self._lines.extend(line for line in whole if line)
            self._rest = [others[-1]] if others[-1] else []

    def _change(self, text: bytes) -> Change[T]:
        try:
            line = _lines.decode(text)
        except UNREADABLE as error:
            raise ServerError(
                f"{self._server} sent a change that cannot be read: {error}"
            ) from error
        if line.type == "ERROR":
            raise refusal(500, line.object)
        known = _TYPES.get(line.type)
        if known is None:
            raise ServerError(f"{self._server} sent a change of the unknown type {line.type!r}")
        if known is ChangeType.BOOKMARK:
            change = Change(known, self._reader.read_bookmark(line.object))
        else:
            change = self._reader.read_change(known, line.object)
        if not change.object.metadata.resource_version:
            raise ServerError(f"{self._server} sent a change without a version")
        return change


def close_watch(response: aiohttp.ClientResponse) -> None:
    """Close the connection of a watch at once, without a TLS shutdown, which would outlive the
    watch. Closing is the only way to end a watch from the client's side."""
    if transport := _transport(response):
        transport.abort()
    response.close()


def _transport(response: aiohttp.ClientResponse) -> asyncio.Transport | None:
    return response.connection.transport if response.connection else None
