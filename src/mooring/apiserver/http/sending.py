"""Sends one answer that ends: at once if it is short, else no faster than the client reads."""

import asyncio
from collections.abc import AsyncIterator

from mooring.apiserver.http.heads import head_of
from mooring.apiserver.http.limits import SLICE
from mooring.apiserver.limits.budgets import HIGH_WATER
from mooring.apiserver.limits.turns import round_trip
from mooring.apiserver.request.message import Joined, Response

BETWEEN = 1 << 18  # bytes sent to one client before others have their turn

Blocks = Joined | AsyncIterator[bytes] | bytes | None


class Sending:
    """One answer on its way out.

    `length` is known but for what is made while it is sent. `is_open` becomes false when the client
    is gone: nothing is made for it any more.
    """

    def __init__(self, transport: asyncio.Transport, writable: asyncio.Event) -> None:
        self._transport = transport
        self._writable = writable
        self.is_open = True
        self.unsent = 0  # bytes of the block at hand that are not sent, or about to be
        self._sent = 0  # since others had their turn

    def begin(
        self,
        answer: Response,
        date: str,
        *,
        keep_alive: bool,
        head_only: bool,
        can_chunk: bool,
    ) -> Blocks:
        """Send the head and what fits with it; what is left is for `finish`."""
        body, status = answer.body, answer.status
        first = head_of(status, answer.content_type, answer.headers, date, keep_alive)
        rest: Blocks = None
        if isinstance(body, bytes | Joined):
            length = len(body) if isinstance(body, bytes) else body.length
            first += b"\r\n" if status in (204, 304) else b"Content-Length: %d\r\n\r\n" % length
            if head_only or not length:
                rest = None
            elif isinstance(body, bytes) and length < HIGH_WATER:
                first += body
            else:
                rest = body
        else:
            # To a client of HTTP/1.0 the end of the connection is the end of the answer.
            first += b"Transfer-Encoding: chunked\r\n\r\n" if can_chunk else b"\r\n"
            rest = None if head_only else body
        self._transport.write(first)
        return rest

    async def finish(self, rest: Blocks, *, can_chunk: bool) -> bool:
        """Send what is left, as it is read; whether all of it was sent."""
        await self._writable.wait()
        if isinstance(rest, AsyncIterator):
            return await self._send_made(rest, can_chunk=can_chunk)
        blocks = (rest,) if isinstance(rest, bytes) else rest or ()
        for block in blocks:
            await self._send(block)
            if not self.is_open:
                return False
        return self.is_open

    async def _send(self, block: bytes) -> None:
        """All of it, a slice at a time: what the client does not read is not even copied."""
        whole = memoryview(block)
        for start in range(0, len(block), SLICE):
            if not self.is_open:
                return
            self.unsent = len(block) - start - SLICE
            self._transport.write(whole[start : start + SLICE])
            self._sent += SLICE
            await self._writable.wait()
            if self._sent >= BETWEEN:
                self._sent = 0
                await round_trip()

    async def _send_made(self, blocks: AsyncIterator[bytes], *, can_chunk: bool) -> bool:
        async for block in blocks:  # which lets others have their turn itself
            if not self.is_open:
                return False
            if can_chunk:
                self._transport.write(b"%x\r\n" % len(block))
            await self._send(block)
            if can_chunk and self.is_open:
                self._transport.write(b"\r\n")
        if can_chunk and self.is_open:
            self._transport.write(b"0\r\n\r\n")
        return self.is_open
