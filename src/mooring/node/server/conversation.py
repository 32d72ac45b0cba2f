"""A client and a process talk until one of them leaves: what exec and attach have in common."""

import asyncio
from typing import Protocol

from mooring.clock import Clock
from mooring.node.server.outcome import Outcome
from mooring.oci.contract import Session

PROBED_EVERY = 30.0  # seconds


class StreamClient(Protocol):
    """The client that talks to a process, by WebSocket or by SPDY.

    All but `listen` raise ConnectionError when the client has left.
    """

    async def listen(self, session: Session) -> None:
        """Pass on what the client says, until it leaves.

        A process that does not read makes the client wait.
        """
        ...

    async def tell(self, stream: int, data: bytes) -> None:
        """What came out of the process; a stream that the client did not ask for is dropped."""
        ...

    async def probe(self) -> None:
        """Say nothing in particular: a client that left without a word is found out."""
        ...

    async def finish(self, outcome: Outcome) -> None: ...


async def talk(client: StreamClient, session: Session, clock: Clock) -> int | None:
    """Let them talk, and let go of the process. Its exit code; None when the client left first."""
    try:
        return await _converse(client, session, clock)
    finally:
        await session.close()


async def _converse(client: StreamClient, session: Session, clock: Clock) -> int | None:
    listening = asyncio.create_task(client.listen(session))
    speaking = asyncio.create_task(_speak(client, session))
    probing = asyncio.create_task(_probe(client, clock))
    tasks: tuple[asyncio.Task[int] | asyncio.Task[None], ...] = (listening, speaking, probing)
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return speaking.result() if speaking in done else None
    except ConnectionError:
        return None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _speak(client: StreamClient, session: Session) -> int:
    async for stream, data in session.output():
        await client.tell(stream, data)
    return await session.wait()


async def _probe(client: StreamClient, clock: Clock) -> None:
    """Ping the client: while the process does not read its input, the client is not read either,
    so a lost connection would go unnoticed."""
    while True:
        await clock.sleep(PROBED_EVERY)
        await client.probe()
