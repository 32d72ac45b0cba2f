"""The sockets of the DNS server: datagrams and streams at one address, each within its budget.

Whatever arrives, it goes on: a question that meets a bug is set aside, and not answered.
"""

import asyncio
import socket
from collections.abc import Awaitable
from typing import Protocol, cast

from mooring.errors import HostError
from mooring.node.names.forward import Address
from mooring.reconcile.poison import set_aside

MOST_QUESTION = 4096  # bytes
MOST_AT_ONCE = 256  # questions; a datagram beyond is dropped, and clients ask again
MOST_STREAMS = 64
MOST_PER_STREAM = 128  # questions
ANSWER_SECONDS = 15.0
IDLE_SECONDS = 10.0  # of a stream
_BACKLOG = 64
_LOOP = "cluster DNS"


class Answers(Protocol):
    def answer(self, data: bytes, *, by_stream: bool) -> Awaitable[bytes | None]: ...


class DnsServer:
    """`bind`, then `run`, which may be run again after it has failed."""

    def __init__(self, host: str, port: int) -> None:
        self.address: Address = (host, port)  # with the port that was picked, after `bind`
        self._sockets: tuple[socket.socket, socket.socket] | None = None
        self._at_once = 0
        self._streams = 0

    def bind(self) -> None:
        """Raises: OSError."""
        host, port = self.address
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        streams = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        try:
            datagrams = socket.socket(family, socket.SOCK_DGRAM)
            try:
                datagrams.bind(streams.getsockname()[:2])
                datagrams.setblocking(False)  # noqa: FBT003  there is no other way to say it
                streams.setblocking(False)  # noqa: FBT003
            except OSError:
                datagrams.close()
                raise
        except OSError:
            streams.close()
            raise
        self.address = streams.getsockname()[:2]
        self._sockets = streams, datagrams

    def close(self) -> None:
        for each in self._sockets or ():
            each.close()
        self._sockets = None

    async def run(self, answers: Answers) -> None:
        """Answer until cancelled; nothing is left open then. Raises: HostError."""
        try:
            if self._sockets is None:
                self.bind()
            await self._serve(answers)
        except OSError as error:
            host, port = self.address
            raise HostError(f"serve DNS at {host}:{port}: {error.strerror}") from error
        finally:
            self.close()

    async def _serve(self, answers: Answers) -> None:
        if self._sockets is None:
            return
        streams, datagrams = self._sockets
        async with asyncio.TaskGroup() as tasks:
            receiving, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: _Datagrams(self, answers, tasks), sock=datagrams
            )

            def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                tasks.create_task(self._converse(answers, reader, writer))

            listening = await asyncio.start_server(connected, sock=streams, limit=MOST_QUESTION)
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                receiving.close()
                listening.close()

    def has_room(self) -> bool:
        return self._at_once < MOST_AT_ONCE

    async def answer(self, answers: Answers, data: bytes, *, by_stream: bool) -> bytes | None:
        self._at_once += 1
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await answers.answer(data, by_stream=by_stream)
        except TimeoutError:
            return None
        except Exception:  # noqa: BLE001  one question must not end the answers to all others
            set_aside(_LOOP, data[:2].hex())
            return None
        finally:
            self._at_once -= 1

    async def _converse(
        self, answers: Answers, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._streams += 1
        try:
            if self._streams <= MOST_STREAMS:
                for _ in range(MOST_PER_STREAM):
                    if not await self._exchange(answers, reader, writer):
                        return
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            return
        finally:
            self._streams -= 1
            writer.close()

    async def _exchange(
        self, answers: Answers, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """One question; whether there may be another."""
        async with asyncio.timeout(IDLE_SECONDS):
            length = int.from_bytes(await reader.readexactly(2), "big")
            if length > MOST_QUESTION:
                return False
            data = await reader.readexactly(length)
        if not self.has_room():
            return False
        answer = await self.answer(answers, data, by_stream=True)
        if answer is None:
            return False
        async with asyncio.timeout(IDLE_SECONDS):
            writer.write(len(answer).to_bytes(2, "big") + answer)
            await writer.drain()
        return True


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: DnsServer, answers: Answers, tasks: asyncio.TaskGroup) -> None:
        self._server = server
        self._answers = answers
        self._tasks = tasks
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)  # not always by its class

    def datagram_received(self, data: bytes, address: Address) -> None:
        if len(data) <= MOST_QUESTION and self._server.has_room():
            self._tasks.create_task(self._answer(data, address))

    def error_received(self, error: Exception) -> None:
        """A client that is gone already."""

    async def _answer(self, data: bytes, address: Address) -> None:
        answer = await self._server.answer(self._answers, data, by_stream=False)
        if answer is not None and self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(answer, address)
