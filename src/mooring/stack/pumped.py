"""An asynchronous iterator as the source of a stream of the API server."""

import asyncio
from collections.abc import AsyncGenerator

from mooring.apiserver.request.message import Writer


class Pumped:
    """A `StreamSource`. Its task lives from `start` to `on_closed`."""

    def __init__(self, chunks: AsyncGenerator[bytes, None]) -> None:
        self._chunks = chunks
        self._may_write = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, writer: Writer) -> None:
        self._task = asyncio.create_task(self._pump(writer))

    def on_ready(self) -> None:
        self._may_write.set()

    def on_closed(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _pump(self, writer: Writer) -> None:
        try:
            async for chunk in self._chunks:
                while not writer.ready:
                    self._may_write.clear()
                    await self._may_write.wait()
                writer.write(chunk)
            writer.end()
        finally:
            await self._chunks.aclose()
