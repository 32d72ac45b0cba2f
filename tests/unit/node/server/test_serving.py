"""The life of the server: its port, its certificate, and how it stops."""

import asyncio
import hashlib
import socket
import ssl
from pathlib import Path

import aiohttp
import pytest

from mooring.clock import RealClock
from mooring.errors import UsageError
from mooring.node.server.access import Access
from mooring.node.server.certificate import make_certificate, serving_tls
from mooring.node.server.serving import NodeServer, ServingOptions
from tests.fakes.waiting import until
from tests.unit.node.server.running import HOST, Book, Node, authority, client_of


def a_server(port: int) -> NodeServer:
    node, book = Node(Path("/nowhere")), Book()
    options = ServingOptions(
        HOST, port, make_certificate("n1", [], RealClock().now()), authority().pem
    )
    return NodeServer(
        node.containers, node.pods.get, Access(book, book, node.clock), node.clock, options
    )


async def test_the_certificate_that_is_shown_has_the_fingerprint(node: Node) -> None:
    _, writer = await asyncio.open_connection(HOST, node.server.port, ssl=node.tls())
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    assert hashlib.sha256(shown).hexdigest() == node.server.fingerprint
    writer.transport.abort()


async def test_no_key_is_printed() -> None:
    certificate = make_certificate("n1", ["::1", "n1.example.com"], RealClock().now())
    assert "PRIVATE" not in repr(certificate)
    assert b"PRIVATE" in certificate.pem.reveal()


def test_an_authority_that_is_none_is_named() -> None:
    certificate = make_certificate("n1", [], RealClock().now())
    with pytest.raises(UsageError, match="certificate-authority"):
        serving_tls(certificate, b"no PEM")
    assert serving_tls(certificate, b"").verify_mode is ssl.CERT_NONE


async def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server((HOST, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} on {HOST} is taken by another program"):
            a_server(port).listen()


async def test_stopping_ends_what_is_under_way(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.running(), client_of(node) as http:
        await node.run_container()
        node.containers.answer(["sleep"], lambda _: None)
        path = "/exec/team/web/main?command=sleep&output=1"
        talk = await http.ws_connect(path, protocols=("v5.channel.k8s.io",))
        log = await http.get("/containerLogs/team/web/main?follow=true")
        await until(lambda: bool(node.containers.sessions))
        tasks = asyncio.all_tasks()
        (serving,) = (task for task in tasks if "NodeServer.run" in repr(task))
        serving.cancel()
        await asyncio.wait([serving])
        assert node.session.is_closed
        async with asyncio.timeout(10):
            await talk.receive()  # the greeting
            assert (await talk.receive()).type is not aiohttp.WSMsgType.BINARY
            with pytest.raises(aiohttp.ClientPayloadError):  # not to be taken for the whole log
                await log.read()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(HOST, node.server.port)
