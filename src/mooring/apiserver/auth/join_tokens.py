"""Join tokens: each lets one machine fetch, once, the credentials of one node.

Their text is `<id>.<secret>.<authority>`. The server knows the id and a hash of the secret; the
authority is the SHA-256 of the public key of the cluster's CA, as kubeadm's
`--discovery-token-ca-cert-hash`, by which the machine knows the server before it sends the secret.
The file is JSON, `{"version": 1, "tokens": {id: token}}`, beside that of the role tokens.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mooring import log
from mooring.apiserver.auth.user import User, bootstrap_user
from mooring.errors import UsageError
from mooring.host.private_file import file_mark, find_private, sole_writer, write_private
from mooring.model.names import dns_subdomain
from mooring.model.secret_value import SecretValue
from mooring.model.timestamp import to_seconds

LASTS = timedelta(hours=24)
FORGOTTEN = timedelta(days=7)  # after their end; until then a late user is told what happened
MOST = 1000  # tokens in the file

_TEXT = re.compile(r"(?P<id>[0-9a-f]{8})\.(?P<secret>[\w-]{43})\.(?P<authority>[\w-]{43})", re.A)
_REMEDY = "make another with `mooring token create --node {}`"

_log = log.get("mooring.tokens")


class JoinToken(msgspec.Struct, frozen=True):
    """A token as a user hands it on."""

    id: str
    secret: SecretValue
    authority: str

    def bearer(self) -> str:
        """What the server is shown; a secret."""
        return f"{self.id}.{self.secret.reveal().decode()}"

    def reveal(self) -> str:
        return f"{self.bearer()}.{self.authority}"


class KeptToken(msgspec.Struct, frozen=True, omit_defaults=True):
    """A token as the server keeps it."""

    hash: str  # of the secret
    node: str
    expires: str
    used: str = ""  # when
    attempt: str = ""  # a hash of the attempt that used it, which may be repeated


class Granted(msgspec.Struct, frozen=True):
    """The machine gets the node's credentials."""

    kept: KeptToken


class Declined(msgspec.Struct, frozen=True):
    because: str


class _File(msgspec.Struct):
    version: int
    tokens: dict[str, KeptToken]


