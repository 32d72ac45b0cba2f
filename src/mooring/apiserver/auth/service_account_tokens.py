"""The tokens of service accounts: signed claims (JWT, ES256), good for as long as what they name.

A token names its service account and, maybe, a pod, a secret or a node that it is bound to. It is
refused once any of them is gone or was replaced by another of the same name.
"""

import base64
import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mooring.apiserver.auth import user
from mooring.apiserver.auth.tokens import Token
from mooring.apiserver.auth.user import User
from mooring.model.document import Doc
from mooring.model.timestamp import to_seconds

_ALGORITHM = "ES256"
_LEEWAY = timedelta(minutes=1)  # a clock set back a little; a deletion that is just under way

FindObject = Callable[[str, str, str], Doc | None]
"""(plural of a core resource, namespace, name) -> its document."""


class Named(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    uid: str = ""


class Subject(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    rename={"service_account": "serviceaccount"},
):
    """The service account of a token, and the object it is bound to (JWT claim `kubernetes.io`)."""

    namespace: str
    service_account: Named
    pod: Named | None = None
    secret: Named | None = None
    node: Named | None = None  # beside a pod: where it runs; alone: bound to the node


class Claims(msgspec.Struct, frozen=True, rename={"subject": "kubernetes.io"}):
    iss: str
    sub: str
    exp: int
    iat: int
    nbf: int
    subject: Subject
    aud: tuple[str, ...] = ()
    jti: str = ""


class Refused(msgspec.Struct, frozen=True):
    reason: str


class ServiceAccountTokens:
    """Issues and verifies tokens; `audiences` are those of this API server."""

    def __init__(
        self, key: ec.EllipticCurvePrivateKey, issuer: str, audiences: tuple[str, ...] = ()
    ) -> None:
        self.issuer = issuer
        self.audiences = audiences or (issuer,)
        self._key = key
        self._public_key = key.public_key()
        self._key_id = _key_id(self._public_key)

    def issue(
        self,
        subject: Subject,
        audiences: Sequence[str],
        lifetime: timedelta,
        now: datetime,
        token_id: str,
    ) -> Token:
        began = int(now.timestamp())
        claims: dict[str, Any] = {
            "aud": list(audiences),
            "exp": began + int(lifetime.total_seconds()),
            "iat": began,
            "iss": self.issuer,
            "jti": token_id,
            "kubernetes.io": msgspec.to_builtins(subject),
            "nbf": began,
            "sub": user.service_account_name(subject.namespace, subject.service_account.name),
        }
        text = jwt.encode(claims, self._key, _ALGORITHM, headers={"kid": self._key_id})
        return Token(text)

    def read(self, token: str) -> Claims | Refused:
        """The claims of a token that this server signed. Whether they still hold: `find_flaw`."""
        if not token.isascii():
            return Refused("invalid bearer token")
        try:
            if jwt.get_unverified_header(token).get("kid") != self._key_id:
                return Refused("invalid signature, no keys found")
            # Times and audiences are checked by `find_flaw`, which gets the time.
            options: Any = {"verify_signature": True} | dict.fromkeys(_NOT_HERE, False)
            payload = jwt.decode_complete(token, self._public_key, [_ALGORITHM], options)["payload"]
            claims = msgspec.convert(payload, Claims)
        except (jwt.PyJWTError, msgspec.ValidationError, RecursionError):
            return Refused("invalid bearer token")
        if claims.iss != self.issuer:
            return Refused(f'token issuer "{claims.iss}" is invalid')
        return claims


_NOT_HERE = ("verify_exp", "verify_nbf", "verify_iat", "verify_aud", "verify_iss", "verify_sub")


def find_flaw(
    claims: Claims, audiences: Sequence[str], now: datetime, find: FindObject
) -> str | None:
    """Why signed claims are worth nothing to `audiences` now; None when they hold."""
    if not common_audiences(claims.aud, audiences):
        return (
            f"token audiences {_listed(claims.aud)} is invalid "
            f"for the target audiences {_listed(audiences)}"
        )
    seconds = now.timestamp()
    if seconds >= claims.exp:
        return "service account token has expired"
    if seconds + _LEEWAY.total_seconds() < claims.nbf:
        return "service account token is not valid yet"
    return _find_missing(claims.subject, to_seconds(now - _LEEWAY), find)


def common_audiences(given: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    return tuple(audience for audience in given if audience in wanted)


def user_of(claims: Claims) -> User:
    subject = claims.subject
    extra: dict[str, tuple[str, ...]] = {}
    if claims.jti:
        extra[user.CREDENTIAL_ID] = (f"JTI={claims.jti}",)
    if subject.pod:
        extra[user.POD_NAME] = (subject.pod.name,)
        extra[user.POD_UID] = (subject.pod.uid,)
    if subject.node:
        extra[user.NODE_NAME] = (subject.node.name,)
        if subject.node.uid:
            extra[user.NODE_UID] = (subject.node.uid,)
    return User(
        user.service_account_name(subject.namespace, subject.service_account.name),
        uid=subject.service_account.uid,
        groups=(*user.service_account_groups(subject.namespace), user.AUTHENTICATED),
        extra=extra,
    )


def _find_missing(subject: Subject, deleted_before: str, find: FindObject) -> str | None:
    namespace, account = subject.namespace, subject.service_account
    document = find("serviceaccounts", namespace, account.name)
    if document is None:
        return f'serviceaccounts "{account.name}" not found'
    if (uid := document["metadata"].get("uid", "")) != account.uid:
        return f"service account UID ({uid}) does not match claim ({account.uid})"
    if _is_gone(document, deleted_before):
        return f"service account {namespace}/{account.name} has been deleted"
    bound = [("secrets", "secret", subject.secret), ("pods", "pod", subject.pod)]
    if subject.pod is None:
        bound.append(("nodes", "node", subject.node))
    for plural, word, ref in bound:
        if ref is None:
            continue
        document = find(plural, "" if plural == "nodes" else namespace, ref.name)
        if document is None or _is_gone(document, deleted_before):
            return "service account token has been invalidated"
        if (uid := document["metadata"].get("uid", "")) != ref.uid:
            return f"{word} UID ({uid}) does not match service account {word} ref claim ({ref.uid})"
    return None


def _is_gone(document: Doc, before: str) -> bool:
    """Was its time up some while ago? Whole-second UTC times sort as texts."""
    deleted = document["metadata"].get("deletionTimestamp")
    return bool(deleted) and deleted < before


def _key_id(key: ec.EllipticCurvePublicKey) -> str:
    encoded = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.urlsafe_b64encode(hashlib.sha256(encoded).digest()).rstrip(b"=").decode()


def _listed(audiences: Sequence[str]) -> str:
    return "[" + " ".join(f'"{audience}"' for audience in audiences) + "]"
