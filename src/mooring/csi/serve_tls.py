"""gRPC services on a TCP port, with TLS; the certificate may be renewed while they are served."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import msgspec
from google.protobuf.descriptor import ServiceDescriptor

from mooring import log as logs
from mooring.csi.serve import handlers_of
from mooring.errors import UsageError

LARGEST_REQUEST = 64 << 10  # bytes: a token and some names
MOST_STREAMS = 128  # of one connection

_log = logs.get("mooring.csi")

_OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_REQUEST),
    ("grpc.max_metadata_size", LARGEST_REQUEST),
    ("grpc.max_concurrent_streams", MOST_STREAMS),
    ("grpc.so_reuseport", 0),  # another process on the port is an error, not a partner
    ("grpc.keepalive_time_ms", 30_000),  # a client that vanished holds no stream
    ("grpc.keepalive_timeout_ms", 10_000),
)


class TlsFiles(msgspec.Struct, frozen=True):
    """PEM files, which may be the same."""

    certificate: Path
    key: Path


@asynccontextmanager
async def serving_tls(
    host: str,
    port: int,
    files: TlsFiles,
    services: Mapping[ServiceDescriptor, object],
    *,
    grace: float = 0.0,
) -> AsyncIterator[int]:
    """Serve inside this block, with servicers as `csi.serve.serving` takes them; gives the port.

    Port 0 is any that is free. On leaving, calls get `grace` seconds to end.
    Raises: UsageError when the certificate cannot be used, or the port is taken.
    """
    server = grpc.aio.server(options=_OPTIONS)
    server.add_generic_rpc_handlers(handlers_of(services))
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        bound = server.add_secure_port(address, _Certificates(files).credentials())
    except RuntimeError as error:
        raise UsageError(
            f"cannot listen on {address}: it is taken, or the certificate in {files.certificate} "
            "does not go with its key"
        ) from error
    await server.start()
    try:
        yield bound
    finally:
        await server.stop(grace)


class _Certificates:
    """Reads the files again when they have changed; gRPC asks at every handshake, in a thread."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._seen = self._stamp()

    def credentials(self) -> grpc.ServerCredentials:
        return grpc.dynamic_ssl_server_credentials(self._read(), self._renewed)

    def _renewed(self) -> grpc.ServerCertificateConfiguration | None:
        """None: as before."""
        try:
            now = self._stamp()
            if now == self._seen:
                return None
            read = self._read()
        except UsageError as error:
            _log.warning("a certificate cannot be renewed", because=error)
            return None
        self._seen = now
        return read

    def _stamp(self) -> tuple[tuple[int, int], ...]:
        try:
            found = [path.stat() for path in (self._files.certificate, self._files.key)]
        except OSError as error:
            raise _unreadable(error) from error
        return tuple((each.st_mtime_ns, each.st_ino) for each in found)

    def _read(self) -> grpc.ServerCertificateConfiguration:
        try:
            key, certificate = self._files.key.read_bytes(), self._files.certificate.read_bytes()
        except OSError as error:
            raise _unreadable(error) from error
        return grpc.ssl_server_certificate_configuration([(key, certificate)])


def _unreadable(error: OSError) -> UsageError:
    return UsageError(
        f"cannot read {error.filename}: {error.strerror}; give --tls-cert and --tls-key in PEM"
    )
