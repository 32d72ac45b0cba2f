"""Whose request is this? Tokens become users; users may ask to be taken for others."""

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

import msgspec

from mooring.apiserver.auth.attributes import AccessAttributes
from mooring.apiserver.auth.authorize import Authorizer, refusal
from mooring.apiserver.auth.roles import AUTHENTICATION
from mooring.apiserver.auth.service_account_tokens import (
    Claims,
    FindObject,
    Refused,
    ServiceAccountTokens,
    common_audiences,
    find_flaw,
    user_of,
)
from mooring.apiserver.auth.tokens import RoleTokens
from mooring.apiserver.auth.user import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
    find_service_account,
    service_account_groups,
)
from mooring.clock import Clock
from mooring.errors import BadRequest, Unauthorized

_MOST_REMEMBERED = 4096
_LONGEST_REMEMBERED = 4096  # characters of a header or token; those issued here are shorter

_PREFIX = "impersonate-"
_USER, _GROUP, _UID = "impersonate-user", "impersonate-group", "impersonate-uid"
_EXTRA_PREFIX = "impersonate-extra-"


class Known(msgspec.Struct, frozen=True):
    """A token's user, and the audiences (of those asked for) that the token is meant for."""

    user: User
    audiences: tuple[str, ...]


class Authenticator:
    def __init__(
        self,
        role_tokens: RoleTokens,
        account_tokens: ServiceAccountTokens,
        find: FindObject,
        clock: Clock,
    ) -> None:
        self._role_tokens = role_tokens
        self._account_tokens = account_tokens
        self._find = find
        self._clock = clock
        # By the whole header. Role tokens hold until their file changes, claims as long as what
        # they name.
        self._users: dict[str | None, User] = {None: ANONYMOUS}
        self._claims: dict[str, Claims] = {}

    def authenticate(self, authorization: str | None) -> User:
        """The user behind an `Authorization` header; without a bearer token, the anonymous one.

        Raises: Unauthorized when there is a token, and it is not good.
        """
        if self._role_tokens.refresh():
            self._users = {None: ANONYMOUS}
        known = self._users.get(authorization)
        if known is not None:
            return known
        token = _bearer_token(authorization or "")
        if not token:
            return ANONYMOUS
        role_user = None if token in self._claims else self._role_tokens.find_user(token)
        if role_user is not None:
            if len(self._users) >= _MOST_REMEMBERED:
                self._users = {None: ANONYMOUS}
            if authorization is not None and len(authorization) <= _LONGEST_REMEMBERED:
                self._users[authorization] = role_user
            return role_user
        if joining := self._role_tokens.joins.find_user(token):
            return joining
        found = self._by_claims(token, self._account_tokens.audiences)
        if isinstance(found, Refused):
            raise Unauthorized("Unauthorized")
        return found.user

    def review(self, token: str, audiences: Sequence[str]) -> Known | Refused:
        """The same for a bare token, to be used with `audiences` (none: this API server)."""
        wanted = tuple(audiences) or self._account_tokens.audiences
        role_user = self._role_tokens.find_user(token)
        if role_user is None:
            return self._by_claims(token, wanted)
        common = common_audiences(self._account_tokens.audiences, wanted)
        return Known(role_user, common) if common else Refused("invalid bearer token")

    def _by_claims(self, token: str, audiences: tuple[str, ...]) -> Known | Refused:
        claims = self._claims.get(token)
        if claims is None:
            read = self._account_tokens.read(token)
            if isinstance(read, Refused):
                return read
            if len(self._claims) >= _MOST_REMEMBERED:
                self._claims.clear()
            claims = read
            if len(token) <= _LONGEST_REMEMBERED:
                self._claims[token] = read
        if flaw := find_flaw(claims, audiences, self._clock.now(), self._find):
            return Refused(flaw)
        return Known(user_of(claims), common_audiences(claims.aud, audiences))


def impersonate(user: User, headers: Mapping[str, str], authorizer: Authorizer) -> User:
    """The user that the `Impersonate-*` headers ask for; `user` itself when there are none.

    `headers` have lower-case names; repeated ones are joined by newlines.
    Raises: Forbidden when `user` may not be taken for them; BadRequest when no user is named.
    """
    if _PREFIX not in " ".join(headers):
        return user
    return _impersonated(user, headers, authorizer)


class _Wish(msgspec.Struct, frozen=True):
    """One thing to be taken for; `kind` and the rest as upstream's messages show it."""

    kind: str
    name: str
    namespace: str = ""
    extra_key: str = ""

    def __str__(self) -> str:
        version = f"{AUTHENTICATION}/v1" if self.kind in {"UserExtra", "UID"} else ""
        return f"{{{self.kind} {self.namespace} {self.name}  {version}  {self.extra_key}}}"

    def attributes(self) -> AccessAttributes:
        group, resource = _RESOURCES[self.kind]
        return AccessAttributes(
            "impersonate",
            group=group,
            resource=resource,
            subresource=self.extra_key,
            namespace=self.namespace,
            name=self.name,
        )


_RESOURCES = {
    "User": ("", "users"),
    "ServiceAccount": ("", "serviceaccounts"),
    "Group": ("", "groups"),
    "UserExtra": (AUTHENTICATION, "userextras"),
    "UID": (AUTHENTICATION, "uids"),
}


def _impersonated(user: User, headers: Mapping[str, str], authorizer: Authorizer) -> User:
    name = _first(headers.get(_USER, ""))
    wishes = _wishes(name, headers)
    if not wishes:
        return user
    if not name:
        told = " ".join(map(str, wishes))
        raise BadRequest(f"requested [{told}] without impersonating a user")
    for wish in wishes:
        verdict = authorizer.authorize(user, wish.attributes())
        if not verdict.allowed:
            raise refusal(user, wish.attributes(), verdict)
    extra: dict[str, tuple[str, ...]] = {}
    for wish in wishes:
        if wish.kind == "UserExtra":
            extra[wish.extra_key] = (*extra.get(wish.extra_key, ()), wish.name)
    groups = tuple(wish.name for wish in wishes if wish.kind == "Group")
    return User(
        name,
        uid=_first(headers.get(_UID, "")),
        groups=_completed(name, groups),
        extra=extra,
    )


def _wishes(name: str, headers: Mapping[str, str]) -> list[_Wish]:
    wishes: list[_Wish] = []
    if account := find_service_account(name):
        wishes.append(_Wish("ServiceAccount", account[1], namespace=account[0]))
    elif name:
        wishes.append(_Wish("User", name))
    if _GROUP in headers:
        wishes += (_Wish("Group", group) for group in headers[_GROUP].split("\n"))
    for header, value in headers.items():
        if header.startswith(_EXTRA_PREFIX):
            key = unquote(header[len(_EXTRA_PREFIX) :].lower())
            wishes += (_Wish("UserExtra", part, extra_key=key) for part in value.split("\n"))
    if uid := _first(headers.get(_UID, "")):
        wishes.append(_Wish("UID", uid))
    return wishes


def _completed(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """The groups asked for, with those that come by themselves."""
    if not groups and (account := find_service_account(name)):
        groups = service_account_groups(account[0])
    if name == ANONYMOUS.name:
        return groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, AUTHENTICATED)


def _bearer_token(header: str) -> str:
    """The token in `Bearer <token>`; empty when the header is of another sort."""
    scheme, _, rest = header.strip().partition(" ")
    return rest.partition(" ")[0] if scheme.lower() == "bearer" else ""


def _first(value: str) -> str:
    return value.partition("\n")[0]
