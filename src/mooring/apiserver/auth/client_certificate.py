"""The API server's client certificate for calls to kubelets, signed by the cluster's CA.

It is made in memory, and renewed long before it expires; a kubelet trusts the CA, not one file.
"""

import os
import ssl
from collections.abc import Callable
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mooring.apiserver.auth.pki import Authority, issue, pem
from mooring.apiserver.auth.user import MASTERS

NAME = "system:kube-apiserver"

_LASTS = timedelta(days=90)
_RENEWED_AFTER = timedelta(days=30)


class NodeCallers:
    """The TLS settings for calls to nodes.

    A node is identified by the fingerprint of its certificate, not by a signature: the caller must
    compare the fingerprint.
    """

    def __init__(self, authority: Authority, now: Callable[[], datetime]) -> None:
        self._authority = authority
        self._now = now
        self._context: ssl.SSLContext | None = None
        self._made = now()

    def context(self) -> ssl.SSLContext:
        now = self._now()
        if self._context is None or not self._made <= now < self._made + _RENEWED_AFTER:
            self._context, self._made = _context(self._authority, now), now
        return self._context


def _context(authority: Authority, now: datetime) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the certificate is compared with the node's own word
    context.set_alpn_protocols(["http/1.1"])
    _load(context, _certificate_and_key(authority, now))
    return context


def _certificate_and_key(authority: Authority, now: datetime) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, MASTERS),
            x509.NameAttribute(NameOID.COMMON_NAME, NAME),
        ]
    )
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    certificate = issue(key, authority, subject, now, _LASTS, (usage,))
    return certificate.public_bytes(Encoding.PEM) + pem(key)


def _load(context: ssl.SSLContext, content: bytes) -> None:
    """OpenSSL's wrapper reads files only; this one is never on a disk."""
    handle = os.memfd_create("mooring-client", os.MFD_CLOEXEC)
    try:
        with open(handle, "wb", closefd=False) as file:
            file.write(content)
        context.load_cert_chain(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)
