"""The node's serving certificate: self-signed, new at every start.

No CA has signed it, so its fingerprint is in the Node object, which only this node and the
administrators can write.
"""

import hashlib
import ipaddress
import os
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mooring.errors import UsageError
from mooring.model.secret_value import SecretValue

_LASTS = timedelta(days=3650)  # longer than any process; it ends with the process
_BACKDATED = timedelta(hours=1)  # for clients whose clock is a little behind


class ServingCertificate(msgspec.Struct, frozen=True):
    fingerprint: str  # sha256, in hex
    pem: SecretValue  # certificate and key


def make_certificate(node: str, addresses: Sequence[str], now: datetime) -> ServingCertificate:
    """`addresses` are names and IP addresses under which the node is reached."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}"[:64])])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _LASTS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([_general_name(each) for each in (node, *addresses)]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return ServingCertificate(
        hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest(),
        SecretValue(certificate.public_bytes(Encoding.PEM) + secret),
    )


def serving_tls(certificate: ServingCertificate, authority: bytes) -> ssl.SSLContext:
    """TLS 1.2 or newer. A client may show a certificate; then it must be of the `authority` (PEM).

    Without an authority no client's certificate is asked for.
    Raises: UsageError when the authority is none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    with _in_memory(certificate.pem.reveal()) as path:
        context.load_cert_chain(path)
    if authority:
        try:
            context.load_verify_locations(cadata=authority.decode())
        except (ssl.SSLError, UnicodeDecodeError) as error:
            raise UsageError(
                "certificate-authority holds no certificate: it must be PEM"
            ) from error
        # Authorities of many clusters lack extensions that newer Pythons would insist on.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """A path to the content: TLS wants a file, and the key shall not touch the disk for that."""
    handle = os.memfd_create("mooring-node-tls", os.MFD_CLOEXEC)
    try:
        os.write(handle, content)
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
