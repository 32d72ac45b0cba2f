"""Bodies of answers: handed on as they come, and refusals, read whole."""

import asyncio

from mooring.apiserver.node_proxy.answer import NodeAnswer
from mooring.apiserver.request.message import Writer

MOST_REFUSAL = 50_000  # bytes of what a node says that are read
LONGEST_REFUSAL = 10.0  # seconds that it may take


class BodySource:
    """Feeds a stream with a body, no faster than the client reads."""

    def __init__(self, node: NodeAnswer) -> None:
        self._node = node
        self._writer: Writer | None = None
        self._is_full = False  # the client does not read

    # the client's side

    def start(self, writer: Writer) -> None:
        self._writer = writer
        self._node.give_to(self)

    def on_ready(self) -> None:
        self._is_full = False
        self._node.resume()

    def on_closed(self) -> None:
        self._writer = None
        if self._is_full:  # to say goodbye in TLS, all that the node has sent had to be read
            self._node.abort()
        else:
            self._node.close()

    # the node's side

    def node_sent(self, data: bytes) -> None:
        if self._writer is None:
            return
        self._writer.write(data)
        if not self._writer.ready:
            self._is_full = True
            self._node.pause()

    def node_ended(self, *, whole: bool) -> None:
        if self._writer is None:
            return
        if whole:
            self._writer.end()
        else:
            self._writer.cut()

    def node_full(self) -> None:
        """A request is sent whole before its answer begins."""

    def node_free(self) -> None:
        """As above."""


class _Text:
    """Gathers the beginning of a body."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.ended = asyncio.Event()

    def node_sent(self, data: bytes) -> None:
        self.content += data
        if len(self.content) >= MOST_REFUSAL:
            self.ended.set()

    def node_ended(self, *, whole: bool) -> None:
        self.ended.set()

    def node_full(self) -> None:
        """Nothing is sent any more."""

    def node_free(self) -> None:
        """As above."""


async def read_refusal(node: NodeAnswer) -> bytes:
    """The first bytes of a refusal's body. After: the connection is closed."""
    text = _Text()
    try:
        node.give_to(text)
        async with asyncio.timeout(LONGEST_REFUSAL):
            await text.ended.wait()
    except TimeoutError:
        pass  # what came by then has to do
    finally:
        node.close()
    return bytes(text.content[:MOST_REFUSAL])
