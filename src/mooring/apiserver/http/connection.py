"""One client connection: parse requests, call the handler, send answers in order.

Requests on a connection are served one at a time, by one task that stays with the connection from
its first request on: a task for each would cost more than parsing the request does. While one is
being served, further bytes wait in the kernel: reading is paused, so a client cannot fill our
memory by pipelining.
"""

import asyncio
from collections import deque
from typing import cast

import httptools

from mooring import log
from mooring.apiserver.http import error_responses
from mooring.apiserver.http.limits import (
    MOST_DISCARDED,
    MOST_HEADER_BYTES,
    MOST_PIECES,
    MOST_URL,
    RETAINED,
)
from mooring.apiserver.http.outgoing import Outgoing
from mooring.apiserver.http.owner import Owner
from mooring.apiserver.http.receiving import Keep, Receiving
from mooring.apiserver.limits.budgets import HIGH_WATER
from mooring.apiserver.request.message import Answer, Response, Stream

LOG = log.get("mooring.http")

SHORT_PATIENCE = 1.0  # seconds for which a client that was refused may go on sending

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_NOBODYS = httptools.HttpRequestParser(None)


class Connection(asyncio.Protocol):
    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._queue: deque[tuple[Receiving, str, bool]] = deque()
        self._receiving = Receiving()
        self._busy = False
        self._arrival: asyncio.Future[None] | None = None  # what its task waits for between two
        self._is_deaf = False  # nothing that comes in matters any more
        self._is_early = False  # its last request is answered before all of it has come
        self._patience: asyncio.TimerHandle | None = None
        self._last_words = b""  # sent when all requests are answered; then the connection closes
        self._completed = 0  # requests
        self._out: Outgoing | None = None  # stays when the transport goes
        self._early: bytearray | None = None  # came behind a request for another protocol
        self.caller = ""  # the first authenticated user; empty: a stranger
        self._shown: tuple[str, str] = ("", "")  # the last good header, and whose it is
        self._idle_since = owner.seconds()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            asyncio.Transport, transport
        )  # uvloop's TLS transport is no subclass
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        self._out = Outgoing(self._transport, self._owner)
        self._idle_since = self._owner.seconds()
        self._owner.joined(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.left(self)
        self._transport = None
        # The two hold each other, and up to 64 KiB of a head that never ended: garbage that the
        # collector, which comes seldom, would leave in memory.
        self._parser = _NOBODYS
        if self._patience is not None:
            self._patience.cancel()
        for receiving in (self._receiving, *(queued for queued, _, _ in self._queue)):
            receiving.release(self._owner.bodies)
        self._queue.clear()
        self._wake()
        if self._out is not None:
            self._out.lost()

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            self._overhear(data)
            return
        mark = (self._completed, self._receiving.received)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._is_deaf = True  # of HTTP, this request is the last one
            self._early = bytearray(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(error_responses.BAD_REQUEST)
        receiving = self._receiving
        if mark == (self._completed, receiving.received):  # all of it head: the parser keeps that
            receiving.head_bytes += len(data)
            if receiving.head_bytes > MOST_HEADER_BYTES:
                self._refuse(error_responses.HEADERS_TOO_LARGE)

    def pause_writing(self) -> None:
        if self._out is not None:
            unsent = self._out.full()
            if self._transport is not None:
                self._owner.held_up(self, unsent)
            self._out.hold_back()

    def resume_writing(self) -> None:
        self._owner.drained(self)
        if self._out is not None:
            self._out.free()

    # httptools callbacks

    def on_message_begin(self) -> None:
        self._receiving.began = self._owner.seconds()

    def on_url(self, url: bytes) -> None:
        receiving = self._receiving
        receiving.url += url
        receiving.header_bytes += len(url)
        if len(receiving.url) > MOST_URL:
            self._refuse(error_responses.URL_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        receiving = self._receiving
        if receiving.in_body:  # trailers are ignored
            receiving.header_bytes += len(name) + len(value)
            self._check_header()
        else:
            receiving.header(name, value)

    def on_headers_complete(self) -> None:
        receiving = self._receiving
        receiving.end_head()
        self._check_header()
        headers = receiving.headers
        is_ambiguous = "\n" in headers.get("host", "")  # two: RFC 9112, 3.2
        if is_ambiguous or self._parser.get_http_version() not in ("1.1", "1.0"):
            self._refuse(error_responses.BAD_REQUEST)
            return
        receiving.caller = self._caller(headers.get("authorization"))
        if not receiving.caller:
            receiving.keep = Keep.NOTHING
        if "expect" in headers and headers["expect"].lower() == "100-continue" and self.idle:
            # Not while an earlier request is being answered: the two would get mixed up.
            if receiving.keep is Keep.ALL:
                self._write(_CONTINUE)
            elif not self._is_deaf:  # it can be answered without its body, which may not come
                self._answer_early()

    def on_body(self, body: bytes) -> None:
        receiving = self._receiving
        if self._is_deaf:
            return
        receiving.piece(body, self._owner.bodies)
        if receiving.pieces > MOST_PIECES:
            self._refuse(error_responses.TOO_LARGE)
        if receiving.received <= RETAINED or self._is_deaf:
            return
        if receiving.keep in (Keep.NOTHING, Keep.CROWDED):  # what more there is changes nothing
            self._answer_early()
        elif receiving.received > MOST_DISCARDED:
            self._refuse(error_responses.TOO_LARGE)

    def _answer_early(self) -> None:
        """Serve the request without the rest of its body; it is the last one then."""
        self._take(keep_alive=False)
        self._is_deaf = self._is_early = True

    def on_message_complete(self) -> None:
        if self._is_deaf:
            return
        parser = self._parser
        keep_alive = parser.should_keep_alive() and not parser.should_upgrade()
        if keep_alive and self._receiving.received > RETAINED:
            keep_alive = self._owner.may_stay_large(self)
        self._take(keep_alive=keep_alive)

    def _take(self, *, keep_alive: bool) -> None:
        """The request is whole: have it served in its turn."""
        method = self._parser.get_method().decode("latin-1")
        self._queue.append((self._receiving, method, keep_alive))
        self._completed += 1
        self._receiving = Receiving()
        if self._busy:
            if self._transport:
                self._transport.pause_reading()
            return
        self._busy = True
        if self._arrival is None:
            self._owner.spawn(self._serve())
        else:
            self._wake()

    def _caller(self, authorization: str | None) -> str:
        """The user of a request; the first authenticated one owns the connection."""
        if authorization is None:
            return ""
        shown, caller = self._shown
        if authorization == shown:
            return caller
        caller = self._owner.find_caller(authorization)
        if caller:
            self._shown = (authorization, caller)
            if not self.caller:
                self.caller = caller
                if not self._owner.recognized(self):
                    self._refuse(error_responses.TOO_MANY_CONNECTIONS)
        return caller

    # serving

    @property
    def idle(self) -> bool:
        return not self._busy

    @property
    def has_nothing_to_say(self) -> bool:
        transport = self._transport
        return self.idle or (
            transport is not None
            and transport.is_closing()
            and not transport.get_write_buffer_size()
        )

    def is_overdue(self, now: float) -> bool:
        """Whether the client has taken too long: to ask, to go on asking, or to read."""
        limits = self._owner.limits
        late = None if self._out is None else self._out.is_overdue(now)
        if late is not None:
            return late
        if self._busy:
            return False
        began = self._receiving.began
        if began is None:
            return now - self._idle_since > (limits.idle if self.caller else limits.stranger)
        return now - began > (limits.request if self._receiving.in_body else limits.head)

    def abort(self) -> None:
        if self._transport:
            self._transport.abort()

    def finish(self) -> None:
        """Close as soon as what is under way has been answered; streams and tunnels end now."""
        if self._out is not None and self._out.finish():
            return
        if self.idle and self._transport:
            self._transport.close()

    def _check_header(self) -> None:
        if self._receiving.header_bytes > MOST_HEADER_BYTES:
            self._refuse(error_responses.HEADERS_TOO_LARGE)

    def _refuse(self, answer: bytes) -> None:
        """Say what is wrong, behind the answers to what was right, and close."""
        if self._is_deaf:
            return
        self._is_deaf = True
        self._receiving.release(self._owner.bodies)
        self._last_words = answer
        if self.idle:
            self._close()

    def _close(self) -> None:
        if self._last_words:
            self._write(self._last_words)
        if self._transport:
            self._transport.close()
            self._patience = asyncio.get_running_loop().call_later(SHORT_PATIENCE, self.abort)

    def _write(self, data: bytes) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(data)

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    async def _serve(self) -> None:
        """Answer requests until the connection ends."""
        try:
            while await self._answer_all():
                self._arrival = asyncio.get_running_loop().create_future()
                await self._arrival
        except Exception:  # a bug met by one client must not end the server for all
            LOG.exception("connection failed")
            self.abort()

    async def _answer_all(self) -> bool:
        """Answer what has come; whether there may be more."""
        while self._queue:
            receiving, method, keep_alive = self._queue.popleft()
            try:
                answer = await self._owner.handler(receiving.request(method))
            finally:
                receiving.release(self._owner.bodies)
            keep_alive = keep_alive and not self._owner.draining
            keep_alive = await self._send(answer, method, keep_alive=keep_alive)
            if self._transport is None:
                return False
            if not keep_alive:
                if self._is_early:
                    self._close()
                else:
                    self._transport.close()
                return False
            if not self._queue:
                self._transport.resume_reading()
        self._busy = False
        self._idle_since = self._owner.seconds()
        if not self.caller:
            self._owner.seen(self)
        if self._is_deaf:
            self._close()
        return self._transport is not None and not self._is_deaf

    async def _send(self, answer: Answer, method: str, *, keep_alive: bool) -> bool:
        """Whether another may follow it."""
        out = self._out
        if out is None:  # never: it is made with the connection
            return False
        if isinstance(answer, Response):
            if self._transport is None:
                return False
            can_chunk, head_only = self._parser.get_http_version() == "1.1", method == "HEAD"
            return await out.send(
                answer, keep_alive=keep_alive, head_only=head_only, can_chunk=can_chunk
            )
        if isinstance(answer, Stream):
            await out.send_stream(answer)
        else:
            early, self._early = self._early, None
            await out.hand_over(answer, early)
        return False

    def _overhear(self, data: bytes) -> None:
        """Bytes that are not HTTP: a tunnel's, or kept until there is one."""
        tunnel = None if self._out is None else self._out.tunnel
        if tunnel is not None:
            tunnel.received(data)
        elif self._early is not None:
            self._early += data
            if len(self._early) > HIGH_WATER and self._transport is not None:
                self._transport.pause_reading()
