"""A DNS server that plays the host's: it answers one name, and notes what it is asked."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

import dns.flags
import dns.message
import dns.rcode
import dns.rrset

Address = tuple[str, int]

OUTSIDE = "outside.example.com."
OUTSIDE_IP = "203.0.113.7"


class FakeUpstream(asyncio.DatagramProtocol):
    """`mangle` is given the answer before it is sent; what it returns is sent, if anything."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.mangle: Callable[[dns.message.Message], bytes | None] = lambda made: made.to_wire()
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: Address) -> None:
        answer = self.mangle(self.answer(data))
        if answer is not None and self._transport is not None:
            self._transport.sendto(answer, address)

    def answer(self, data: bytes) -> dns.message.Message:
        question = dns.message.from_wire(data)
        name = question.question[0].name.to_text().lower()
        self.asked.append(name)
        made = dns.message.make_response(question, recursion_available=True)
        if name == OUTSIDE and question.question[0].rdtype == 1:
            made.answer.append(dns.rrset.from_text(name, 60, "IN", "A", OUTSIDE_IP))
        elif name != OUTSIDE:
            made.set_rcode(dns.rcode.NXDOMAIN)
        return made

    async def serve_stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        length = int.from_bytes(await reader.readexactly(2), "big")
        answer = self.answer(await reader.readexactly(length)).to_wire()
        writer.write(len(answer).to_bytes(2, "big") + answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def running_upstream(
    host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[tuple[FakeUpstream, Address]]:
    loop = asyncio.get_running_loop()
    fake = FakeUpstream()
    streams = await asyncio.start_server(fake.serve_stream, host, port)
    address: Address = streams.sockets[0].getsockname()[:2]
    transport, _ = await loop.create_datagram_endpoint(lambda: fake, local_addr=address)
    try:
        yield fake, address
    finally:
        transport.close()
        streams.close()


def cut(made: dns.message.Message) -> bytes:
    """As one that does not fit into a datagram."""
    made.flags |= dns.flags.TC
    made.answer.clear()
    return made.to_wire()
