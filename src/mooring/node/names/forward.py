"""Questions that others answer: the servers of the host's resolver, asked one after the other."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from random import Random
from typing import cast

from mooring.clock import Clock
from mooring.host.blocking import in_thread

Address = tuple[str, int]

DNS_PORT = 53
MOST_SERVERS = 3
ASK_SECONDS = 2.0  # one server, once
ROUNDS = 2
FRESH_SECONDS = 5.0  # the host's file is looked at so often
MOST_FILE_BYTES = 65536
_IS_ANSWER = 0x80
_HEADER_BYTES = 12

FindServers = Callable[[], Awaitable[Sequence[Address]]]


class HostServers:
    """The servers in the host's resolv.conf, without this one: it would ask itself for ever."""

    def __init__(self, path: Path, own: str, clock: Clock) -> None:
        self._path = path
        self._own = own
        self._clock = clock
        self._found: Sequence[Address] = ()
        self._until = -1.0

    async def find(self) -> Sequence[Address]:
        now = self._clock.monotonic()
        if now >= self._until:
            text = await in_thread(_read, self._path)
            self._found = tuple(_servers(text, self._own))[:MOST_SERVERS]
            self._until = now + FRESH_SECONDS
        return self._found


class Forwarder:
    def __init__(self, servers: FindServers, rng: Random) -> None:
        self._servers = servers
        self._rng = rng

    async def ask(self, question: bytes, *, by_stream: bool) -> bytes | None:
        """The answer as it came, under the number of the question; None: nobody answers."""
        sent = self._rng.getrandbits(16).to_bytes(2, "big") + question[2:]
        for _ in range(ROUNDS):
            for server in await self._servers():
                with suppress(OSError, asyncio.TimeoutError, asyncio.IncompleteReadError):
                    async with asyncio.timeout(ASK_SECONDS):
                        ask = _ask_stream if by_stream else _ask_datagram
                        answer = await ask(server, sent)
                    return question[:2] + answer[2:]
        return None


async def _ask_datagram(server: Address, question: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[bytes] = loop.create_future()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Asking(question, arrived), remote_addr=server
    )
    try:
        return await arrived
    finally:
        transport.close()


class _Asking(asyncio.DatagramProtocol):
    """Waits for the answer to one question; what is none is not looked at."""

    def __init__(self, question: bytes, arrived: asyncio.Future[bytes]) -> None:
        self._question = question
        self._arrived = arrived

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.DatagramTransport, transport).sendto(self._question)

    def datagram_received(self, data: bytes, _: object) -> None:
        if is_answer_to(self._question, data) and not self._arrived.done():
            self._arrived.set_result(data)

    def error_received(self, error: Exception) -> None:
        if not self._arrived.done():
            self._arrived.set_exception(error)


async def _ask_stream(server: Address, question: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*server)
    try:
        writer.write(len(question).to_bytes(2, "big") + question)
        await writer.drain()
        length = int.from_bytes(await reader.readexactly(2), "big")
        answer = await reader.readexactly(length)
    finally:
        writer.close()
    if not is_answer_to(question, answer):
        raise OSError("no answer to this question")
    return answer


def is_answer_to(question: bytes, data: bytes) -> bool:
    return len(data) >= _HEADER_BYTES and data[:2] == question[:2] and bool(data[2] & _IS_ANSWER)


def _servers(text: str, own: str) -> Iterator[Address]:
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["nameserver"] and len(words) > 1 and words[1] != own:
            with suppress(ValueError):
                ip_address(words[1].partition("%")[0])
                yield words[1], DNS_PORT


def _read(path: Path) -> str:
    with suppress(OSError), path.open(errors="replace") as file:
        return file.read(MOST_FILE_BYTES)
    return ""
