"""The file of role tokens."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mooring import log
from mooring.apiserver.auth import tokens, user
from mooring.apiserver.auth.tokens import Token, open_role_tokens
from mooring.apiserver.auth.user import User
from mooring.errors import UsageError

SECRET = "a-very-secret-token-text"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "auth" / "tokens.json"


ROLES = {
    tokens.ADMIN: user.ADMIN,
    tokens.CONTROLLERS: user.CONTROLLERS,
    tokens.SCHEDULER: user.SCHEDULER,
    tokens.SIDECARS: user.SIDECARS,
    tokens.READ_ONLY: user.READ_ONLY,
}


@pytest.mark.parametrize(("role", "expected"), ROLES.items(), ids=ROLES)
def test_every_role_has_a_token_of_its_own(file: Path, role: str, expected: User) -> None:
    opened = open_role_tokens(file)
    assert opened.find_user(opened.token(role).reveal()) == expected


def test_tokens_are_random_and_long(file: Path, tmp_path: Path) -> None:
    one, two = open_role_tokens(file), open_role_tokens(tmp_path / "other" / "tokens.json")
    texts = {t.token(role).reveal() for t in (one, two) for role in ROLES}
    assert len(texts) == 2 * len(ROLES)
    assert min(map(len, texts)) >= 40


def test_what_is_no_token_is_nobody(file: Path) -> None:
    opened = open_role_tokens(file)
    text = opened.token(tokens.ADMIN).reveal()
    assert [opened.find_user(t) for t in ("", text[:-1], text + "x", "\udcff")] == [None] * 4


def test_a_restart_finds_the_same_tokens(file: Path) -> None:
    first = open_role_tokens(file)
    node = first.node_token("n1")
    again = open_role_tokens(file)
    assert again.token(tokens.ADMIN) == first.token(tokens.ADMIN)
    assert again.node_token("n1") == node
    assert again.find_user(node.reveal()) == user.node_user("n1")


def test_a_node_token_is_made_once_and_is_on_the_disk_at_once(file: Path) -> None:
    opened = open_role_tokens(file)
    token = opened.node_token("n1")
    assert opened.node_token("n1") == token
    assert opened.node_token("n2") != token
    assert json.loads(file.read_bytes())["tokens"]["node:n1"] == token.reveal()


def test_a_node_token_that_cannot_be_saved_is_no_token(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Iterator[str] = iter(["first-node-token-0123456789", "second-node-token-0123456789"])
    open_role_tokens(file)
    opened = open_role_tokens(file, lambda: next(made))

    def fail(path: Path, content: bytes) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(tokens, "write_private", fail)
        with pytest.raises(OSError, match="disk full"):
            opened.node_token("n1")
    assert opened.find_user("first-node-token-0123456789") is None
    assert opened.node_token("n1").reveal() == "second-node-token-0123456789"


def test_a_token_that_another_process_made_is_known(file: Path) -> None:
    server, command = open_role_tokens(file), open_role_tokens(file)
    token = command.node_token("n1")
    assert server.find_user(token.reveal()) == user.node_user("n1")
    assert server.node_token("n1") == token


def test_two_processes_do_not_lose_each_others_tokens(file: Path) -> None:
    one, two = open_role_tokens(file), open_role_tokens(file)
    made = {"node:n1": one.node_token("n1").reveal(), "node:n2": two.node_token("n2").reveal()}
    assert made.items() <= json.loads(file.read_bytes())["tokens"].items()
    assert one.node_token("n2") == two.node_token("n2")


def test_a_file_that_is_damaged_later_changes_nothing(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened = open_role_tokens(file)
    admin = opened.token(tokens.ADMIN)
    file.write_bytes(f'{{"version": 1, "tokens": {{"root": "{SECRET}"}}}}'.encode())
    assert opened.find_user(SECRET) is None
    assert opened.find_user(admin.reveal()) == user.ADMIN
    assert "role tokens not read again" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("name", ["", "N1", "../n1", "a b"])
def test_a_name_that_no_node_can_have_gets_no_token(file: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a node"):
        open_role_tokens(file).node_token(name)


def test_the_file_and_its_directory_are_for_their_owner_alone(file: Path) -> None:
    open_role_tokens(file).node_token("n1")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


DAMAGED = {
    "no JSON": (b"{", "cannot be read"),
    "another shape": (b'{"version": 1, "tokens": []}', "cannot be read"),
    "a later version": (b'{"version": 2, "tokens": {}}', "of version 2"),
    "an empty token": (b'{"version": 1, "tokens": {"admin": ""}}', "token of admin is too short"),
    "a token by hand": (b'{"version": 1, "tokens": {"admin": "hunter2"}}', "too short"),
    "one token twice": (
        json.dumps({"version": 1, "tokens": {"admin": SECRET, "read-only": SECRET}}).encode(),
        "two roles share a token",
    ),
    "a role that is none": (
        json.dumps({"version": 1, "tokens": {"root": SECRET}}).encode(),
        "no role 'root'",
    ),
    "a node that is none": (
        json.dumps({"version": 1, "tokens": {"node:..": SECRET}}).encode(),
        "no role 'node:..'",
    ),
}


@pytest.mark.parametrize(("content", "complaint"), DAMAGED.values(), ids=DAMAGED)
def test_a_file_that_cannot_be_trusted_is_refused(
    file: Path, content: bytes, complaint: str
) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(UsageError, match=complaint) as refused:
        open_role_tokens(file)
    assert str(file) in str(refused.value)
    assert SECRET not in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_role_that_is_new_gets_its_token_and_the_old_ones_stay(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(json.dumps({"version": 1, "tokens": {"admin": SECRET}}).encode())
    opened = open_role_tokens(file)
    assert opened.token(tokens.ADMIN).reveal() == SECRET
    assert set(json.loads(file.read_bytes())["tokens"]) == set(ROLES)


def holders(file: Path) -> dict[str, object]:
    opened = open_role_tokens(file, iter([SECRET, *(f"{SECRET}-{i}" for i in range(9))]).__next__)
    return {
        "token": Token(SECRET),
        "in a list": [Token(SECRET)],
        "all tokens": opened,
        "a token of them": opened.token("admin"),
        "the file": tokens._File(1, {"admin": SECRET}),
    }


@pytest.mark.parametrize(
    "holder", ["token", "in a list", "all tokens", "a token of them", "the file"]
)
def test_no_token_prints_itself(file: Path, holder: str, caplog: pytest.LogCaptureFixture) -> None:
    thing = holders(file)[holder]
    printed = [repr(thing), str(thing), f"{thing}", f"{thing!r:>60}", "%s" % thing]  # noqa: UP031 the old way prints too
    log.get("mooring.test").warning("token", token=thing)
    assert not [text for text in (*printed, caplog.text) if SECRET in text]
    assert "msg=token" in caplog.text


def test_a_token_cannot_be_encoded_by_accident() -> None:
    with pytest.raises(TypeError):
        msgspec.json.encode({"token": Token(SECRET)})


def test_tokens_compare_by_what_they_hold() -> None:
    assert Token(SECRET) == Token(SECRET)
    assert Token(SECRET) != Token(SECRET + "x")
    assert Token(SECRET) != SECRET
    assert len({Token(SECRET), Token(SECRET)}) == 1


def test_a_rotated_token_is_refused_at_once_and_the_new_one_known(file: Path) -> None:
    server, command = open_role_tokens(file), open_role_tokens(file)
    old = server.token(tokens.ADMIN)
    before, after = command.rotate(tokens.ADMIN)
    assert (before, server.find_user(old.reveal())) == (old, None)
    assert server.find_user(after.reveal()) == user.ADMIN
    assert server.token(tokens.ADMIN) == after
    reader = server.token(tokens.READ_ONLY).reveal()
    assert server.find_user(reader) == user.READ_ONLY


def test_a_removed_node_is_refused_until_it_gets_another_token(file: Path) -> None:
    server, command = open_role_tokens(file), open_role_tokens(file)
    old = server.node_token("n1")
    assert server.nodes() == ["n1"]
    assert command.remove("node:n1")
    assert not command.remove("node:n1")
    assert server.find_user(old.reveal()) is None
    assert server.nodes() == []
    assert server.node_token("n1") != old


def test_a_file_that_was_removed_locks_nobody_out(file: Path) -> None:
    server = open_role_tokens(file)
    file.unlink()
    assert server.find_user(server.token(tokens.ADMIN).reveal()) == user.ADMIN
