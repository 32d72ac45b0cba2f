"""Tokens of service accounts: what they claim, and when they stop being good."""

import base64
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.auth.service_account_tokens import (
    Claims,
    FindObject,
    Named,
    Refused,
    ServiceAccountTokens,
    Subject,
    find_flaw,
    user_of,
)
from mooring.model.document import Doc
from mooring.model.timestamp import to_seconds

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ISSUER = "https://mooring.test"
HOUR = timedelta(hours=1)
KEY = ec.generate_private_key(ec.SECP256R1())
TOKENS = ServiceAccountTokens(KEY, ISSUER)

ACCOUNT = Named("web", "uid-sa")
PLAIN = Subject("default", ACCOUNT)
IN_POD = Subject("default", ACCOUNT, pod=Named("web-0", "uid-pod"), node=Named("n1", "uid-n1"))
IN_SECRET = Subject("default", ACCOUNT, secret=Named("old-style", "uid-secret"))
ON_NODE = Subject("default", ACCOUNT, node=Named("n1", "uid-n1"))

Objects = dict[tuple[str, str, str], Doc]


def an_object(uid: str, deleted: datetime | None = None) -> Doc:
    meta: Doc = {"uid": uid}
    if deleted:
        meta["deletionTimestamp"] = to_seconds(deleted)
    return {"metadata": meta}


def world(**changes: Doc | None) -> FindObject:
    objects = {
        ("serviceaccounts", "default", "web"): an_object("uid-sa"),
        ("pods", "default", "web-0"): an_object("uid-pod"),
        ("secrets", "default", "old-style"): an_object("uid-secret"),
        ("nodes", "", "n1"): an_object("uid-n1"),
    }
    plurals = {key[0]: key for key in objects}
    changed: dict[tuple[str, str, str], Doc | None] = {
        **objects,
        **{plurals[plural]: doc for plural, doc in changes.items()},
    }
    return lambda plural, namespace, name: changed.get((plural, namespace, name))


def issued(subject: Subject = PLAIN, audiences: Sequence[str] = (ISSUER,)) -> str:
    return TOKENS.issue(subject, audiences, HOUR, NOW, "token-7").reveal()


def claims_of(token: str) -> Claims:
    claims = TOKENS.read(token)
    assert isinstance(claims, Claims)
    return claims


def test_the_claims_are_those_of_kubernetes() -> None:
    token = issued(IN_POD)
    header = jwt.get_unverified_header(token)
    payload = jwt.decode(token, options={"verify_signature": False})
    began = int(NOW.timestamp())
    assert (header["alg"], bool(header["kid"])) == ("ES256", True)
    assert payload == {
        "aud": [ISSUER],
        "exp": began + 3600,
        "iat": began,
        "iss": ISSUER,
        "jti": "token-7",
        "kubernetes.io": {
            "namespace": "default",
            "node": {"name": "n1", "uid": "uid-n1"},
            "pod": {"name": "web-0", "uid": "uid-pod"},
            "serviceaccount": {"name": "web", "uid": "uid-sa"},
        },
        "nbf": began,
        "sub": "system:serviceaccount:default:web",
    }


def test_what_it_is_not_bound_to_is_not_claimed() -> None:
    payload = jwt.decode(issued(PLAIN), options={"verify_signature": False})
    assert set(payload["kubernetes.io"]) == {"namespace", "serviceaccount"}


def test_the_user_of_a_plain_token() -> None:
    found = user_of(claims_of(issued()))
    assert (found.name, found.uid) == ("system:serviceaccount:default:web", "uid-sa")
    assert found.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    )
    assert found.extra == {"authentication.kubernetes.io/credential-id": ("JTI=token-7",)}


def test_the_user_of_a_pods_token_tells_the_pod_and_its_node() -> None:
    assert user_of(claims_of(issued(IN_POD))).extra == {
        "authentication.kubernetes.io/credential-id": ("JTI=token-7",),
        "authentication.kubernetes.io/pod-name": ("web-0",),
        "authentication.kubernetes.io/pod-uid": ("uid-pod",),
        "authentication.kubernetes.io/node-name": ("n1",),
        "authentication.kubernetes.io/node-uid": ("uid-n1",),
    }


HOLDS = {
    "a new token": (PLAIN, NOW, world()),
    "until its last second": (PLAIN, NOW + HOUR - timedelta(seconds=1), world()),
    "when the clock was set back a little": (PLAIN, NOW - timedelta(seconds=50), world()),
    "bound to a pod that runs": (IN_POD, NOW, world()),
    "bound to a pod, its node being gone": (IN_POD, NOW, world(nodes=None)),
    "bound to a pod that has its grace period": (
        IN_POD,
        NOW,
        world(pods=an_object("uid-pod", NOW + timedelta(seconds=30))),
    ),
    "bound to a secret": (IN_SECRET, NOW, world()),
    "bound to a node": (ON_NODE, NOW, world()),
    "its account has just been deleted": (
        PLAIN,
        NOW,
        world(serviceaccounts=an_object("uid-sa", NOW - timedelta(seconds=10))),
    ),
}


@pytest.mark.parametrize(("subject", "now", "find"), HOLDS.values(), ids=HOLDS)
def test_a_token_holds(subject: Subject, now: datetime, find: FindObject) -> None:
    assert find_flaw(claims_of(issued(subject)), [ISSUER], now, find) is None


