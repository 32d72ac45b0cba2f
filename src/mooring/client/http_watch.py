"""Reading a watch over HTTP: lines of JSON, one change each."""

import asyncio
from collections import deque
from typing import Generic

import msgspec

from mooring import log
from mooring.client.connection import Answer
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


class Lines:
    """The lines of an answer without an end, as they arrive."""

    def __init__(
        self, answer: Answer, server: str, idle: float | None = None, lasts: float | None = None
    ) -> None:
        """It may be `idle` for so many seconds, and lasts no longer than `lasts`."""
        self._answer = answer
        self._server = server
        self._idle = idle
        self._end = None if lasts is None else asyncio.get_running_loop().time() + lasts
        self._rest: list[bytes] = []  # pieces of an incomplete line
        self._held = 0  # its size in bytes, approximately

    async def more(self) -> list[bytes]:
        """The next lines, empty ones left out; none at the end. Raises: ApiError, ConnectionLost"""
        while data := await self._receive():
            first, *others = data.split(b"\n")
            self._rest.append(first)
            self._held = len(data) if others else self._held + len(data)
            if self._held > MOST_LINE_BYTES:
                raise ServerError(
                    f"{self._server} sent a change of more than {MOST_LINE_BYTES} bytes"
                )
            if others:
                whole = [b"".join(self._rest), *others[:-1]]
                self._rest = [others[-1]] if others[-1] else []
                if lines := [line for line in whole if line]:
                    return lines
        if self._rest:
            raise ConnectionLost(f"{self._server} ended a watch in the middle of a change")
        return []

    async def _receive(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._give_up()):
                return await self._answer.some()
        except TimeoutError as error:
            if self._rest or self._is_late():
                raise lost(self._server, error) from error
            # Not even a bookmark: the server, or a proxy in between, has lost this watch. A new
            # watch costs little, and fails if the server is gone.
            _log.info("a watch without a word begins anew", server=self._server)
            return b""
        except FAILURES as error:
            raise lost(self._server, error) from error

    def _give_up(self) -> float | None:
        if self._idle is None:
            return self._end
        silent = asyncio.get_running_loop().time() + self._idle
        return silent if self._end is None else min(silent, self._end)

    def _is_late(self) -> bool:
        return self._end is not None and asyncio.get_running_loop().time() >= self._end


class Changes(Generic[T]):
    """The changes in a watch response, until the server ends it."""

    def __init__(self, lines: Lines, reader: Reader[T], server: str) -> None:
        self._more = lines.more
        self._reader = reader
        self._server = server
        self._lines: deque[bytes] = deque()

    def __aiter__(self) -> "Changes[T]":
        return self

    async def __anext__(self) -> Change[T]:
        if not self._lines:
            self._lines.extend(await self._more())
            if not self._lines:
                raise StopAsyncIteration
        return self._change(self._lines.popleft())

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
