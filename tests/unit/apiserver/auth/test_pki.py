"""The keys of a cluster: made once, kept, renewed in time."""

import ipaddress
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from mooring.apiserver.auth.pki import Pki, open_pki, server_context
from mooring.errors import UsageError

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LASTS = timedelta(days=800)


def opened(directory: Path, now: datetime = NOW, *names: str, host: str = "box") -> Pki:
    return open_pki(directory, now=now, host_name=host, extra_names=names)


def server_certificate(directory: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate((directory / "server.pem").read_bytes())


def authority(directory: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate((directory / "ca.crt").read_bytes())


def serials(directory: Path) -> tuple[int, int]:
    return authority(directory).serial_number, server_certificate(directory).serial_number


def subject_names(certificate: x509.Certificate) -> set[str]:
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in names}


def test_the_first_opening_makes_everything(tmp_path: Path) -> None:
    pki = opened(tmp_path / "pki", NOW, "10.0.0.7", "api.example.com")
    found = server_certificate(tmp_path / "pki")
    found.verify_directly_issued_by(x509.load_pem_x509_certificate(pki.ca_certificate))
    assert subject_names(found) == {
        *("localhost", "127.0.0.1", "::1", "box"),
        *("10.0.0.7", "api.example.com"),
    }
    usage = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert isinstance(pki.service_account_key.curve, ec.SECP256R1)


def test_addresses_are_addresses_not_names(tmp_path: Path) -> None:
    opened(tmp_path, NOW, "fd00::7")
    names = server_certificate(tmp_path).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert set(names.value.get_values_for_type(x509.IPAddress)) == {
        ipaddress.ip_address(a) for a in ("127.0.0.1", "::1", "fd00::7")
    }


def test_the_directory_and_its_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    directory = tmp_path / "pki"
    opened(directory)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in directory.iterdir()}
    assert modes == dict.fromkeys(("ca.key", "ca.crt", "server.pem", "service-account.key"), 0o600)


def test_the_server_can_speak_tls_with_it(tmp_path: Path) -> None:
    pki = opened(tmp_path)
    context = server_context(pki)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    client = ssl.create_default_context(cadata=pki.ca_certificate.decode())
    assert handshake(client, context, "localhost") == "TLSv1.3"


