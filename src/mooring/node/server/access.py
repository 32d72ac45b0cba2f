"""Authentication by client certificates of the cluster's CA or by tokens; authorization.

As in the kubelet: a request becomes a verb on a subresource of the node (`nodes/proxy`, ...), and a
SubjectAccessReview decides. `system:masters` have every right, also while the API server is away.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from mooring.clock import Clock
from mooring.errors import ApiError, ConnectionLost
from mooring.model.review import UserInfo
from mooring.node.server.refusal import Refusal

MASTERS = "system:masters"
REMEMBERED = 10.0  # seconds; a right that is taken away is still used for so long
MOST_REMEMBERED = 1024

_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SUBRESOURCES = {
    "healthz": ("healthz", "proxy"),
    "pods": ("pods", "proxy"),
    "runningpods": ("pods", "proxy"),
    "configz": ("configz", "proxy"),
    "stats": ("stats",),
    "metrics": ("metrics",),
    "logs": ("log",),
}

_encode = msgspec.json.Encoder(order="sorted").encode

K = TypeVar("K")
V = TypeVar("V")


class RequestAttributes(msgspec.Struct, frozen=True):
    """What a request asks to do with this node, as authorization knows it."""

    verb: str
    subresource: str


class Identities(Protocol):
    async def find_user(self, token: str) -> UserInfo | None:
        """Whose token it is. Raises: ApiError, ConnectionLost."""
        ...


class Rights(Protocol):
    async def may(self, user: UserInfo, attributes: RequestAttributes) -> bool:
        """Raises: ApiError, ConnectionLost."""
        ...


class Visit(msgspec.Struct, frozen=True):
    """Of a request, what decides whether it is let in."""

    method: str
    path: str
    authorization: str = ""  # the header
    certificate: Mapping[str, Any] | None = None  # verified; from `getpeercert`


class Access:
    def __init__(self, identities: Identities, rights: Rights, clock: Clock) -> None:
        self._identities = identities
        self._rights = rights
        self._users: _Memory[str, UserInfo | None] = _Memory(clock)
        self._verdicts: _Memory[tuple[bytes, RequestAttributes], bool] = _Memory(clock)

    async def check(self, visit: Visit) -> None:
        """Raises: Refusal."""
        user = find_certified(visit.certificate) or await self._by_token(visit.authorization)
        if user is None:
            raise Refusal(401, "Unauthorized")
        if MASTERS not in user.groups:
            await self._check_rights(user, visit)

    async def _by_token(self, authorization: str) -> UserInfo | None:
        scheme, _, token = authorization.strip().partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return None
        key = hashlib.sha256(token.encode()).hexdigest()
        known = self._users.find(key)
        if known is not None:
            return known[0]
        try:
            user = await self._identities.find_user(token)
        except (ApiError, ConnectionLost) as error:
            raise Refusal(401, "Unauthorized") from error
        self._users.keep(key, user)
        return user

    async def _check_rights(self, user: UserInfo, visit: Visit) -> None:
        attempts = tuple(request_attributes(visit.method, visit.path))
        for attributes in attempts:
            if await self._may(user, attributes):
                return
        words = " ".join(attributes.subresource for attributes in attempts)
        verb = attempts[0].verb
        raise Refusal(
            403,
            f"Forbidden (user={user.username}, verb={verb}, resource=nodes, "
            f"subresource(s)=[{words}])\n",
        )

    async def _may(self, user: UserInfo, attributes: RequestAttributes) -> bool:
        key = _encode(user), attributes
        known = self._verdicts.find(key)
        if known is not None:
            return known[0]
        try:
            verdict = await self._rights.may(user, attributes)
        except (ApiError, ConnectionLost) as error:
            raise Refusal(
                500,
                f"Authorization error (user={user.username}, verb={attributes.verb}, "
                f"resource=nodes, subresource={attributes.subresource})",
            ) from error
        self._verdicts.keep(key, verdict)
        return verdict


def request_attributes(method: str, path: str) -> Iterator[RequestAttributes]:
    """Any of these rights will do."""
    first = path.strip("/").partition("/")[0]
    for subresource in _SUBRESOURCES.get(first, ("proxy",)):
        yield RequestAttributes(_VERBS.get(method, ""), subresource)


def find_certified(certificate: Mapping[str, Any] | None) -> UserInfo | None:
    """The user of a verified certificate: its common name, with its organizations as groups."""
    if not certificate:
        return None
    names = [pair for part in certificate.get("subject", ()) for pair in part]
    common = [value for field, value in names if field == "commonName"]
    groups = tuple(value for field, value in names if field == "organizationName")
    return UserInfo(username=common[0], groups=groups) if common else None


class _Memory(Generic[K, V]):
    """Answers, for a short while."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[K, tuple[V, float]] = {}

    def find(self, key: K) -> tuple[V] | None:
        known = self._known.get(key)
        if known is None or known[1] <= self._clock.monotonic():
            return None
        return (known[0],)

    def keep(self, key: K, answer: V) -> None:
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[key] = answer, self._clock.monotonic() + REMEMBERED
