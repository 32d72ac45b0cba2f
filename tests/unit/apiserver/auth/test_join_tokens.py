"""Join tokens: for one node, once, for a while; the server keeps a hash."""

import errno
import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.auth import join_tokens
from mooring.apiserver.auth.join_tokens import (
    FORGOTTEN,
    Declined,
    Granted,
    JoinToken,
    JoinTokens,
    KeptToken,
    authority_hash,
    decide_join,
    parse_join_token,
)
from mooring.apiserver.auth.pki import open_pki
from mooring.apiserver.auth.user import bootstrap_user
from mooring.errors import UsageError

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
AUTHORITY = "A" * 43
MINE, OTHER = "my-attempt-0123456789abc", "another-attempt-0123456789"
FRESH = KeptToken("h", "worker-1", "2026-03-01T13:00:00Z")


def used_by(attempt: str) -> KeptToken:
    granted = decide_join(FRESH, "", attempt, NOW)
    assert isinstance(granted, Granted)
    return granted.kept


JOINING = {
    "a fresh one lets its node in": (FRESH, "worker-1", NOW, ""),
    "a machine that gives no name is the token's node": (FRESH, "", NOW, ""),
    "another name is refused": (FRESH, "worker-2", NOW, "is for the node worker-1"),
    "one that was used is refused": (used_by(OTHER), "", NOW, "used already, at 2026-03-01T12:00"),
    "the attempt that used it may ask again": (used_by(MINE), "", NOW, ""),
    "at its end it is refused": (FRESH, "", NOW + HOUR, "expired at 2026-03-01T13:00:00Z"),
    "an attempt is not repeated after its end": (used_by(MINE), "", NOW + HOUR, "expired"),
}


@pytest.mark.parametrize(("kept", "node", "now", "refused"), JOINING.values(), ids=JOINING)
def test_joining(kept: KeptToken, node: str, now: datetime, refused: str) -> None:
    verdict = decide_join(kept, node, MINE, now)
    if refused:
        assert isinstance(verdict, Declined)
        assert refused in verdict.because
        assert "mooring token create --node" in verdict.because
    else:
        assert isinstance(verdict, Granted)
        assert verdict.kept.used == "2026-03-01T12:00:00Z"
        assert MINE not in str(verdict)


@given(st.lists(st.tuples(st.sampled_from([MINE, OTHER, "c" * 24]), st.integers(0, 7200))))
def test_of_all_attempts_one_at_most_is_let_in(asked: list[tuple[str, int]]) -> None:
    kept, let_in = FRESH, set()
    for attempt, seconds in sorted(asked, key=lambda one: one[1]):
        verdict = decide_join(kept, "", attempt, NOW + timedelta(seconds=seconds))
        if isinstance(verdict, Granted):
            assert seconds < 3600
            kept = verdict.kept
            let_in.add(attempt)
    assert len(let_in) <= 1


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "join-tokens.json"


def create(tokens: JoinTokens, node: str = "worker-1", now: datetime = NOW) -> JoinToken:
    return tokens.create(node, AUTHORITY, HOUR, now)


def test_a_token_reads_back_and_shows_itself_only_when_asked(file: Path) -> None:
    made = create(JoinTokens(file))
    assert parse_join_token(f" {made.reveal()}\n") == made
    assert made.secret.reveal().decode() not in repr(made)
    assert made.authority == AUTHORITY


NO_TOKENS = ["", "x", "d118ba73", "d118ba73.secret", f"d118ba73.{'s' * 43}.{'a' * 42}"]


@pytest.mark.parametrize("text", NO_TOKENS)
def test_what_is_no_token_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(UsageError, match="mooring token create") as refused:
        parse_join_token(text)
    assert not text or text not in str(refused.value).split()


def test_the_file_holds_a_hash_for_its_owner_alone(file: Path) -> None:
    made = create(JoinTokens(file))
    assert made.secret.reveal().decode() not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(json.loads(file.read_text())["tokens"]) == [made.id]


