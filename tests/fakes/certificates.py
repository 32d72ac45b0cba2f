"""Certificates as PEM; the same name gives the same certificate within a test run."""

from datetime import UTC, datetime
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID


@cache
def a_certificate(name: str = "roots", *, ca: bool | None = True) -> str:
    """One that signed itself. `ca` is what it says of being an authority; None: nothing."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2036, 1, 1, tzinfo=UTC))
    )
    if ca is not None:
        constraints = x509.BasicConstraints(ca=ca, path_length=None)
        builder = builder.add_extension(constraints, critical=True)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()
