"""The keys of a cluster, in one directory: its authority, the server's certificate, token signing.

`ca.key`, `ca.crt`           the authority; clients trust `ca.crt`
`server.pem`                 the server's certificate and key in one file, so they never disagree
`service-account.key`        signs the tokens of service accounts

The authority and the signing key are kept for good: to replace them is to lock every client out.
The server's certificate is issued anew whenever it would not do.
"""

import ipaddress
import ssl
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mooring import log
from mooring.errors import UsageError
from mooring.host.private_file import find_private, make_private_directory, write_private

_log = log.get("mooring.pki")

_AUTHORITY_LASTS = timedelta(days=3650)
_SERVER_LASTS = timedelta(days=800)  # some platforms distrust what lasts longer than 825 days
_RENEWED_BEFORE = timedelta(days=30)
_BACKDATED = timedelta(hours=1)  # for clients whose clock is a little behind

_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")

Key = ec.EllipticCurvePrivateKey


class Authority(msgspec.Struct, frozen=True):
    key: Key
    certificate: x509.Certificate


class Pki(msgspec.Struct, frozen=True):
    authority: Authority
    ca_certificate: bytes  # PEM
    ca_file: Path
    server_file: Path  # certificate and key, PEM
    service_account_key: Key


def open_pki(
    directory: Path, *, now: datetime, host_name: str, extra_names: Sequence[str] = ()
) -> Pki:
    """Load the keys in `directory`; create or renew what is missing, expiring or too narrow.

    `extra_names` are host names and IP addresses under which clients reach the server, beside
    `localhost`, the loopback addresses and `host_name`.
    Repeated: nothing changes until a certificate nears its end or a name is new.
    Raises: UsageError when a key that cannot be replaced is damaged or missing.
    """
    names = _subject_names(host_name, extra_names)
    make_private_directory(directory)
    authority = _open_authority(directory, now)
    server_file = directory / "server.pem"
    _refresh_server(server_file, authority, names, now)
    return Pki(
        authority=authority,
        ca_certificate=authority.certificate.public_bytes(Encoding.PEM),
        ca_file=directory / "ca.crt",
        server_file=server_file,
        service_account_key=_open_key(directory / "service-account.key"),
    )


def server_context(pki: Pki) -> ssl.SSLContext:
    """TLS 1.2 or newer, with the server's certificate; HTTP/1.1 only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(pki.server_file)
    context.set_alpn_protocols(["http/1.1"])
    return context


def find_flaw(certificate: x509.Certificate, now: datetime) -> str | None:
    """Why a certificate's dates do not do; None when they do."""
    if now < certificate.not_valid_before_utc:
        return "it is not valid yet"
    if now >= certificate.not_valid_after_utc:
        return "it expired"
    if now > certificate.not_valid_after_utc - _RENEWED_BEFORE:
        return "it expires soon"
    return None


def find_server_flaw(
    certificate: x509.Certificate,
    authority: x509.Certificate,
    names: Sequence[x509.GeneralName],
    now: datetime,
) -> str | None:
    """Why the server needs another certificate; None when this one does."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return "another authority issued it"
    try:
        there = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return "it has no names"
    for name in names:
        if name not in there:
            return f"it lacks the name {name.value}"
    return find_flaw(certificate, now)


def _open_authority(directory: Path, now: datetime) -> Authority:
    key_file, certificate_file = directory / "ca.key", directory / "ca.crt"
    known = find_private(certificate_file)
    if known is not None and not key_file.exists():
        raise UsageError(
            f"{key_file} is missing; restore it, or remove {certificate_file} to begin anew "
            "(every client then needs a new kubeconfig)"
        )
    key = _open_key(
        key_file
    )  # before the certificate: a crash in between leaves a key to go on with
    certificate = _parse_certificate(known)
    if certificate is None or certificate.public_key() != key.public_key():
        flaw: str | None = "there is none"
    else:
        flaw = find_flaw(certificate, now)
    if flaw or certificate is None:
        certificate = _issue_authority(key, now)
        write_private(certificate_file, certificate.public_bytes(Encoding.PEM))
        _log.info("authority certificate issued", file=certificate_file, because=flaw)
    return Authority(key, certificate)


def _refresh_server(
    file: Path, authority: Authority, names: Sequence[x509.GeneralName], now: datetime
) -> None:
    content = find_private(file)
    certificate = _parse_certificate(content)
    if certificate is None or not _has_key(content, certificate):
        flaw: str | None = "there is none"
    else:
        flaw = find_server_flaw(certificate, authority.certificate, names, now)
    if flaw:
        key = ec.generate_private_key(ec.SECP256R1())
        issued = _issue_server(key, authority, names, now)
        write_private(file, issued.public_bytes(Encoding.PEM) + pem(key))
        _log.info("server certificate issued", file=file, because=flaw)


def _open_key(path: Path) -> Key:
    content = find_private(path)
    if content is None:
        key = ec.generate_private_key(ec.SECP256R1())
        write_private(path, pem(key))
        return key
    found = _parse_key(content)
    if found is None:
        raise UsageError(f"{path} is damaged; restore it, or remove it to have a new one made")
    return found


def _issue_authority(key: Key, now: datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mooring-ca")])
    own_key = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _AUTHORITY_LASTS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(own_key, critical=False)
        .sign(key, hashes.SHA256())
    )


def _issue_server(
    key: Key, authority: Authority, names: Sequence[x509.GeneralName], now: datetime
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mooring")])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    extensions = (usage, x509.SubjectAlternativeName(names))
    return issue(key, authority, subject, now, _SERVER_LASTS, extensions)


def issue(
    key: Key,
    authority: Authority,
    subject: x509.Name,
    now: datetime,
    lasts: timedelta,
    extensions: Iterable[x509.ExtensionType],
) -> x509.Certificate:
    """A certificate of `authority` for `key`, which cannot issue others."""
    issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + lasts)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(issuer_key, critical=False)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(authority.key, hashes.SHA256())


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _subject_names(host_name: str, extra_names: Sequence[str]) -> list[x509.GeneralName]:
    names = [*_LOCAL_NAMES, *extra_names]
    if _is_host_name(host_name):  # a machine may be called anything; then it is not reached by name
        names.append(host_name)
    return [_subject_name(name) for name in dict.fromkeys(names)]


def _subject_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    if not _is_host_name(name):
        raise UsageError(f"{name!r} is neither a host name nor an IP address")
    return x509.DNSName(name.lower())


def _is_host_name(name: str) -> bool:
    return name.isascii() and all(
        label.replace("-", "").replace("_", "").isalnum() for label in name.split(".")
    )


def _has_key(content: bytes | None, certificate: x509.Certificate) -> bool:
    key = _parse_key(content or b"")
    return key is not None and key.public_key() == certificate.public_key()


def _parse_certificate(content: bytes | None) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(content or b"")
    except ValueError:
        return None


def _parse_key(content: bytes) -> Key | None:
    start = content.find(b"-----BEGIN PRIVATE KEY-----")
    try:
        key = load_pem_private_key(content[max(start, 0) :], password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
        return key
    return None


def pem(key: Key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
