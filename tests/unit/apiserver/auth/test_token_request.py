"""TokenRequest: what may be asked for, and the answer."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from mooring.apiserver.auth import token_request
from mooring.apiserver.auth.service_account_tokens import Claims, ServiceAccountTokens, find_flaw
from mooring.errors import ApiError, BadRequest, Conflict, Invalid, NotFound
from mooring.model.document import Doc

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ISSUER = "https://mooring.test"
TOKENS = ServiceAccountTokens(ec.generate_private_key(ec.SECP256R1()), ISSUER)
ACCOUNT = {"metadata": {"name": "web", "namespace": "default", "uid": "uid-sa"}}
POD_SPEC = {"serviceAccountName": "web", "nodeName": "n1"}
OBJECTS: dict[tuple[str, str, str], Doc] = {
    ("serviceaccounts", "default", "web"): ACCOUNT,
    ("pods", "default", "web-0"): {
        "metadata": {"name": "web-0", "uid": "uid-pod"},
        "spec": POD_SPEC,
    },
    ("pods", "default", "lost"): {
        "metadata": {"name": "lost", "uid": "uid-lost"},
        "spec": {"serviceAccountName": "web", "nodeName": "gone"},
    },
    ("pods", "default", "waiting"): {
        "metadata": {"name": "waiting", "uid": "uid-waiting"},
        "spec": {"serviceAccountName": "web"},
    },
    ("pods", "default", "other"): {
        "metadata": {"name": "other", "uid": "uid-other"},
        "spec": {"serviceAccountName": "other"},
    },
    ("secrets", "default", "s"): {"metadata": {"name": "s", "uid": "uid-s"}},
    ("nodes", "", "n1"): {"metadata": {"name": "n1", "uid": "uid-n1"}},
}


def find(plural: str, namespace: str, name: str) -> Doc | None:
    return OBJECTS.get((plural, namespace, name))


def asked(metadata: Doc | None = None, **spec: Any) -> Doc:
    request = {"kind": "TokenRequest", "metadata": metadata or {}, "spec": spec}
    prepared = token_request.prepare(request, ACCOUNT, TOKENS)
    return token_request.grant(prepared, TOKENS, find, NOW, "id-7")


def test_the_answer_is_the_request_filled_in_and_a_token() -> None:
    answer = asked()
    token = answer["status"].pop("token")
    assert answer == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "uid": "uid-sa",
            "creationTimestamp": "2026-03-01T12:00:00Z",
        },
        "spec": {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None},
        "status": {"expirationTimestamp": "2026-03-01T13:00:00Z"},
    }
    payload = jwt.decode(token, options={"verify_signature": False})
    assert payload["exp"] - payload["iat"] == 3600
    assert payload["sub"] == "system:serviceaccount:default:web"
    assert (payload["aud"], payload["jti"]) == ([ISSUER], "id-7")


def test_nulls_are_blanks() -> None:
    answer = asked(
        {"creationTimestamp": None}, audiences=None, expirationSeconds=None, boundObjectRef=None
    )
    assert answer["spec"]["expirationSeconds"] == 3600


def test_the_token_is_good_here() -> None:
    claims = TOKENS.read(asked()["status"]["token"])
    assert isinstance(claims, Claims)
    assert find_flaw(claims, TOKENS.audiences, NOW, find) is None


def test_audiences_are_those_asked_for() -> None:
    token = asked(audiences=["vault", "x"])["status"]["token"]
    assert jwt.decode(token, options={"verify_signature": False})["aud"] == ["vault", "x"]


PREPARED: dict[str, tuple[list[str] | None, list[str]]] = {
    "none": (None, []),
    "this server's": ([ISSUER], []),
    "another's": (["vault"], ["vault"]),
    "this server's and another's": ([ISSUER, "vault"], [ISSUER, "vault"]),
}


@pytest.mark.parametrize(("audiences", "prepared"), PREPARED.values(), ids=PREPARED)
def test_admission_sees_the_audiences_as_pods_ask_for_them(
    audiences: list[str] | None, prepared: list[str]
) -> None:
    request = {"spec": {"audiences": audiences}}
    assert token_request.prepare(request, ACCOUNT, TOKENS)["spec"]["audiences"] == prepared


def ref(kind: str, name: str, uid: str = "", version: str = "v1") -> Doc:
    return {"kind": kind, "apiVersion": version, "name": name, "uid": uid}


SA = {"name": "web", "uid": "uid-sa"}
BOUND: dict[str, tuple[Doc, Doc]] = {
    "a pod, with its node": (
        ref("Pod", "web-0", "uid-pod"),
        {"pod": {"name": "web-0", "uid": "uid-pod"}, "node": {"name": "n1", "uid": "uid-n1"}},
    ),
    "a pod, by name alone": (
        ref("Pod", "web-0"),
        {"pod": {"name": "web-0", "uid": "uid-pod"}, "node": {"name": "n1", "uid": "uid-n1"}},
    ),
    "a pod whose node is gone": (
        ref("Pod", "lost"),
        {"pod": {"name": "lost", "uid": "uid-lost"}, "node": {"name": "gone"}},
    ),
    "a pod without a node": (
        ref("Pod", "waiting"),
        {"pod": {"name": "waiting", "uid": "uid-waiting"}},
    ),
    "a secret": (ref("Secret", "s"), {"secret": {"name": "s", "uid": "uid-s"}}),
    "a node": (ref("Node", "n1"), {"node": {"name": "n1", "uid": "uid-n1"}}),
}


@pytest.mark.parametrize(("bound", "claimed"), BOUND.values(), ids=BOUND)
def test_a_token_is_bound_to(bound: Doc, claimed: Doc) -> None:
    answer = asked(boundObjectRef=bound)
    payload = jwt.decode(answer["status"]["token"], options={"verify_signature": False})
    expected = {"namespace": "default", "serviceaccount": SA} | claimed
    assert payload["kubernetes.io"] == expected
    assert answer["spec"]["boundObjectRef"] == bound


LENGTHS = {"the shortest": 600, "the longest": 1 << 32}


@pytest.mark.parametrize("seconds", LENGTHS.values(), ids=LENGTHS)
def test_a_token_may_last(seconds: int) -> None:
    token = asked(expirationSeconds=seconds)["status"]["token"]
    payload = jwt.decode(token, options={"verify_signature": False})
    assert payload["exp"] - payload["iat"] == seconds


WHAT = "TokenRequest.authentication.k8s.io"
TOO_SHORT = "may not specify a duration less than 10 minutes"
REFUSED: dict[str, tuple[Callable[[], Doc], type[ApiError], str]] = {
    "less than ten minutes": (
        lambda: asked(expirationSeconds=5),
        Invalid,
        f'{WHAT} "" is invalid: spec.expirationSeconds: Invalid value: 5: {TOO_SHORT}',
    ),
    "a second less than ten minutes": (
        lambda: asked(expirationSeconds=599),
        Invalid,
        f'{WHAT} "" is invalid: spec.expirationSeconds: Invalid value: 599: {TOO_SHORT}',
    ),
    "no time at all": (
        lambda: asked(expirationSeconds=0),
        Invalid,
        f'{WHAT} "" is invalid: spec.expirationSeconds: Invalid value: 0: {TOO_SHORT}',
    ),
    "more than 2^32 seconds": (
        lambda: asked(expirationSeconds=(1 << 32) + 1),
        Invalid,
        f'{WHAT} "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: '
        "may not specify a duration larger than 2^32 seconds",
    ),
    "another account's name": (
        lambda: asked({"name": "x"}),
        Invalid,
        f'{WHAT} "web" is invalid: metadata.name: Invalid value: "x": '
        "must match the service account name if specified",
    ),
    "another namespace": (
        lambda: asked({"namespace": "x"}),
        Invalid,
        f'{WHAT} "web" is invalid: metadata.namespace: Invalid value: "x": '
        "must match the service account namespace if specified",
    ),
    "another account of this name": (
        lambda: asked({"uid": "uid-2"}),
        Conflict,
        f'Operation cannot be fulfilled on {WHAT} "web": the UID in the token request (uid-2) '
        "does not match the UID of the service account (uid-sa)",
    ),
    "a pod that is not there": (
        lambda: asked(boundObjectRef=ref("Pod", "absent")),
        NotFound,
        'pods "absent" not found',
    ),
    "another pod of this name": (
        lambda: asked(boundObjectRef=ref("Pod", "web-0", "uid-2")),
        Conflict,
        'Operation cannot be fulfilled on Pod "web-0": the UID in the bound object reference '
        "(uid-2) does not match the UID in record. The object might have been deleted and "
        "then recreated",
    ),
    "a pod of another account": (
        lambda: asked(boundObjectRef=ref("Pod", "other")),
        BadRequest,
        'cannot bind token for serviceaccount "web" to pod running with different '
        "serviceaccount name.",
    ),
    "a secret that is not there": (
        lambda: asked(boundObjectRef=ref("Secret", "absent")),
        NotFound,
        'secrets "absent" not found',
    ),
    "a kind that tokens are not bound to": (
        lambda: asked(boundObjectRef=ref("ConfigMap", "x")),
        BadRequest,
        "cannot bind token to object of type /v1, Kind=ConfigMap",
    ),
    "a pod of another group": (
        lambda: asked(boundObjectRef=ref("Pod", "web-0", version="metrics.k8s.io/v1")),
        BadRequest,
        "cannot bind token to object of type metrics.k8s.io/v1, Kind=Pod",
    ),
}


@pytest.mark.parametrize(("post", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_a_token_is_refused(post: Callable[[], Doc], kind: type[ApiError], message: str) -> None:
    with pytest.raises(kind) as refused:
        post()
    assert refused.value.message == message
