"""`mooring token`: join tokens for further machines, and other tokens for roles that have one."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from mooring.apiserver.auth.join_tokens import KeptToken, authority_hash
from mooring.apiserver.auth.tokens import FIXED_ROLES, NODE_PREFIX, RoleTokens, Token
from mooring.errors import UsageError
from mooring.host.private_file import find_private, write_private
from mooring.stack.credentials import TOKENS, check_role, find_server_url, last_url
from mooring.stack.listening import is_local
from mooring.stack.node_name import find_node_name

_LONGEST_KUBECONFIG = 1 << 16  # bytes; a larger file is none of ours


class JoinCommand(msgspec.Struct, frozen=True):
    """What to type on another machine. Holds a secret."""

    line: str
    warning: str = ""


class Rotated(msgspec.Struct, frozen=True):
    role: str
    rewritten: tuple[Path, ...]  # kubeconfigs in the data directory that had the old token
    remedy: str  # for those elsewhere


class Row(msgspec.Struct, frozen=True):
    """A token that lets, or has let, a machine in."""

    id: str
    node: str
    expires: str
    state: str


def create_join_command(
    data_dir: Path, node: str, server: str, lasts: timedelta, now: datetime
) -> JoinCommand:
    """Raises: UsageError."""
    authority = _authority(data_dir)
    url = server or find_server_url(data_dir) or last_url(data_dir)
    if find_node_name(data_dir) == node:
        raise UsageError(
            f"{node} is the node of the `mooring up` with {data_dir} itself: choose another name"
        )
    try:
        joins = _role_tokens(data_dir).joins
        token = joins.create(node, authority_hash(authority), lasts, now)
    except OSError as error:
        raise UsageError(f"cannot write a token in {data_dir}: {error.strerror}") from error
    warning = ""
    if is_local(urlsplit(url).hostname or ""):
        warning = (
            f"{url} is reached from this machine only: start the server with --host 0.0.0.0 (or one"
            " address), or give --server with the URL that other machines use"
        )
    line = f"mooring node --join {url} --token {token.reveal()} --node-name {node}"
    return JoinCommand(line, warning)


def list_tokens(data_dir: Path, now: datetime) -> list[Row]:
    """Join tokens, then the nodes that have credentials. Raises: UsageError."""
    _authority(data_dir)
    tokens = _role_tokens(data_dir)
    try:
        joins = tokens.joins.listed()
    except OSError as error:
        raise UsageError(f"cannot read {data_dir}: {error.strerror}") from error
    rows = [Row(id, kept.node, kept.expires, _state(kept, now)) for id, kept in joins.items()]
    nodes = [Row(f"{NODE_PREFIX}{node}", node, "never", "credentials") for node in tokens.nodes()]
    return [*sorted(rows, key=lambda row: (row.expires, row.id)), *nodes]


def revoke(data_dir: Path, word: str) -> str:
    """What was revoked: the join token with this id, or the credentials of `node:<name>`.

    A running server refuses it from the next request on. Raises: UsageError.
    """
    _authority(data_dir)
    tokens = _role_tokens(data_dir)
    try:
        if word.startswith(NODE_PREFIX):
            _end_joins(tokens, word)
            was_there = tokens.remove(word)
        elif word in FIXED_ROLES:
            raise UsageError(f"{word} always has a token: `mooring token rotate --role {word}`")
        else:
            was_there = tokens.joins.revoke(word)
    except OSError as error:
        raise UsageError(f"cannot write to {data_dir}: {error.strerror}") from error
    if not was_there:
        raise UsageError(f"there is no token {word!r}: see `mooring token list`")
    return word


def rotate(data_dir: Path, role: str) -> Rotated:
    """After: the role has another token, at once in a running server; the old one is refused.

    Kubeconfigs in the data directory have the new one. Raises: UsageError.
    """
    _authority(data_dir)
    check_role(role)
    if role.startswith(NODE_PREFIX) and (problem := _node_problem(data_dir, role)):
        raise UsageError(problem)
    try:
        tokens = _role_tokens(data_dir)
        _end_joins(tokens, role)
        before, after = tokens.rotate(role)
        rewritten = tuple(_rewrite(data_dir, before, after)) if before else ()
    except OSError as error:
        raise UsageError(f"cannot write to {data_dir}: {error.strerror}") from error
    return Rotated(role, rewritten, _remedy(data_dir, role))


def _end_joins(tokens: RoleTokens, role: str) -> None:
    """Before a node's token goes: its machine could ask once more, and would get the new one."""
    if role.startswith(NODE_PREFIX):
        tokens.joins.revoke_node(role.removeprefix(NODE_PREFIX))


def _node_problem(data_dir: Path, role: str) -> str:
    node = role.removeprefix(NODE_PREFIX)
    if node in _role_tokens(data_dir).nodes():
        return ""
    return f"the node {node!r} has no credentials: see `mooring token list`"


def _remedy(data_dir: Path, role: str) -> str:
    if role.startswith(NODE_PREFIX):
        node = role.removeprefix(NODE_PREFIX)
        return f"to let it in again: mooring token create --data-dir {data_dir} --node {node}"
    return (
        "copies elsewhere are refused now, to write one: "
        f"mooring kubeconfig --data-dir {data_dir} --role {role} -o FILE"
    )


def _rewrite(data_dir: Path, before: Token, after: Token) -> Iterator[Path]:
    """Kubeconfigs directly in the data directory, by the token in them. Raises: OSError."""
    old, new = before.reveal().encode(), after.reveal().encode()
    for path in sorted(data_dir.iterdir()):
        if path.is_symlink() or not path.is_file() or path.name == TOKENS:
            continue
        if path.stat().st_size > _LONGEST_KUBECONFIG:
            continue
        content = path.read_bytes()
        if old in content:
            write_private(path, content.replace(old, new))
            yield path


def _state(kept: KeptToken, now: datetime) -> str:
    if kept.used:
        return f"used {kept.used}"
    return "expired" if now >= datetime.fromisoformat(kept.expires) else "unused"


def _authority(data_dir: Path) -> bytes:
    """The certificate of the CA. Raises: UsageError when this is no server's data directory."""
    try:
        found = find_private(data_dir / "pki" / "ca.crt")
    except OSError as error:
        raise UsageError(f"cannot read {data_dir}: {error.strerror}") from error
    if found is None:
        raise UsageError(
            f"{data_dir} holds no keys of a server: give the --data-dir of `mooring up`, or run "
            f"`mooring up --data-dir {data_dir}` first"
        )
    return found


def _role_tokens(data_dir: Path) -> RoleTokens:
    return RoleTokens(data_dir / TOKENS)
