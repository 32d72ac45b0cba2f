"""A machine joins: by a token that is for one node, once, and only on the server it is of."""

import json
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml

from mooring.apiserver.auth.join_tokens import parse_join_token
from mooring.apiserver.auth.pki import open_pki
from mooring.apiserver.auth.user import node_user
from mooring.clock import RealClock
from mooring.errors import UsageError
from mooring.host.private_file import write_private
from mooring.stack import join as joining
from mooring.stack.join import ATTEMPT, KUBECONFIG, RECORD, JoinWish, find_joined, join
from mooring.stack.tokens import create_join_command, revoke, rotate
from tests.fakes.real_server import ApiServer, RealServer, command

DAY = timedelta(days=1)
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def a_token(server: RealServer, node: str, now: datetime | None = None) -> str:
    when = now or RealClock().now()
    return create_join_command(server.data_dir, node, server.url, DAY, when).line.split()[5]


def wish(server: RealServer, token: str, node_name: str = "") -> JoinWish:
    return JoinWish(server.url, token, node_name)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    return made


def token_in(root: Path) -> str:
    return str(yaml.safe_load((root / KUBECONFIG).read_text())["users"][0]["user"]["token"])


def who(server: RealServer, token: str) -> str:
    answer = server.ask("POST", WHO, {}, token=token)
    return str(answer.doc["status"]["userInfo"]["username"]) if answer.code == 201 else ""


def test_a_token_becomes_the_credentials_of_its_node(real_server: RealServer, root: Path) -> None:
    joined = join(root, wish(real_server, a_token(real_server, "j-one")))
    assert joined is not None
    assert joined.node == "j-one"
    assert who(real_server, token_in(root)) == node_user("j-one").name
    assert (root / KUBECONFIG).stat().st_mode & 0o777 == 0o600
    assert (root / RECORD).stat().st_mode & 0o777 == 0o600
    assert not (root / ATTEMPT).exists()


def test_a_restart_needs_no_token_and_the_same_command_does_no_harm(
    real_server: RealServer, root: Path
) -> None:
    token = a_token(real_server, "j-again")
    joined = join(root, wish(real_server, token))
    kept = (root / KUBECONFIG).read_bytes()
    assert join(root, JoinWish()) == joined
    assert join(root, wish(real_server, token)) == joined
    assert join(root, JoinWish(real_server.url)) == joined
    assert (root / KUBECONFIG).read_bytes() == kept


def test_a_token_used_twice_is_refused_in_one_line(
    real_server: RealServer, root: Path, tmp_path: Path
) -> None:
    token = a_token(real_server, "j-twice")
    join(root, wish(real_server, token))
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(UsageError, match="used already, at 20") as refused:
        join(other, wish(real_server, token))
    assert "\n" not in str(refused.value)
    assert token not in str(refused.value)
    assert find_joined(other) is None