def test_a_running_server_knows_a_token_of_another_process_until_it_is_revoked(file: Path) -> None:
    server, command = JoinTokens(file), JoinTokens(file)
    assert server.find_user("d118ba73.x") is None
    made = create(command)
    assert server.find_user(made.bearer()) == bootstrap_user(made.id)
    assert server.find_user(f"{made.id}.{'x' * 43}") is None
    assert server.find_user(made.bearer()[:-1]) is None
    assert command.revoke(made.id)
    assert server.find_user(made.bearer()) is None
    assert not command.revoke(made.id)


def test_a_token_is_used_once_over_restarts(file: Path) -> None:
    made = create(JoinTokens(file))
    assert isinstance(JoinTokens(file).join(made.id, "", MINE, NOW), Granted)
    assert isinstance(JoinTokens(file).join(made.id, "", OTHER, NOW), Declined)
    assert isinstance(JoinTokens(file).join(made.id, "", MINE, NOW), Granted)
    assert isinstance(JoinTokens(file).join("00000000", "", MINE, NOW), Declined)


def test_a_refused_attempt_uses_nothing_up(file: Path) -> None:
    made = create(JoinTokens(file))
    assert isinstance(JoinTokens(file).join(made.id, "worker-9", MINE, NOW), Declined)
    assert isinstance(JoinTokens(file).join(made.id, "worker-1", OTHER, NOW), Granted)


def test_tokens_that_ended_long_ago_are_forgotten_when_one_is_made(file: Path) -> None:
    tokens = JoinTokens(file)
    old, late = create(tokens), NOW + HOUR + FORGOTTEN
    newer = create(tokens, now=NOW + HOUR)
    assert set(tokens.listed()) == {old.id, newer.id}
    newest = create(tokens, now=late)
    assert set(tokens.listed()) == {newer.id, newest.id}


@pytest.mark.parametrize("node", ["", "N1", "../n1", "a b"])
def test_a_name_that_no_node_can_have_gets_none(file: Path, node: str) -> None:
    with pytest.raises(UsageError, match="cannot name a node"):
        create(JoinTokens(file), node)
    assert not file.exists()


DAMAGED = {
    "no JSON": b"{",
    "another shape": b'{"version": 1, "tokens": []}',
    "no time": b'{"version": 1, "tokens": {"a": {"hash": "h", "node": "n", "expires": "soon"}}}',
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_named_and_lets_nobody_in(
    file: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_bytes(content)
    tokens = JoinTokens(file)
    with pytest.raises(UsageError, match=str(file)):
        create(tokens)
    assert tokens.find_user("a.b") is None
    assert "join tokens not read again" in caplog.text
    assert file.read_bytes() == content


def test_the_hash_of_an_authority_outlives_its_certificate(tmp_path: Path) -> None:
    first = open_pki(tmp_path, now=NOW, host_name="here")
    later = open_pki(tmp_path, now=NOW + timedelta(days=3640), host_name="here")
    assert later.ca_certificate != first.ca_certificate
    assert authority_hash(later.ca_certificate) == authority_hash(first.ca_certificate)
    other = open_pki(tmp_path / "other", now=NOW, host_name="here")
    assert authority_hash(other.ca_certificate) != authority_hash(first.ca_certificate)


def test_on_a_full_disk_nobody_joins_and_the_token_is_not_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = JoinTokens(tmp_path / "join-tokens.json")
    token = tokens.create("worker-1", AUTHORITY, HOUR, NOW)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(join_tokens, "write_private", full)
        for attempt in (MINE, OTHER):
            with pytest.raises(OSError, match="No space left"):
                tokens.join(token.id, "", attempt, NOW)
    assert isinstance(tokens.join(token.id, "", OTHER, NOW), Granted)
    assert isinstance(tokens.join(token.id, "", MINE, NOW), Declined)
