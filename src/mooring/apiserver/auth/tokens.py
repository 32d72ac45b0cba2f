"""The role tokens: one secret per role, in one file.

Roles: `admin`, `controllers`, `scheduler`, `sidecars`, `read-only`, and `node:<name>`, which is
made on demand. The file is JSON, `{"version": 1, "tokens": {role: token}}`; its owner alone may
read it. Several processes may have it open: a token that one of them makes, the others know, and
one that was rotated or removed they refuse from the next request on.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from mooring import log
from mooring.apiserver.auth import user
from mooring.apiserver.auth.join_tokens import JoinTokens
from mooring.apiserver.auth.user import User
from mooring.errors import UsageError
from mooring.host.private_file import (
    file_mark,
    find_private,
    make_private_directory,
    sole_writer,
    write_private,
)
from mooring.model.names import dns_subdomain

_log = log.get("mooring.tokens")

ADMIN = "admin"
CONTROLLERS = "controllers"
SCHEDULER = "scheduler"
SIDECARS = "sidecars"
READ_ONLY = "read-only"

FIXED_ROLES = (ADMIN, CONTROLLERS, SCHEDULER, SIDECARS, READ_ONLY)
NODE_PREFIX = "node:"
JOIN_TOKENS = "join-tokens.json"  # beside the role tokens

_SHORTEST = 20  # characters; a shorter token in the file was put there by hand, and can be guessed

_USERS: Mapping[str, User] = {
    ADMIN: user.ADMIN,
    CONTROLLERS: user.CONTROLLERS,
    SCHEDULER: user.SCHEDULER,
    SIDECARS: user.SIDECARS,
    READ_ONLY: user.READ_ONLY,
}


class Token:
    """A secret text. Only `reveal` shows it; printing, formatting and logging do not."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Token(...)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token) and hmac.compare_digest(
            _digest(self._text), _digest(other._text)
        )

    def __hash__(self) -> int:
        return hash(_digest(self._text))


class _File(msgspec.Struct):
    version: int
    tokens: dict[str, str]

    def __repr__(self) -> str:
        return f"_File(roles={sorted(self.tokens)})"


def _random_token() -> str:
    return secrets.token_urlsafe(32)


class RoleTokens:
    """The tokens of one file. Build it with `open_role_tokens`."""

    def __init__(self, path: Path, new_token: Callable[[], str] = _random_token) -> None:
        self._path = path
        self._new_token = new_token
        self._tokens: dict[str, str] = {}
        self._users: dict[bytes, User] = {}
        self._seen: tuple[int, ...] = ()
        self.joins = JoinTokens(path.with_name(JOIN_TOKENS))

    def __repr__(self) -> str:
        return f"RoleTokens(roles={sorted(self._tokens)})"

    def token(self, role: str) -> Token:
        """The token of one of the fixed roles."""
        return Token(self._tokens[role])

    def node_token(self, node: str) -> Token:
        """The token of a node; made, and on the disk, before this returns."""
        if problems := tuple(dns_subdomain(node)):
            raise UsageError(f"{node!r} cannot name a node: {problems[0]}")
        role = f"{NODE_PREFIX}{node}"
        self.refresh()
        if role not in self._tokens:
            self.make(role)
        return Token(self._tokens[role])

    def find_user(self, token: str) -> User | None:
        """The user of a token. Its running time reveals nothing about the known tokens."""
        self.refresh()
        return self._users.get(_digest(token))

    def refresh(self) -> bool:
        """Read the file again if it was replaced; whether it was. A damaged one changes nothing."""
        seen = file_mark(self._path)
        if seen in (self._seen, ()):
            return False
        try:
            self.load()
        except (UsageError, OSError) as error:
            self._seen = seen  # told once
            _log.warning("role tokens not read again", because=error)
            return False
        return True

    def rotate(self, role: str) -> tuple[Token | None, Token]:
        """After: the role has another token, here and on the disk. The old one, and the new.

        Raises: UsageError, OSError; the old one holds then.
        """
        with sole_writer(self._path.parent):
            self.load()
            before, after = self._tokens.get(role), self._new_token()
            _save(self._path, self._tokens | {role: after})
            self.load()
        return None if before is None else Token(before), Token(after)

    def remove(self, role: str) -> bool:
        """After: the role has no token. Whether it had one. Raises: UsageError, OSError."""
        with sole_writer(self._path.parent):
            self.load()
            if role not in self._tokens:
                return False
            _save(self._path, {one: text for one, text in self._tokens.items() if one != role})
            self.load()
        return True

    def nodes(self) -> list[str]:
        """The nodes that have credentials."""
        self.refresh()
        prefix = len(NODE_PREFIX)
        return sorted(role[prefix:] for role in self._tokens if role.startswith(NODE_PREFIX))

    def make(self, *roles: str) -> None:
        """After: these roles have tokens, here and on the disk."""
        with sole_writer(self._path.parent):
            self.load()
            missing = {role: self._new_token() for role in roles if role not in self._tokens}
            if missing:
                _save(self._path, self._tokens | missing)
                self.load()

    def load(self) -> None:
        """Take in what is in the file. Raises: UsageError, and nothing has changed."""
        seen = file_mark(self._path)
        tokens = _load(self._path)
        users = {_digest(text): _user_of(role, self._path) for role, text in tokens.items()}
        self._tokens, self._users, self._seen = tokens, users, seen


def open_role_tokens(path: Path, new_token: Callable[[], str] = _random_token) -> RoleTokens:
    """The tokens in the file at `path`; what is missing is made and saved first.

    Raises: UsageError when the file cannot be understood; it is left as it is.
    """
    make_private_directory(path.parent)
    tokens = RoleTokens(path, new_token)
    tokens.make(*FIXED_ROLES)
    return tokens


def _load(path: Path) -> dict[str, str]:
    content = find_private(path)
    if content is None:
        return {}
    remedy = f"repair {path}, or move it away to have new tokens made"
    try:
        file = msgspec.json.decode(content, type=_File)
    except msgspec.DecodeError as error:
        # The cause is left out: it could quote what was in the file.
        raise UsageError(
            f"the role tokens cannot be read ({type(error).__name__}); {remedy}"
        ) from None
    if file.version != 1:
        raise UsageError(f"the role tokens are of version {file.version}, not 1; {remedy}")
    for role, text in file.tokens.items():
        if len(text) < _SHORTEST:
            raise UsageError(f"the token of {role} is too short to be safe; {remedy}")
    if len(set(file.tokens.values())) < len(file.tokens):
        raise UsageError(f"two roles share a token; {remedy}")
    return file.tokens


def _save(path: Path, tokens: Mapping[str, str]) -> None:
    content = msgspec.json.encode({"version": 1, "tokens": tokens})
    write_private(path, msgspec.json.format(content, indent=2) + b"\n")


def _user_of(role: str, path: Path) -> User:
    if known := _USERS.get(role):
        return known
    if role.startswith(NODE_PREFIX) and not any(dns_subdomain(role[len(NODE_PREFIX) :])):
        return user.node_user(role[len(NODE_PREFIX) :])
    raise UsageError(f"there is no role {role!r}; remove it from {path}")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
