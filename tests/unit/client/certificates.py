"""Keys and certificates for tests of TLS."""

from collections.abc import Sequence
from datetime import timedelta
from ipaddress import IPv4Address

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from mooring.clock import RealClock


class Certificate(msgspec.Struct, frozen=True):
    pem: bytes
    key: bytes
    locked_key: bytes  # the same, with a password


class Authority:
    """Signs what it is asked to."""

    def __init__(self, name: str = "authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraint = x509.BasicConstraints(ca=True, path_length=None)
        builder = self._builder(self._name, self._key).add_extension(constraint, critical=True)
        self.pem = builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)

    def certificate(self, name: str, *hosts: str, groups: Sequence[str] = ()) -> Certificate:
        """For a client of that name or, if `hosts` are given, for a server."""
        key = ec.generate_private_key(ec.SECP256R1())
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in groups]
        subject = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, key)
        if hosts:
            names = [
                x509.IPAddress(IPv4Address(host)) if host[0].isdigit() else x509.DNSName(host)
                for host in hosts
            ]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        form = PrivateFormat.PKCS8
        return Certificate(
            signed.public_bytes(Encoding.PEM),
            key.private_bytes(Encoding.PEM, form, NoEncryption()),
            key.private_bytes(Encoding.PEM, form, BestAvailableEncryption(b"hidden")),
        )

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        now = RealClock().now()
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
        )
