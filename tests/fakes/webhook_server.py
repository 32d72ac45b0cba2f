"""A webhook on loopback, with a certificate for the name of a Service and for 127.0.0.1."""

import base64
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mooring.model.document import Doc

SERVICE, NAMESPACE = "hook", "default"
Respond = Callable[[Doc], Doc | Awaitable[Doc]]
"""From the `request` of a review to its `response`, without the uid."""


class WebhookServer:
    """What it was asked, and how it answers; `respond` may be set at any time."""

    def __init__(self, port: int, authority: bytes) -> None:
        self.port = port
        self.ca_bundle = base64.b64encode(authority).decode()
        self.asked: list[Doc] = []
        self.respond: Respond = lambda _: {"allowed": True}
        self.raw: web.Response | None = None

    @property
    def by_url(self) -> Doc:
        """A clientConfig that names it by URL."""
        return {"url": f"https://127.0.0.1:{self.port}/check", "caBundle": self.ca_bundle}

    @property
    def by_service(self) -> Doc:
        service = {"name": SERVICE, "namespace": NAMESPACE, "path": "/check"}
        return {"service": service, "caBundle": self.ca_bundle}

    async def answer(self, request: web.Request) -> web.Response:
        review = await request.json()
        self.asked.append(review["request"])
        if self.raw is not None:
            return self.raw
        response: Any = self.respond(review["request"])
        if not isinstance(response, dict):
            response = await response
        body = {**review, "response": {"uid": review["request"]["uid"], **response}}
        body.pop("request")
        return web.json_response(body)


def patched(*operations: Doc) -> Doc:
    """A response that allows, and changes the object."""
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch}


@asynccontextmanager
async def webhook_server(directory: Path) -> AsyncIterator[WebhookServer]:
    """Served at a free port until the end."""
    certificate = certified(directory)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(directory / "hook.crt", directory / "hook.key")
    server = WebhookServer(0, certificate)
    application = web.Application(client_max_size=16 << 20)
    application.router.add_post("/check", server.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()


def certified(directory: Path) -> bytes:
    """Its certificate, which signed itself; beside it, its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hook")])
    names = [
        x509.DNSName(f"{SERVICE}.{NAMESPACE}.svc"),
        x509.IPAddress(IPv4Address("127.0.0.1")),
    ]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2036, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    shown = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (directory / "hook.crt").write_bytes(shown)
    (directory / "hook.key").write_bytes(secret)
    return shown