def handshake(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> str | None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname=name)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [near, far]
    for _ in range(10):
        for side in tuple(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(side)
    assert not waiting
    return near.version()


UNCHANGED = {
    "at once": (NOW, ()),
    "until 30 days before the end": (NOW + LASTS - timedelta(days=30), ()),
    "when fewer names are asked for": (NOW, ()),
}


@pytest.mark.parametrize(("later", "names"), UNCHANGED.values(), ids=UNCHANGED)
def test_opening_again_changes_nothing(
    tmp_path: Path, later: datetime, names: tuple[str, ...]
) -> None:
    opened(tmp_path, NOW, "api.example.com")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    opened(tmp_path, later, *names)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


REISSUED: dict[str, tuple[datetime, tuple[str, ...]]] = {
    "within 30 days of its end": (NOW + LASTS - timedelta(days=29, hours=23), ()),
    "after its end": (NOW + LASTS + timedelta(days=1), ()),
    "before its begin, when the clock was wrong": (NOW - timedelta(days=2), ()),
    "for a new name": (NOW, ("api.example.com",)),
    "for a new address": (NOW, ("10.1.2.3",)),
}


@pytest.mark.parametrize(("later", "names"), REISSUED.values(), ids=REISSUED)
def test_the_server_certificate_is_issued_anew(
    tmp_path: Path, later: datetime, names: tuple[str, ...]
) -> None:
    first = opened(tmp_path)
    serial = serials(tmp_path)[1]
    second = opened(tmp_path, later, *names)
    assert serials(tmp_path)[1] != serial
    assert server_certificate(tmp_path).not_valid_before_utc <= later
    assert server_certificate(tmp_path).not_valid_after_utc >= later + timedelta(days=700)
    assert set(names) <= subject_names(server_certificate(tmp_path))
    # Signed by the same key: who trusts the old authority certificate trusts this one.
    server_certificate(tmp_path).verify_directly_issued_by(
        x509.load_pem_x509_certificate(first.ca_certificate)
    )
    assert same_key(second, first)


def same_key(one: Pki, two: Pki) -> bool:
    return one.service_account_key.public_key() == two.service_account_key.public_key()


def test_the_authority_outlives_the_server_certificates(tmp_path: Path) -> None:
    opened(tmp_path)
    serial = serials(tmp_path)[0]
    opened(tmp_path, NOW + timedelta(days=3600))
    assert serials(tmp_path)[0] == serial


def test_an_ending_authority_is_renewed_with_its_key(tmp_path: Path) -> None:
    opened(tmp_path)
    before = authority(tmp_path)
    opened(tmp_path, NOW + timedelta(days=3640))
    after = authority(tmp_path)
    assert after.serial_number != before.serial_number
    assert after.public_key() == before.public_key()
    assert after.not_valid_after_utc > before.not_valid_after_utc


DAMAGE = {
    "half of it is gone": lambda content: content[: len(content) // 2],
    "its key is gone": lambda content: content[: content.index(b"-----BEGIN PRIVATE")],
    "it is empty": lambda content: b"",
    "it is something else": lambda content: b"hello",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_server_certificate_is_issued_anew(tmp_path: Path, damage: object) -> None:
    opened(tmp_path)
    serial = serials(tmp_path)[1]
    file = tmp_path / "server.pem"
    assert callable(damage)
    file.write_bytes(damage(file.read_bytes()))
    server_context(opened(tmp_path))
    assert serials(tmp_path)[1] != serial


def test_a_certificate_of_another_authority_is_issued_anew(tmp_path: Path) -> None:
    opened(tmp_path / "a")
    opened(tmp_path / "b")
    (tmp_path / "a" / "server.pem").write_bytes((tmp_path / "b" / "server.pem").read_bytes())
    opened(tmp_path / "a")
    server_certificate(tmp_path / "a").verify_directly_issued_by(authority(tmp_path / "a"))


def test_a_crash_behind_the_authoritys_key_is_finished(tmp_path: Path) -> None:
    opened(tmp_path)
    key = authority(tmp_path).public_key()
    (tmp_path / "ca.crt").unlink()
    (tmp_path / "server.pem").unlink()
    opened(tmp_path)
    assert authority(tmp_path).public_key() == key
    server_certificate(tmp_path).verify_directly_issued_by(authority(tmp_path))


@pytest.mark.parametrize("name", ["ca.key", "service-account.key"])
def test_a_damaged_key_that_cannot_be_replaced_is_left_alone(tmp_path: Path, name: str) -> None:
    opened(tmp_path)
    (tmp_path / name).write_bytes(b"hello")
    with pytest.raises(UsageError, match=f"{name} is damaged"):
        opened(tmp_path)
    assert (tmp_path / name).read_bytes() == b"hello"


def test_a_lost_authority_key_is_not_silently_replaced(tmp_path: Path) -> None:
    opened(tmp_path)
    (tmp_path / "ca.key").unlink()
    with pytest.raises(UsageError, match=r"ca\.key is missing"):
        opened(tmp_path)


def test_a_host_name_that_no_certificate_can_hold_is_left_out(tmp_path: Path) -> None:
    opened(tmp_path, host="größe")
    assert subject_names(server_certificate(tmp_path)) == {"localhost", "127.0.0.1", "::1"}


@pytest.mark.parametrize("name", ["", "a b", "größe", "https://x"])
def test_a_name_that_was_asked_for_and_cannot_be_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="neither a host name nor an IP address"):
        opened(tmp_path, NOW, name)


def test_no_key_prints_itself(tmp_path: Path) -> None:
    pki = opened(tmp_path)
    secret = (tmp_path / "service-account.key").read_text().splitlines()[1]
    assert secret not in repr(pki)
    assert "PRIVATE" not in repr(pki)
