"""TLS to an API server: which authority to trust, which client certificate to send."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from mooring.client.credentials import Proof
from mooring.errors import UsageError


class Trust(msgspec.Struct, frozen=True):
    """How the server's certificate is verified."""

    authority: bytes = b""  # PEM; empty: the machine's trusted authorities
    skip_verify: bool = False  # no verification (insecure-skip-tls-verify)
    server_name: str = ""  # expected in the certificate; empty: the host of the URL


class Tls:
    """TLS contexts for one server. A proof with another certificate gets another context, and thus
    separate connections."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._shown: tuple[bytes, object] | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, proof: Proof) -> ssl.SSLContext:
        """Raises: UsageError when the certificates cannot be used."""
        shown = (proof.certificate, proof.key)
        if self._context is None or shown != self._shown:
            self._context = _context(self._trust, proof)
            self._shown = shown
        return self._context


def _context(trust: Trust, proof: Proof) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=trust.authority.decode() or None)
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(
            "certificate-authority holds no certificate: it must be PEM, in base64 if it is data"
        ) from error
    # The CAs of many clusters lack extensions that newer Python versions require.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if trust.skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if proof.certificate and proof.key is not None:
        try:
            with (
                _in_memory(proof.certificate) as certificate,
                _in_memory(proof.key.reveal()) as key,
            ):
                context.load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise UsageError(
                "the client certificate and key cannot be used: both must be PEM, "
                "without a password, and belong together"
            ) from error
    return context


def _no_password() -> bytes:
    """The password callback: without it an encrypted key would prompt on the terminal."""
    return b""


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """A path to the content in memory: the ssl module needs files, and keys stay off the disk."""
    handle = os.memfd_create("mooring-tls", os.MFD_CLOEXEC)
    try:
        os.write(handle, content)
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