INVALIDATED = "service account token has been invalidated"
LONG_GONE = NOW - timedelta(minutes=2)
FAILS = {
    "it expired": (PLAIN, NOW + HOUR, world(), "service account token has expired"),
    "it is not valid yet": (
        PLAIN,
        NOW - timedelta(minutes=5),
        world(),
        "service account token is not valid yet",
    ),
    "its account is gone": (
        PLAIN,
        NOW,
        world(serviceaccounts=None),
        'serviceaccounts "web" not found',
    ),
    "its account is another one": (
        PLAIN,
        NOW,
        world(serviceaccounts=an_object("uid-2")),
        "service account UID (uid-2) does not match claim (uid-sa)",
    ),
    "its account waits for finalizers": (
        PLAIN,
        NOW,
        world(serviceaccounts=an_object("uid-sa", LONG_GONE)),
        "service account default/web has been deleted",
    ),
    "its pod is gone": (IN_POD, NOW, world(pods=None), INVALIDATED),
    "its pod is another one": (
        IN_POD,
        NOW,
        world(pods=an_object("uid-2")),
        "pod UID (uid-2) does not match service account pod ref claim (uid-pod)",
    ),
    "its pod's time is up": (IN_POD, NOW, world(pods=an_object("uid-pod", LONG_GONE)), INVALIDATED),
    "its secret is gone": (IN_SECRET, NOW, world(secrets=None), INVALIDATED),
    "its secret is another one": (
        IN_SECRET,
        NOW,
        world(secrets=an_object("uid-2")),
        "secret UID (uid-2) does not match service account secret ref claim (uid-secret)",
    ),
    "its node is gone": (ON_NODE, NOW, world(nodes=None), INVALIDATED),
}


@pytest.mark.parametrize(("subject", "now", "find", "flaw"), FAILS.values(), ids=FAILS)
def test_a_token_no_longer_holds(
    subject: Subject, now: datetime, find: FindObject, flaw: str
) -> None:
    assert find_flaw(claims_of(issued(subject)), [ISSUER], now, find) == flaw


def test_a_token_for_another_audience_is_refused_here() -> None:
    claims = claims_of(issued(audiences=["vault"]))
    assert find_flaw(claims, ["vault", "x"], NOW, world()) is None
    assert find_flaw(claims, [ISSUER], NOW, world()) == (
        'token audiences ["vault"] is invalid for the target audiences ["https://mooring.test"]'
    )


def forged(**changes: Any) -> str:
    payload = jwt.decode(issued(), options={"verify_signature": False}) | changes
    kid = jwt.get_unverified_header(issued())["kid"]
    return jwt.encode(payload, KEY, "ES256", headers={"kid": kid})


def without_a_claim(name: str) -> str:
    payload = jwt.decode(issued(), options={"verify_signature": False})
    del payload[name]
    kid = jwt.get_unverified_header(issued())["kid"]
    return jwt.encode(payload, KEY, "ES256", headers={"kid": kid})


def with_own_key() -> str:
    own = ec.generate_private_key(ec.SECP256R1())
    return ServiceAccountTokens(own, ISSUER).issue(PLAIN, [ISSUER], HOUR, NOW, "x").reveal()


def with_borrowed_key_id() -> str:
    payload = jwt.decode(issued(), options={"verify_signature": False})
    kid = jwt.get_unverified_header(issued())["kid"]
    own = ec.generate_private_key(ec.SECP256R1())
    return jwt.encode(payload, own, "ES256", headers={"kid": kid})


def unsigned() -> str:
    payload = jwt.decode(issued(), options={"verify_signature": False})
    kid = jwt.get_unverified_header(issued())["kid"]
    return jwt.encode(payload, "", "none", headers={"kid": kid})


def tampered() -> str:
    head, body, signature = issued().split(".")
    return ".".join((head, body, signature[:-2] + ("AA" if signature[-2:] != "AA" else "BB")))


UNREADABLE: dict[str, tuple[Callable[[], str], str]] = {
    "no token at all": (lambda: "hello", "invalid bearer token"),
    "empty": (lambda: "", "invalid bearer token"),
    "not even text": (lambda: "\udcff.a.b", "invalid bearer token"),
    "nested without end": (
        lambda: f"{base64.urlsafe_b64encode(b'[' * 30_000).decode()}.e30.e30",
        "invalid bearer token",
    ),
    "signed by somebody else": (with_own_key, "invalid signature, no keys found"),
    "signed by somebody who knows our key's name": (with_borrowed_key_id, "invalid bearer token"),
    "not signed": (unsigned, "invalid bearer token"),
    "signature changed": (tampered, "invalid bearer token"),
    "of another issuer": (
        lambda: forged(iss="https://other"),
        'token issuer "https://other" is invalid',
    ),
    "without an end": (lambda: without_a_claim("exp"), "invalid bearer token"),
    "without an account": (lambda: without_a_claim("kubernetes.io"), "invalid bearer token"),
}


@pytest.mark.parametrize(("token", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_token_that_we_did_not_make_is_refused(token: Callable[[], str], reason: str) -> None:
    assert TOKENS.read(token()) == Refused(reason)


@given(st.lists(st.text(), min_size=1, max_size=4).map(".".join))
def test_whatever_is_shown_as_a_token_is_read_or_refused(token: str) -> None:
    assert isinstance(TOKENS.read(token), Refused)


@given(st.binary(), st.binary())
def test_a_token_with_a_changed_part_is_refused(head: bytes, body: bytes) -> None:
    signature = issued().rpartition(".")[2]
    parts = [base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (head, body)]
    assert isinstance(TOKENS.read(".".join((*parts, signature))), Refused)


def test_a_token_without_audience_is_for_nobody() -> None:
    assert find_flaw(claims_of(without_a_claim("aud")), [ISSUER], NOW, world()) is not None


def test_a_key_keeps_its_name_over_a_restart() -> None:
    again = ServiceAccountTokens(KEY, ISSUER)
    assert isinstance(again.read(issued()), Claims)
