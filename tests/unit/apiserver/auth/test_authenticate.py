"""From headers to users."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from mooring.apiserver.auth import tokens, user
from mooring.apiserver.auth.authenticate import Authenticator, Known, impersonate
from mooring.apiserver.auth.authorize import Authorizer
from mooring.apiserver.auth.rules import Binding, Role, Rule
from mooring.apiserver.auth.service_account_tokens import (
    Named,
    Refused,
    ServiceAccountTokens,
    Subject,
)
from mooring.apiserver.auth.tokens import open_role_tokens
from mooring.apiserver.auth.user import ADMIN, ANONYMOUS, READ_ONLY, User, node_user
from mooring.errors import BadRequest, Forbidden, Unauthorized
from mooring.model.document import Doc
from tests.unit.apiserver.auth.cluster import two_nodes

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ISSUER = "https://mooring.test"
KEY = ec.generate_private_key(ec.SECP256R1())


class FixedClock:
    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


class Door:
    """An Authenticator with its surroundings at hand."""

    def __init__(self, directory: Path) -> None:
        self.roles = open_role_tokens(directory / "tokens.json")
        self.accounts = ServiceAccountTokens(KEY, ISSUER)
        self.clock = FixedClock()
        self.objects: dict[tuple[str, str, str], Doc] = {
            ("serviceaccounts", "default", "web"): {"metadata": {"uid": "uid-sa"}}
        }
        self.authenticator = Authenticator(
            self.roles, self.accounts, lambda *key: self.objects.get(key), self.clock
        )

    def account_token(self, *audiences: str) -> str:
        subject = Subject("default", Named("web", "uid-sa"))
        hour = timedelta(hours=1)
        return self.accounts.issue(subject, audiences or (ISSUER,), hour, NOW, "id").reveal()

    def enter(self, header: str | None) -> User:
        return self.authenticator.authenticate(header)


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


ANONYMOUS_HEADERS = {
    "no header": None,
    "an empty header": "",
    "another scheme": "Basic YWRtaW46YWRtaW4=",
    "a bearer without a token": "Bearer ",
    "a bearer with two spaces": "Bearer  x",
}


@pytest.mark.parametrize("header", ANONYMOUS_HEADERS.values(), ids=ANONYMOUS_HEADERS)
def test_without_a_bearer_token_one_is_anonymous(door: Door, header: str | None) -> None:
    assert door.enter(header) is ANONYMOUS


@pytest.mark.parametrize("spelling", ["Bearer {}", "bearer {}", " Bearer {} ", "Bearer {} more"])
def test_a_role_token_is_its_user(door: Door, spelling: str) -> None:
    header = spelling.format(door.roles.token(tokens.ADMIN).reveal())
    assert [door.enter(header) for _ in range(2)] == [ADMIN, ADMIN]


def test_a_node_token_made_later_is_known_at_once(door: Door) -> None:
    assert door.enter(f"Bearer {door.roles.node_token('n1').reveal()}") == node_user("n1")


def test_a_service_account_token_is_its_account(door: Door) -> None:
    found = door.enter(f"Bearer {door.account_token()}")
    assert (found.name, found.uid) == ("system:serviceaccount:default:web", "uid-sa")


BAD: dict[str, Callable[[Door], str]] = {
    "a guess": lambda door: "hello",
    "a token with a letter more": lambda door: door.roles.token(tokens.ADMIN).reveal() + "x",
    "two headers in one": lambda door: f"{door.roles.token(tokens.ADMIN).reveal()}\nBearer y",
    "for another audience": lambda door: door.account_token("vault"),
    "a broken JWT": lambda door: door.account_token()[:-4],
}


@pytest.mark.parametrize("token", BAD.values(), ids=BAD)
def test_a_bad_token_is_worse_than_none(door: Door, token: Callable[[Door], str]) -> None:
    with pytest.raises(Unauthorized) as refused:
        door.enter(f"Bearer {token(door)}")
    assert refused.value.status()["message"] == "Unauthorized"


def test_a_service_account_token_ends(door: Door) -> None:
    header = f"Bearer {door.account_token()}"
    door.enter(header)
    door.clock.moment = NOW + timedelta(hours=1)
    with pytest.raises(Unauthorized):
        door.enter(header)


def test_a_deleted_account_is_out_at_once(door: Door) -> None:
    header = f"Bearer {door.account_token()}"
    door.enter(header)
    door.objects.clear()
    with pytest.raises(Unauthorized):
        door.enter(header)


def test_many_spellings_do_not_fill_the_memory(door: Door) -> None:
    token = door.roles.token(tokens.ADMIN).reveal()
    for index in range(5_000):
        assert door.enter(f"Bearer {token} {index}") == ADMIN
    assert len(door.authenticator._users) <= 4096
    assert door.enter(None) is ANONYMOUS


def test_a_known_header_is_not_looked_into_again(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = f"Bearer {door.roles.token(tokens.ADMIN).reveal()}"
    door.enter(header)

    def fail(token: str) -> User:
        raise AssertionError("looked into")

    monkeypatch.setattr(door.roles, "find_user", fail)
    assert door.enter(header) is ADMIN


def test_a_review_tells_whom_a_token_is_for(door: Door) -> None:
    admin = door.roles.token(tokens.ADMIN).reveal()
    assert door.authenticator.review(admin, ()) == Known(ADMIN, (ISSUER,))
    assert door.authenticator.review(admin, ("vault",)) == Refused("invalid bearer token")
    found = door.authenticator.review(door.account_token("vault", "x"), ("vault",))
    assert isinstance(found, Known)
    assert (found.user.uid, found.audiences) == ("uid-sa", ("vault",))
    assert door.authenticator.review("hello", ()) == Refused("invalid bearer token")


# impersonation

CAN = Authorizer(two_nodes())
Headers = dict[str, str]

POSING: dict[str, tuple[Headers, User]] = {
    "a user": (
        {"impersonate-user": "bob"},
        User("bob", groups=("system:authenticated",)),
    ),
    "a user in groups": (
        {"impersonate-user": "bob", "impersonate-group": "dev\nops"},
        User("bob", groups=("dev", "ops", "system:authenticated")),
    ),
    "a group may be named that comes by itself": (
        {"impersonate-user": "bob", "impersonate-group": "system:authenticated\ndev"},
        User("bob", groups=("system:authenticated", "dev")),
    ),
    "a service account, with its groups": (
        {"impersonate-user": "system:serviceaccount:default:web"},
        User(
            "system:serviceaccount:default:web",
            groups=(
                "system:serviceaccounts",
                "system:serviceaccounts:default",
                "system:authenticated",
            ),
        ),
    ),
    "a service account in other groups": (
        {"impersonate-user": "system:serviceaccount:default:web", "impersonate-group": "dev"},
        User("system:serviceaccount:default:web", groups=("dev", "system:authenticated")),
    ),
    "a node": (
        {"impersonate-user": "system:node:n1", "impersonate-group": "system:nodes"},
        node_user("n1"),
    ),
    "the anonymous user": (
        {"impersonate-user": "system:anonymous"},
        User("system:anonymous", groups=("system:unauthenticated",)),
    ),
    "somebody unauthenticated": (
        {"impersonate-user": "bob", "impersonate-group": "system:unauthenticated"},
        User("bob", groups=("system:unauthenticated",)),
    ),
    "a user with uid and extras": (
        {
            "impersonate-user": "bob",
            "impersonate-uid": "7",
            "impersonate-extra-scopes": "view\nedit",
            "impersonate-extra-acme.com%2fproject": "x",
        },
        User(
            "bob",
            uid="7",
            groups=("system:authenticated",),
            extra={"scopes": ("view", "edit"), "acme.com/project": ("x",)},
        ),
    ),
}


@pytest.mark.parametrize(("headers", "expected"), POSING.values(), ids=POSING)
def test_an_administrator_may_pose_as(headers: Headers, expected: User) -> None:
    assert impersonate(ADMIN, headers, CAN) == expected


def test_without_the_headers_one_stays_oneself() -> None:
    assert impersonate(READ_ONLY, {"authorization": "x", "accept": "y"}, CAN) is READ_ONLY


def test_an_empty_header_asks_for_nobody() -> None:
    assert impersonate(ADMIN, {"impersonate-user": ""}, CAN) is ADMIN


REFUSED: dict[str, tuple[Headers, str]] = {
    "as a user": (
        {"impersonate-user": "bob"},
        'users "bob" is forbidden: User "read-only" cannot impersonate resource "users" '
        'in API group "" at the cluster scope',
    ),
    "as a service account": (
        {"impersonate-user": "system:serviceaccount:kube-system:x"},
        'serviceaccounts "x" is forbidden: User "read-only" cannot impersonate resource '
        '"serviceaccounts" in API group "" in the namespace "kube-system"',
    ),
}


@pytest.mark.parametrize(("headers", "message"), REFUSED.values(), ids=REFUSED)
def test_nobody_else_may_pose(headers: Headers, message: str) -> None:
    with pytest.raises(Forbidden) as refused:
        impersonate(READ_ONLY, headers, CAN)
    assert refused.value.message == message


def test_every_part_of_a_pose_needs_the_right() -> None:
    users_only = Role("posing", (Rule(("impersonate",), ("",), ("users",)),))
    authorizer = Authorizer(two_nodes(), (Binding(users_only, users=("eve",)),))
    eve = User("eve")
    assert impersonate(eve, {"impersonate-user": "bob"}, authorizer).name == "bob"
    for header, resource in {
        "impersonate-group": "groups",
        "impersonate-uid": "uids",
        "impersonate-extra-k": "userextras/k",
    }.items():
        with pytest.raises(Forbidden, match=f'cannot impersonate resource "{resource}"'):
            impersonate(eve, {"impersonate-user": "bob", header: user.MASTERS}, authorizer)


NO_USER: dict[str, tuple[Headers, str]] = {
    "groups alone": (
        {"impersonate-group": "dev"},
        "requested [{Group  dev    }] without impersonating a user",
    ),
    "a uid alone": (
        {"impersonate-uid": "7"},
        "requested [{UID  7  authentication.k8s.io/v1  }] without impersonating a user",
    ),
    "an extra alone": (
        {"impersonate-extra-k": "v"},
        "requested [{UserExtra  v  authentication.k8s.io/v1  k}] without impersonating a user",
    ),
}


@pytest.mark.parametrize(("headers", "message"), NO_USER.values(), ids=NO_USER)
def test_posing_needs_a_user(headers: Headers, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        impersonate(ADMIN, headers, CAN)
    assert refused.value.message == message


def test_whoever_shows_no_token_may_not_pose() -> None:
    with pytest.raises(Unauthorized):
        impersonate(ANONYMOUS, {"impersonate-user": "admin"}, CAN)