def test_a_machine_that_was_killed_with_the_answer_under_way_goes_on(
    real_server: RealServer, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = a_token(real_server, "j-killed")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(joining, "_keep", killed)
        with pytest.raises(KeyboardInterrupt):
            join(root, wish(real_server, token))
    assert find_joined(root) is None
    assert (root / ATTEMPT).stat().st_mode & 0o777 == 0o600
    joined = join(root, wish(real_server, token))
    assert joined is not None
    assert joined.node == "j-killed"


def test_a_name_that_the_token_is_not_for_is_refused_and_uses_nothing_up(
    real_server: RealServer, root: Path
) -> None:
    token = a_token(real_server, "j-name")
    with pytest.raises(UsageError, match="is for the node j-name"):
        join(root, wish(real_server, token, "j-other"))
    assert join(root, wish(real_server, token, "j-name")) is not None


def test_an_expired_token_and_a_revoked_one_are_refused(
    real_server: RealServer, root: Path
) -> None:
    old = a_token(real_server, "j-old", RealClock().now() - DAY)
    with pytest.raises(UsageError, match="expired at 20"):
        join(root, wish(real_server, old))
    token = a_token(real_server, "j-revoked")
    revoke(real_server.data_dir, parse_join_token(token).id)
    with pytest.raises(UsageError, match="does not know this join token"):
        join(root, wish(real_server, token))


def test_another_server_is_told_nothing(
    real_server: RealServer, own_api_server: RealServer, root: Path
) -> None:
    token = a_token(real_server, "j-other-server")
    with pytest.raises(UsageError, match="is not the server that the token is of"):
        join(root, wish(own_api_server, token))
    assert not list(root.iterdir())
    assert parse_join_token(token).id not in own_api_server.log.read_text()
    assert join(root, wish(real_server, token)) is not None  # it was not used


def test_a_server_that_shows_the_right_authority_and_has_not_its_key_is_told_nothing(
    real_server: RealServer, own_api_server: RealServer, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In between, somebody hands the public certificate on, and would like the token."""
    right = (real_server.data_dir / "pki" / "ca.crt").read_bytes()
    token = a_token(real_server, "j-between")
    monkeypatch.setattr(joining, "fetch_authority", lambda *_: right)
    with pytest.raises(UsageError, match="does not do"):
        join(root, wish(own_api_server, token))
    listed = (real_server.data_dir / "join-tokens.json").read_text()
    assert "used" not in json.loads(listed)["tokens"][parse_join_token(token).id]


def test_a_server_that_shows_its_own_authority_beside_the_right_one_is_told_nothing(
    real_server: RealServer, own_api_server: RealServer, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right one is public: whoever hands it on must not be trusted by what he adds."""
    right, wrong = (
        (server.data_dir / "pki" / "ca.crt").read_bytes()
        for server in (real_server, own_api_server)
    )
    token = a_token(real_server, "j-both")
    asked: list[str] = []

    def between(server: str, tls: object, method: str, path: str, *rest: object) -> object:
        asked.append(path)
        return (200, right + wrong)

    monkeypatch.setattr(joining, "_ask", between)
    with pytest.raises(UsageError, match="is not the server that the token is of"):
        join(root, wish(own_api_server, token))
    assert asked == ["/cacerts"]
    assert not list(root.iterdir())


def test_what_stands_beside_the_authority_is_not_kept(
    real_server: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = (real_server.data_dir / "pki" / "ca.crt").read_bytes()
    expected = parse_join_token(a_token(real_server, "j-beside")).authority
    monkeypatch.setattr(joining, "_ask", lambda *_: (200, b"a comment\n" + right + b"\nanother"))
    assert joining.fetch_authority("https://x", expected) == right


@pytest.mark.parametrize("taken_away", [revoke, rotate])
def test_a_node_whose_credentials_were_taken_away_does_not_get_others_by_asking_again(
    real_server: RealServer, taken_away: Callable[[Path, str], object]
) -> None:
    """The attempt that used a join token may be repeated: but no longer then."""
    node = f"j-gone-{taken_away.__name__}"
    bearer = parse_join_token(a_token(real_server, node)).bearer()
    unused = parse_join_token(a_token(real_server, node)).bearer()
    body = {"attempt": "a" * 30}
    assert real_server.ask("POST", "/join", body, token=bearer).code == 200
    taken_away(real_server.data_dir, f"node:{node}")
    assert real_server.ask("POST", "/join", body, token=bearer).code == 401
    assert real_server.ask("POST", "/join", body, token=unused).code == 401


def test_a_machine_killed_while_it_changes_servers_has_not_one_with_the_others_credentials(
    real_server: RealServer, own_api_server: RealServer, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    join(root, wish(real_server, a_token(real_server, "j-before")))
    after = wish(own_api_server, a_token(own_api_server, "j-after"))

    def killed(path: Path, content: bytes) -> None:
        if path.name == RECORD:
            raise KeyboardInterrupt
        write_private(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(joining, "write_private", killed)
        with pytest.raises(KeyboardInterrupt):
            join(root, after)
    assert find_joined(root) is None
    joined = join(root, after)
    assert joined is not None
    assert (joined.server, joined.node) == (own_api_server.url, "j-after")


URLS = {"no URL": "somewhere", "no TLS": "http://127.0.0.1:6443", "nobody": "https://127.0.0.1:1"}


@pytest.mark.parametrize("url", URLS.values(), ids=URLS)
def test_a_url_that_leads_nowhere_is_said(real_server: RealServer, root: Path, url: str) -> None:
    with pytest.raises(UsageError, match=r"https://host:port|cannot be reached"):
        join(root, JoinWish(url, a_token(real_server, "j-url")))


def test_half_a_command_is_told_what_is_missing(real_server: RealServer, root: Path) -> None:
    with pytest.raises(UsageError, match="--token goes with --join"):
        join(root, JoinWish(token="x"))
    with pytest.raises(UsageError, match="has not joined"):
        join(root, JoinWish(real_server.url))
    assert join(root, JoinWish()) is None


def test_a_join_token_does_nothing_but_join(real_server: RealServer) -> None:
    bearer = parse_join_token(a_token(real_server, "j-only")).bearer()
    for path in ("/api/v1/nodes", "/api/v1/secrets", "/api", "/metrics"):
        assert real_server.ask("GET", path, token=bearer).code == 403
    assert real_server.ask("POST", WHO, {}, token=bearer).code == 403
    for body in (b"", b"{", b'{"attempt": "short"}', b"\xff"):
        assert real_server.ask("POST", "/join", body, token=bearer).code == 400


def test_others_do_not_join(real_server: RealServer) -> None:
    body = {"attempt": "a" * 30}
    assert real_server.ask("POST", "/join", body, token="").code == 401
    assert real_server.ask("POST", "/join", body, token="d118ba73.guess").code == 401
    assert real_server.ask("POST", "/join", body).code == 403
    reader = real_server.token("read-only")
    assert real_server.ask("POST", "/join", body, token=reader).code == 403


def test_everybody_may_see_the_authority(real_server: RealServer) -> None:
    answer = real_server.ask("GET", "/cacerts", headers={"Authorization": ""}, token="")
    assert (answer.code, answer.body) == (
        200,
        (real_server.data_dir / "pki" / "ca.crt").read_bytes(),
    )


def test_a_rotated_token_works_at_once_and_the_old_one_does_not(
    own_api_server: RealServer, tmp_path: Path
) -> None:
    old = own_api_server.token()
    assert who(own_api_server, old) == "admin"
    data = str(own_api_server.data_dir)
    done = subprocess.run(  # noqa: S603  our own command
        command("token", "rotate", "--data-dir", data, "--role", "admin"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert own_api_server.token() != old
    assert own_api_server.token() in own_api_server.kubeconfig.read_text()
    assert (who(own_api_server, old), who(own_api_server, own_api_server.token())) == ("", "admin")
    for secret in (old, own_api_server.token()):
        assert secret not in done.stdout + done.stderr + own_api_server.log.read_text()


def test_a_rotated_node_joins_again_with_another_token(real_server: RealServer, root: Path) -> None:
    join(root, wish(real_server, a_token(real_server, "j-rotated")))
    before = token_in(root)
    rotate(real_server.data_dir, "node:j-rotated")
    assert who(real_server, before) == ""
    join(root, wish(real_server, a_token(real_server, "j-rotated")))
    assert who(real_server, token_in(root)) == node_user("j-rotated").name


def test_no_join_token_is_logged(tmp_path: Path, root: Path) -> None:
    server = ApiServer(tmp_path / "data", "--log-level", "debug").start()
    token = a_token(server, "j-log")
    join(root, wish(server, token))
    credentials = token_in(root)
    assert server.stop() == 0
    logged = server.log.read_text()
    assert "a machine joined" in logged
    secret = parse_join_token(token).secret.reveal().decode()
    assert not [one for one in (secret, credentials) if one in logged]


def test_certificates_that_expired_while_it_was_off_are_renewed_at_the_start(
    tmp_path: Path,
) -> None:
    keys = tmp_path / "data" / "pki"
    long_ago = RealClock().now() - timedelta(days=5000)  # its authority has expired too
    before = open_pki(keys, now=long_ago, host_name="here")
    server = ApiServer(tmp_path / "data").start()
    try:
        assert server.ask("GET", "/version").code == 200  # a client that trusts the new one
        assert (keys / "ca.crt").read_bytes() != before.ca_certificate
        assert "certificate issued" in server.log.read_text()
        root = tmp_path / "root"
        root.mkdir()
        assert join(root, wish(server, a_token(server, "late"))) is not None
    finally:
        server.kill()
