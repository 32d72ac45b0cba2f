"""Kubeconfig files: what is in them, and that every parser reads it so."""

import base64
import os
import stat
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.auth.kubeconfig import Kubeconfig
from mooring.apiserver.auth.tokens import Token

PEM = b"-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n"
SECRET = "a-very-secret-token-text"


def a_config(context: str = "mooring", namespace: str = "", token: str = SECRET) -> Kubeconfig:
    return Kubeconfig("https://127.0.0.1:6443", PEM, Token(token), context, namespace)


def test_the_document() -> None:
    assert a_config(namespace="dev").document() == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "mooring",
                "cluster": {
                    "server": "https://127.0.0.1:6443",
                    "certificate-authority-data": base64.b64encode(PEM).decode(),
                },
            }
        ],
        "users": [{"name": "mooring", "user": {"token": SECRET}}],
        "contexts": [
            {
                "name": "mooring",
                "context": {"cluster": "mooring", "user": "mooring", "namespace": "dev"},
            }
        ],
        "current-context": "mooring",
    }


def test_without_a_namespace_the_client_chooses() -> None:
    assert a_config().document()["contexts"][0]["context"] == {
        "cluster": "mooring",
        "user": "mooring",
    }


PITFALLS = ["n", "y", "on", "off", "yes", "NO", "null", "~", "1e3", "0x1f", "017", "1:30", "1_0"]


@pytest.mark.parametrize("name", [*PITFALLS, "true", "a: b", "#c", "- d", "größe", 'q"\\'])
def test_a_name_stays_a_text_and_is_written_in_quotes(name: str) -> None:
    text = a_config(context=name, namespace=name).text()
    assert yaml.safe_load(text)["current-context"] == name
    line = next(line for line in text.splitlines() if line.startswith("current-context"))
    assert line.startswith('current-context: "')


@given(st.text(), st.text())
def test_what_is_written_is_read_back(name: str, token: str) -> None:
    config = a_config(context=name, token=token)
    assert yaml.safe_load(config.text()) == config.document()


def test_long_values_stay_on_one_line() -> None:
    token = "word " * 500
    assert f'"{token}"' in a_config(token=token).text()


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "kubeconfig"
    a_config().write(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert yaml.safe_load(file.read_text()) == a_config().document()


def test_a_directory_that_was_there_is_left_as_it_was(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    a_config().write(tmp_path / "kubeconfig")
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    a_config().write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert yaml.safe_load((tmp_path / "real").read_text())["kind"] == "Config"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give links away")
def test_a_link_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.chown(tmp_path / "link", 12345, -1, follow_symlinks=False)
    with pytest.raises(PermissionError, match="a symbolic link of another user"):
        a_config().write(tmp_path / "link")
    assert (tmp_path / "real").read_text() == "old"


def test_it_does_not_print_its_token() -> None:
    assert SECRET not in repr(a_config())
    assert SECRET not in str(a_config())
