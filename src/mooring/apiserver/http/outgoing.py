"""The sending half of a connection: one answer at a time, no faster than the client reads.

An answer ends, or is a stream, or hands the connection over to another protocol.
"""

import asyncio

from mooring.apiserver.http.heads import head_of
from mooring.apiserver.http.owner import Owner
from mooring.apiserver.http.sending import Sending
from mooring.apiserver.http.writers import ChunkedWriter, TunnelOutlet
from mooring.apiserver.request.message import Response, Stream, Tunnel, Upgrade


class Outgoing:
    """Made with its transport; `lost` is called when that is gone."""

    def __init__(self, transport: asyncio.Transport, owner: Owner) -> None:
        self._transport = transport
        self._owner = owner
        self._is_lost = False
        self._writable = asyncio.Event()
        self._writable.set()
        self._sending: Sending | None = None
        self._stream: ChunkedWriter | None = None
        self._outlet: TunnelOutlet | None = None
        self.tunnel: Tunnel | None = None  # the handler of an upgraded connection
        self._behind = 0  # bytes held elsewhere for a client that does not read
        self._answer_by: float | None = None  # when the answer under way must have been taken
        self._stuck_since: float | None = None  # the client does not read

    # what happens to the connection

    def full(self) -> int:
        """The client does not read; how many bytes wait for it, here and elsewhere."""
        self._writable.clear()
        self._stuck_since = self._owner.seconds()
        unsent = self._transport.get_write_buffer_size() + self._behind
        for end in (self._stream, self._sending):
            unsent += 0 if end is None else end.unsent
        return unsent

    def hold_back(self) -> None:
        if self.tunnel is not None:
            self.tunnel.on_full()

    def free(self) -> None:
        """The client reads again."""
        self._writable.set()
        self._stuck_since = None
        if self.tunnel is not None:
            self.tunnel.on_ready()
        if self._stream is not None:
            self._stream.on_writable()

    def lost(self) -> None:
        self._is_lost = True
        self._writable.set()
        if self._sending is not None:
            self._sending.is_open = False
        if self._stream is not None:
            self._stream.cut()
        if self._outlet is not None:
            self._outlet.close()

    def finish(self) -> bool:
        """End a stream or a tunnel; whether there is one."""
        if self._stream is not None:
            self._stream.end()
        elif self._outlet is not None:
            self._outlet.close()
        else:
            return False
        return True

    def is_overdue(self, now: float) -> bool | None:
        """Whether the client takes too long to read; None: there is no answer that it has to."""
        if self._answer_by is None:
            return None
        since, stuck = self._stuck_since, self._owner.limits.stuck
        return now > self._answer_by or (since is not None and now - since > stuck)

    # answers

    async def send(
        self, answer: Response, *, keep_alive: bool, head_only: bool, can_chunk: bool
    ) -> bool:
        """Send an answer that ends; whether another may follow it."""
        if self._is_lost:
            return False
        if not can_chunk and not isinstance(answer.body, bytes):
            keep_alive = False
        sending = Sending(self._transport, self._writable)
        rest = sending.begin(
            answer,
            self._owner.date(),
            keep_alive=keep_alive,
            head_only=head_only,
            can_chunk=can_chunk,
        )
        if rest is None and self._writable.is_set():
            return keep_alive
        limits = self._owner.limits
        length = getattr(rest, "length", 0)
        self._answer_by = self._owner.seconds() + limits.stuck + length / limits.slowest
        self._sending = sending
        is_whole = await sending.finish(rest, can_chunk=can_chunk)
        self._sending = self._answer_by = None
        return keep_alive and is_whole

    async def send_stream(self, answer: Stream) -> None:
        if self._is_lost:
            answer.source.on_closed()
            return
        head = head_of(
            answer.status,
            answer.content_type,
            answer.headers,
            self._owner.date(),
            False,  # noqa: FBT003  a stream is the last thing on its connection, and says so
        )
        self._transport.write(head + b"Transfer-Encoding: chunked\r\n\r\n")
        writer = ChunkedWriter(self._transport, self._writable, answer, self._owner.turns)
        self._stream = writer
        self._behind = answer.behind
        answer.source.start(writer)
        await writer.ended.wait()
        self._stream = None
        answer.source.on_closed()

    async def hand_over(self, answer: Upgrade, early: bytearray | None) -> None:
        """Let the tunnel have the connection, until it closes it or the client is gone.

        `early` came behind the request; None: it did not ask for another protocol.
        """
        tunnel = answer.tunnel
        if self._is_lost or early is None:
            tunnel.on_closed()
            return
        self._transport.write(answer.head)
        self._outlet = outlet = TunnelOutlet(self._transport)
        self.tunnel = tunnel
        self._behind = answer.behind
        self._transport.resume_reading()
        tunnel.start(outlet)
        if early:
            tunnel.received(bytes(early))
        if not self._writable.is_set():
            tunnel.on_full()
        await outlet.ended.wait()
        self.tunnel = self._outlet = None
        tunnel.on_closed()
