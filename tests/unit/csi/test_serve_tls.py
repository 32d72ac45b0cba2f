"""gRPC with TLS: certificates that are renewed, and those that cannot be used."""

from pathlib import Path

import grpc
import pytest

from mooring.apiserver.auth.pki import Pki, open_pki
from mooring.clock import RealClock
from mooring.csi.proto import health_pb2
from mooring.csi.serve_tls import TlsFiles, serving_tls
from mooring.errors import UsageError

HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"]


class Health:
    async def Check(
        self, _: health_pb2.HealthCheckRequest, __: object
    ) -> health_pb2.HealthCheckResponse:
        return health_pb2.HealthCheckResponse(status="SERVING")


def keys(directory: Path) -> Pki:
    return open_pki(directory, now=RealClock().now(), host_name="here")


async def is_trusted(port: int, authority: bytes) -> bool:
    trust = grpc.ssl_channel_credentials(authority)
    async with grpc.aio.secure_channel(f"127.0.0.1:{port}", trust) as channel:
        try:
            answer = await channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=10)
        except grpc.aio.AioRpcError:
            return False
    return bytes(answer) == b"\x08\x01"


async def test_a_renewed_certificate_is_used_at_once(tmp_path: Path) -> None:
    before, after = keys(tmp_path / "before"), keys(tmp_path / "after")
    pem = tmp_path / "server.pem"
    pem.write_bytes(before.server_file.read_bytes())
    async with serving_tls("127.0.0.1", 0, TlsFiles(pem, pem), {HEALTH: Health()}) as port:
        assert await is_trusted(port, before.ca_certificate)
        assert not await is_trusted(port, after.ca_certificate)
        new = tmp_path / "new.pem"
        new.write_bytes(after.server_file.read_bytes())
        new.replace(pem)
        assert await is_trusted(port, after.ca_certificate)
        pem.unlink()  # the last one that could be read goes on
        assert await is_trusted(port, after.ca_certificate)


async def test_a_certificate_that_cannot_be_read(tmp_path: Path) -> None:
    files = TlsFiles(tmp_path / "missing", tmp_path / "missing")
    with pytest.raises(UsageError, match="give --tls-cert and --tls-key in PEM"):
        async with serving_tls("127.0.0.1", 0, files, {HEALTH: Health()}):
            pass


async def test_a_port_that_is_taken(tmp_path: Path) -> None:
    pem = keys(tmp_path).server_file
    files, services = TlsFiles(pem, pem), {HEALTH: Health()}
    async with serving_tls("127.0.0.1", 0, files, services) as port:
        with pytest.raises(UsageError, match="it is taken"):
            async with serving_tls("127.0.0.1", port, files, services):
                pass
