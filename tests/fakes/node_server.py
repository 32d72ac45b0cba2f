"""A node's server that is played: TLS with a certificate of its own, and one scripted answer.

Bytes are read and written as they are, so that a test can be as rude as a node or a network can.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.fakes.clock import settle

Doc = dict[str, Any]

SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"


class Asked(msgspec.Struct, frozen=True):
    """What the API server asked of the node."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: list[tuple[str, str]]  # names in lower case
    caller: dict[str, str]  # the subject of its certificate

    def header(self, name: str) -> list[str]:
        return [value for known, value in self.headers if known == name]


Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class FakeNode:
    """Plays `script` to everyone who asks; remembers what was asked."""

    def __init__(self, script: Script, fingerprint: str) -> None:
        self.script = script
        self.fingerprint = fingerprint
        self.asked: list[Asked] = []
        self.port = 0
        self.left = asyncio.Event()  # a caller is gone, as far as the script saw
        self.callers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.callers.append(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            certificate = writer.get_extra_info("ssl_object").getpeercert()
            self.asked.append(_asked(head, certificate))
            await self.script(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # a caller that hangs up is one of the things to be played
        finally:
            self.left.set()
            writer.close()

    def document(self, name: str, **annotations: str) -> Doc:
        """Its Node object."""
        told = {"mooring.dev/serving-certificate-sha256": self.fingerprint} | annotations
        return {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {"name": name, "annotations": told},
            "status": {
                "addresses": [
                    {"type": "Hostname", "address": "no-such-host.invalid"},
                    {"type": "InternalIP", "address": "127.0.0.1"},
                ],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
            },
        }


@asynccontextmanager
async def running_node(directory: Path, ca_file: Path, script: Script) -> AsyncIterator[FakeNode]:
    """A node that lets in only whom the authority in `ca_file` vouches for."""
    file, certificate = self_signed(directory)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(file)
    tls.load_verify_locations(ca_file)
    tls.verify_mode = ssl.CERT_REQUIRED
    node = FakeNode(script, sha256(certificate.public_bytes(Encoding.DER)).hexdigest())
    server = await asyncio.start_server(node.serve, "127.0.0.1", 0, ssl=tls)
    node.port = server.sockets[0].getsockname()[1]
    try:
        yield node
    finally:
        server.close()
        for caller in node.callers:
            caller.transport.abort()
            with suppress(OSError):
                await caller.wait_closed()


def self_signed(directory: Path) -> tuple[Path, x509.Certificate]:
    """A file with a key and its certificate."""
    certificate, key = _self_signed()
    file = directory / "node.pem"
    file.write_bytes(certificate.public_bytes(Encoding.PEM) + key)
    return file, certificate


def saying(answer: bytes) -> Script:
    """The node answers this, and hangs up."""

    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return script


def flooding(head: bytes, sent: Callable[[int], object] = lambda _: None) -> Script:
    """The node says `head` and then zeros, as fast as they are taken, until the caller is gone."""
    zeros = bytes(1 << 16)

    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(zeros)
            await writer.drain()
            sent(len(zeros))
            # Of a connection that broke TLS hears in the next round of the loop, and until then
            # neither `write` nor `drain` says so, or waits.
            await settle(1)

    return script


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The node agrees to another protocol, in which it repeats what it hears."""
    writer.write(SWITCHED)
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


def _asked(head: str, certificate: Any) -> Asked:
    line, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = line.split(" ")
    path, _, query = target.partition("?")
    pairs = (header.partition(":") for header in lines)
    return Asked(
        method,
        path,
        parse_qs(query),
        [(name.lower(), value.strip()) for name, _, value in pairs],
        {name: value for part in certificate["subject"] for name, value in part},
    )


def _self_signed() -> tuple[x509.Certificate, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a-node")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2050, 1, 1, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    return certificate, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
