"""Reading by plain GETs: bodies in chunks, refusals, pages, connections that the server closed."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mooring.client.contract import Scope
from mooring.client.endpoint import Endpoint
from mooring.errors import ConnectionLost, Forbidden
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.why.plain_reads import reads_from


class Server:
    """Answers every request with the next of `answers`; after one marked so it hangs up."""

    def __init__(self, *answers: tuple[int, dict[str, Any], bool]) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            hangs_up = False
            while self._answers and not hangs_up:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.asked.append(head.split(" ")[1])
                code, doc, hangs_up = self._answers.pop(0)
                body = json.dumps(doc).encode()
                writer.write(f"HTTP/1.1 {code} X\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
                for part in (body[:7], body[7:]):
                    writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[Endpoint]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield Endpoint(f"http://127.0.0.1:{port}/prefix")


def a_node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": "1"}}


async def test_an_object_comes_in_chunks() -> None:
    server = Server((200, a_node("n1"), False))
    async with serving(server) as endpoint, reads_from(endpoint) as reads:
        assert (await reads.get(Node, Key("", "n1"))).name == "n1"
    assert server.asked == ["/prefix/api/v1/nodes/n1"]


async def test_a_list_is_read_page_by_page() -> None:
    first = {"metadata": {"resourceVersion": "1", "continue": "more"}, "items": [a_node("n1")]}
    second = {"metadata": {"resourceVersion": "1"}, "items": [a_node("n2")]}
    server = Server((200, first, False), (200, second, False))
    async with serving(server) as endpoint, reads_from(endpoint) as reads:
        listing = await reads.list(Node, Scope(labels="a=b"))
    assert [node.name for node in listing.readable] == ["n1", "n2"]
    assert server.asked[1] == "/prefix/api/v1/nodes?labelSelector=a%3Db&limit=500&continue=more"


async def test_a_refusal_is_an_error_of_its_kind() -> None:
    status = {"kind": "Status", "reason": "Forbidden", "message": "you may not", "code": 403}
    server = Server((403, status, False))
    async with serving(server) as endpoint, reads_from(endpoint) as reads:
        with pytest.raises(Forbidden, match="you may not"):
            await reads.get(Claim, Key("shop", "data"))


async def test_a_kept_connection_that_was_closed_is_replaced() -> None:
    server = Server((200, a_node("n1"), True), (200, a_node("n2"), False))
    async with serving(server) as endpoint, reads_from(endpoint) as reads:
        await reads.get(Node, Key("", "n1"))
        assert (await reads.get(Node, Key("", "n2"))).name == "n2"


async def test_a_server_that_is_not_there_is_named() -> None:
    async with reads_from(Endpoint("http://127.0.0.1:1")) as reads:
        with pytest.raises(ConnectionLost, match=r"http://127\.0\.0\.1:1 cannot be reached"):
            await reads.get(Node, Key("", "n1"))
