"""`mooring token`, on a data directory."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mooring.apiserver.auth.join_tokens import authority_hash, parse_join_token
from mooring.apiserver.auth.pki import open_pki
from mooring.apiserver.auth.tokens import open_role_tokens
from mooring.errors import UsageError
from mooring.stack.credentials import keep_server_url, kubeconfig_for
from mooring.stack.node_name import FILE
from mooring.stack.tokens import create_join_command, list_tokens, revoke, rotate

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
URL = "https://10.0.0.5:6443"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Of a server that has run."""
    directory = tmp_path / "data"
    open_pki(directory / "pki", now=NOW, host_name="here")
    open_role_tokens(directory / "tokens.json")
    kubeconfig_for(directory, "admin", "https://127.0.0.1:6443").write(directory / "kubeconfig")
    keep_server_url(directory, URL)
    return directory


def test_the_printed_line_has_all_that_the_other_machine_needs(data: Path) -> None:
    made = create_join_command(data, "worker-1", "", DAY, NOW)
    words = made.line.split()
    assert words[:5] == ["mooring", "node", "--join", URL, "--token"]
    assert words[6:] == ["--node-name", "worker-1"]
    token = parse_join_token(words[5])
    assert token.authority == authority_hash((data / "pki" / "ca.crt").read_bytes())
    assert made.warning == ""


def test_a_server_that_only_this_machine_reaches_is_said(data: Path) -> None:
    keep_server_url(data, "https://127.0.0.1:6443")
    assert "--host 0.0.0.0" in create_join_command(data, "worker-1", "", DAY, NOW).warning
    assert create_join_command(data, "worker-1", URL, DAY, NOW).warning == ""


def test_the_own_node_of_the_server_is_no_name_for_another(data: Path) -> None:
    (data / FILE).write_text("here\n")
    with pytest.raises(UsageError, match="choose another name"):
        create_join_command(data, "here", "", DAY, NOW)


NEEDING_KEYS: dict[str, Callable[[Path], object]] = {
    "create": lambda data: create_join_command(data, "worker-1", URL, DAY, NOW),
    "list": lambda data: list_tokens(data, NOW),
    "revoke": lambda data: revoke(data, "d118ba73"),
    "rotate": lambda data: rotate(data, "admin"),
}


@pytest.mark.parametrize("act", NEEDING_KEYS.values(), ids=NEEDING_KEYS)
def test_a_directory_without_keys_is_refused_and_left(
    act: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="holds no keys of a server"):
        act(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_list_has_join_tokens_and_nodes_and_no_secret(data: Path) -> None:
    line = create_join_command(data, "worker-1", "", DAY, NOW).line
    made = parse_join_token(line.split()[5])
    joins = open_role_tokens(data / "tokens.json").joins
    late = parse_join_token(create_join_command(data, "worker-2", "", DAY, NOW).line.split()[5])
    joins.join(made.id, "", "an-attempt-of-twenty-letters", NOW)
    open_role_tokens(data / "tokens.json").node_token("worker-1")
    rows = {row.id: (row.node, row.state) for row in list_tokens(data, NOW + DAY)}
    assert rows == {
        made.id: ("worker-1", "used 2026-03-01T12:00:00Z"),
        late.id: ("worker-2", "expired"),
        "node:worker-1": ("worker-1", "credentials"),
    }
    assert made.secret.reveal().decode() not in str(list_tokens(data, NOW))


def test_what_is_revoked_is_refused(data: Path) -> None:
    made = parse_join_token(create_join_command(data, "worker-1", "", DAY, NOW).line.split()[5])
    server = open_role_tokens(data / "tokens.json")
    node = server.node_token("worker-1").reveal()
    assert server.joins.find_user(made.bearer())
    assert revoke(data, made.id) == made.id
    assert revoke(data, "node:worker-1") == "node:worker-1"
    assert server.joins.find_user(made.bearer()) is None
    assert server.find_user(node) is None
    for word, told in {made.id: "token list", "node:w": "token list", "admin": "rotate"}.items():
        with pytest.raises(UsageError, match=told):
            revoke(data, word)


def test_rotation_rewrites_the_kubeconfigs_of_that_role_and_no_others(data: Path) -> None:
    kubeconfig_for(data, "controllers", URL).write(data / "controllers.conf")
    before = {name: (data / name).read_text() for name in ("kubeconfig", "controllers.conf")}
    done = rotate(data, "admin")
    assert done.rewritten == (data / "kubeconfig",)
    assert "mooring kubeconfig" in done.remedy
    again = kubeconfig_for(data, "admin", "https://127.0.0.1:6443").text()
    assert (data / "kubeconfig").read_text() == again != before["kubeconfig"]
    assert (data / "controllers.conf").read_text() == before["controllers.conf"]
    assert (data / "kubeconfig").stat().st_mode & 0o777 == 0o600


ROLES = {"root": "choose one of", "node:nobody": "has no credentials"}


@pytest.mark.parametrize(("role", "told"), ROLES.items(), ids=ROLES)
def test_a_role_without_a_token_is_not_rotated(data: Path, role: str, told: str) -> None:
    content = (data / "tokens.json").read_bytes()
    with pytest.raises(UsageError, match=told):
        rotate(data, role)
    assert (data / "tokens.json").read_bytes() == content


def test_a_rotated_node_is_told_how_to_come_back(data: Path) -> None:
    open_role_tokens(data / "tokens.json").node_token("worker-1")
    done = rotate(data, "node:worker-1")
    assert "mooring token create" in done.remedy
    assert done.remedy.endswith("--node worker-1")