def parse_join_token(text: str) -> JoinToken:
    """Raises: UsageError, which does not show it."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            "that is no join token, or not all of it: take the line that `mooring token create` "
            "printed"
        )
    return JoinToken(found["id"], SecretValue(found["secret"].encode()), found["authority"])


def sole_certificate(content: bytes) -> bytes:
    """The one certificate in it, and nothing else that was beside it. Raises: ValueError."""
    found = x509.load_pem_x509_certificates(content)
    if len(found) != 1:
        raise ValueError(f"{len(found)} certificates, not one")
    return found[0].public_bytes(Encoding.PEM)


def authority_hash(ca_certificate: bytes) -> str:
    """Of the public key: it stays when the certificate is renewed. Raises: ValueError."""
    key = x509.load_pem_x509_certificate(ca_certificate).public_key()
    content = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def decide_join(kept: KeptToken, node: str, attempt: str, now: datetime) -> Granted | Declined:
    """Whether this token lets a machine in as `node` (empty: as whom it is for).

    The attempt that used it may be repeated, since its answer may have been lost.
    """
    if node and node != kept.node:
        return Declined(
            f"this join token is for the node {kept.node}: leave --node-name out, or make a token "
            f"with `mooring token create --node {node}`"
        )
    mark = _digest(attempt)
    if kept.used and not hmac.compare_digest(kept.attempt, mark):
        return Declined(
            f"this join token was used already, at {kept.used}: {_REMEDY.format(kept.node)}"
        )
    if now >= datetime.fromisoformat(kept.expires):
        return Declined(f"this join token expired at {kept.expires}: {_REMEDY.format(kept.node)}")
    used = kept.used or to_seconds(now)
    return Granted(msgspec.structs.replace(kept, used=used, attempt=mark))


def _random_secret() -> str:
    return secrets.token_urlsafe(32)


class JoinTokens:
    """The join tokens of one file. Several processes may have it open."""

    def __init__(self, path: Path, new_secret: Callable[[], str] = _random_secret) -> None:
        self._path = path
        self._new_secret = new_secret
        self._known: Mapping[str, KeptToken] = {}
        self._seen: tuple[int, ...] = ()

    def find_user(self, bearer: str) -> User | None:
        """The user of a token that is known, good or not: `join` tells why it is not."""
        token_id, dot, secret = bearer.partition(".")
        if not dot:
            return None
        if self._seen != file_mark(self._path):
            self._look_again()
        kept = self._known.get(token_id)
        is_right = hmac.compare_digest(kept.hash if kept else "", _digest(secret))
        return bootstrap_user(token_id) if kept and is_right else None

    def create(self, node: str, authority: str, lasts: timedelta, now: datetime) -> JoinToken:
        """After: its hash is on the disk. Raises: UsageError, OSError."""
        if problems := tuple(dns_subdomain(node)):
            raise UsageError(f"{node!r} cannot name a node: {problems[0]}")
        secret = self._new_secret()
        kept = KeptToken(_digest(secret), node, to_seconds(now + lasts))
        with sole_writer(self._path.parent):
            tokens = {id: one for id, one in self._load().items() if not _is_past(one, now)}
            if len(tokens) >= MOST:
                raise UsageError(f"there are {MOST} join tokens: revoke some, see `token list`")
            token_id = secrets.token_hex(4)
            while token_id in tokens:
                token_id = secrets.token_hex(4)
            self._save({**tokens, token_id: kept})
        return JoinToken(token_id, SecretValue(secret.encode()), authority)

    def join(self, token_id: str, node: str, attempt: str, now: datetime) -> Granted | Declined:
        """After: if granted, the token is marked as used, on the disk. Raises: OSError."""
        with sole_writer(self._path.parent):
            tokens = self._load()
            kept = tokens.get(token_id)
            if kept is None:
                return Declined("this join token was revoked: ask for another")
            verdict = decide_join(kept, node, attempt, now)
            if isinstance(verdict, Granted) and verdict.kept != kept:
                self._save({**tokens, token_id: verdict.kept})
            return verdict

    def listed(self) -> Mapping[str, KeptToken]:
        """By their ids. Raises: UsageError, OSError."""
        return self._load()

    def revoke(self, token_id: str) -> bool:
        """Whether there was one. Raises: UsageError, OSError."""
        with sole_writer(self._path.parent):
            tokens = self._load()
            if token_id not in tokens:
                return False
            self._save({id: kept for id, kept in tokens.items() if id != token_id})
            return True

    def revoke_node(self, node: str) -> int:
        """After: no token lets a machine in as this node, not even again. How many did.

        Raises: UsageError, OSError.
        """
        with sole_writer(self._path.parent):
            tokens = self._load()
            others = {id: kept for id, kept in tokens.items() if kept.node != node}
            if len(others) < len(tokens):
                self._save(others)
            return len(tokens) - len(others)

    def _look_again(self) -> None:
        self._seen = file_mark(self._path)
        try:
            self._known = self._load()
        except (UsageError, OSError) as error:
            _log.warning("join tokens not read again", because=error)

    def _load(self) -> dict[str, KeptToken]:
        content = find_private(self._path)
        if content is None:
            return {}
        try:
            file = msgspec.json.decode(content, type=_File)
            for kept in file.tokens.values():
                datetime.fromisoformat(kept.expires)
        except (msgspec.DecodeError, ValueError) as error:
            raise UsageError(
                f"the join tokens cannot be read ({type(error).__name__}): remove {self._path} "
                "and make new ones"
            ) from None
        return file.tokens

    def _save(self, tokens: Mapping[str, KeptToken]) -> None:
        content = msgspec.json.encode(_File(1, dict(tokens)))
        write_private(self._path, msgspec.json.format(content, indent=2) + b"\n")


def _is_past(kept: KeptToken, now: datetime) -> bool:
    return now >= datetime.fromisoformat(kept.expires) + FORGOTTEN


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
