"""What of /etc is shown to containers on the host's root."""

import os
from pathlib import Path

import pytest

from mooring.oci import public_files
from mooring.oci.public_files import PUBLIC, Piece, gather


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A small machine."""
    root = tmp_path.resolve() / "host"
    for directory in ("etc/ssl/certs", "etc/ssl/private", "etc/kubernetes", "etc/ssh", "usr/lib"):
        (root / directory).mkdir(parents=True)
    for file in (
        *("etc/passwd", "etc/group", "etc/shadow", "etc/shadow-", "etc/gshadow", "etc/sudoers"),
        *("etc/kubernetes/admin.conf", "etc/ssh/ssh_host_rsa_key", "etc/ssl/private/key.pem"),
        *("etc/ssl/certs/ca.pem", "etc/pip.conf", "usr/lib/os-release"),
    ):
        (root / file).write_text(file)
    return root


def names(host: Path) -> list[str]:
    return [piece.path for piece in shown(host)]


def shown(host: Path) -> tuple[Piece, ...]:
    return gather((str(host / "usr"),), host / "etc").pieces


def test_only_what_is_on_the_list_and_directories_come_first(host: Path) -> None:
    assert names(host) == ["passwd", "group", "ssl", "ssl/certs", "ssl/certs/ca.pem"]


def test_a_link_into_what_is_shown_stays_one(host: Path) -> None:
    (host / "etc/os-release").symlink_to("../usr/lib/os-release")
    (host / "etc/ssl/certs/hash.0").symlink_to("ca.pem")
    pieces = {piece.path: piece for piece in shown(host)}
    assert pieces["os-release"].link == "../usr/lib/os-release"
    assert pieces["ssl/certs/hash.0"].link == "ca.pem"


def test_a_link_to_elsewhere_is_followed(host: Path) -> None:
    (host / "var").mkdir()
    (host / "var/bundle").write_text("certificates")
    (host / "etc/ssl/cert.pem").symlink_to(host / "var/bundle")
    (host / "etc/ssl/certs/gone").symlink_to(host / "nowhere")
    pieces = {piece.path: piece for piece in shown(host)}
    assert pieces["ssl/cert.pem"].content == b"certificates"
    assert "ssl/certs/gone" not in pieces


def test_what_is_no_file_is_left_out(host: Path) -> None:
    os.mkfifo(host / "etc/services")
    assert "services" not in names(host)


def test_a_large_file_is_left_out_and_many_are_cut(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(public_files, "LARGEST_FILE", 12)
    assert "ssl/certs/ca.pem" not in names(host)
    monkeypatch.setattr(public_files, "MOST_BYTES", 10)
    gathered = gather((), host / "etc")
    assert not gathered.is_all
    assert [piece.path for piece in gathered.pieces] == ["passwd"]


def test_directories_that_lead_back_to_themselves_end(host: Path) -> None:
    (host / "etc/alternatives").mkdir()
    (host / "elsewhere").mkdir()
    (host / "elsewhere/again").symlink_to(host / "elsewhere")
    (host / "etc/alternatives/all").symlink_to(host / "elsewhere")
    assert len(names(host)) < 30


SECRETS = (
    *("shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "kubernetes", "ssh"),
    *("ssl/private", "pki/tls/private", "security/opasswd", "rancher", "environment"),
    *("krb5.keytab", "fstab", "crypttab", "machine-id", "mtab"),
)


@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_are_not_on_the_list(secret: str) -> None:
    assert not any(Path(secret).match(pattern) for pattern in PUBLIC)
    assert not any(Path(secret).is_relative_to(pattern) for pattern in PUBLIC)
