"""Tokens of service accounts, asked for and shown."""

from typing import Any

import jwt
import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    NODES,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    a_node,
    a_pod,
    a_service_account,
)

Doc = dict[str, Any]

AUTHENTICATION = "/apis/authentication.k8s.io/v1"
ISSUER = "https://kubernetes.default.svc.cluster.local"
TOKEN_OF_DEFAULT = f"{SERVICE_ACCOUNTS}/default/token"


async def test_a_token_for_a_service_account(api: ApiUnderTest) -> None:
    answer = await api.post(TOKEN_OF_DEFAULT, {})
    assert answer.code == 201, answer.text
    asked = answer.doc
    assert (asked["kind"], asked["apiVersion"]) == ("TokenRequest", "authentication.k8s.io/v1")
    assert asked["spec"]["expirationSeconds"] == 3600
    assert asked["spec"]["audiences"] == [ISSUER]
    assert asked["status"]["expirationTimestamp"] == "2026-01-02T04:04:05Z"
    account = (await api.get(f"{SERVICE_ACCOUNTS}/default")).doc["metadata"]
    token = asked["status"]["token"]
    assert jwt.get_unverified_header(token)["kid"]
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["sub"] == "system:serviceaccount:default:default"
    assert claims["iss"] == ISSUER
    assert claims["aud"] == [ISSUER]
    assert claims["exp"] - claims["iat"] == 3600
    assert claims["nbf"] == claims["iat"]
    assert claims["jti"]
    assert claims["kubernetes.io"] == {
        "namespace": "default",
        "serviceaccount": {"name": "default", "uid": account["uid"]},
    }


async def who(api: ApiUnderTest, token: str) -> tuple[int, Doc]:
    answer = await api.ask("POST", f"{AUTHENTICATION}/selfsubjectreviews", {}, token=token)
    return answer.code, answer.doc["status"] if answer.code == 201 else {}


async def test_a_service_account_s_token_is_its_word(api: ApiUnderTest) -> None:
    token = (await api.post(TOKEN_OF_DEFAULT, {})).doc["status"]["token"]
    code, status = await who(api, token)
    assert code == 201
    user = status["userInfo"]
    assert user["username"] == "system:serviceaccount:default:default"
    assert set(user["groups"]) == {
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    }
    assert (await api.ask("GET", SECRETS, token=token)).code == 403


async def test_a_token_ends_with_its_time(api: ApiUnderTest) -> None:
    request = {"spec": {"expirationSeconds": 600}}
    token = (await api.post(TOKEN_OF_DEFAULT, request)).doc["status"]["token"]
    await api.clock.advance(599)
    assert (await who(api, token))[0] == 201
    await api.clock.advance(62)
    assert (await who(api, token))[0] == 401


async def test_a_token_ends_with_its_account(api: ApiUnderTest) -> None:
    await api.post(SERVICE_ACCOUNTS, a_service_account("robot"))
    token = (await api.post(f"{SERVICE_ACCOUNTS}/robot/token", {})).doc["status"]["token"]
    assert (await who(api, token))[0] == 201
    await api.delete(f"{SERVICE_ACCOUNTS}/robot")
    assert (await who(api, token))[0] == 401
    await api.post(SERVICE_ACCOUNTS, a_service_account("robot"))
    assert (await who(api, token))[0] == 401, "another of the same name"


async def test_a_token_ends_with_its_pod(api: ApiUnderTest) -> None:
    await api.post(PODS, a_pod("web", node="n1"))
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "web"}
    answer = await api.post(TOKEN_OF_DEFAULT, {"spec": {"boundObjectRef": reference}})
    assert answer.code == 201, answer.text
    token = answer.doc["status"]["token"]
    bound = jwt.decode(token, options={"verify_signature": False})["kubernetes.io"]
    assert bound["pod"]["name"] == "web"
    assert (await who(api, token))[0] == 201
    await api.delete(f"{PODS}/web", {"gracePeriodSeconds": 0})
    assert (await who(api, token))[0] == 401


async def test_a_token_for_others_is_no_token_here(api: ApiUnderTest) -> None:
    request = {"spec": {"audiences": ["vault"]}}
    token = (await api.post(TOKEN_OF_DEFAULT, request)).doc["status"]["token"]
    assert (await who(api, token))[0] == 401

    async def review(audiences: list[str]) -> Doc:
        body = {"spec": {"token": token, "audiences": audiences}}
        answer = await api.post(f"{AUTHENTICATION}/tokenreviews", body)
        assert answer.code == 201
        return dict(answer.doc["status"])

    assert (await review(["vault", "x"]))["audiences"] == ["vault"]
    assert not (await review(["x"])).get("authenticated")


REQUESTS: dict[str, tuple[str, Doc, int, str]] = {
    "of 5 seconds": (
        "default",
        {"expirationSeconds": 5},
        422,
        "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
    ),
    "of a time without end": (
        "default",
        {"expirationSeconds": 2**32 + 1},
        422,
        "may not specify a duration larger than 2^32 seconds",
    ),
    "of an account that is not there": ("gone", {}, 404, 'serviceaccounts "gone" not found'),
    "of a pod that is not there": (
        "default",
        {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "gone"}},
        404,
        'pods "gone" not found',
    ),
    "of another pod of that name": (
        "default",
        {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "web", "uid": "x"}},
        409,
        "",
    ),
}


@pytest.mark.parametrize(("account", "spec", "code", "message"), REQUESTS.values(), ids=REQUESTS)
async def test_tokens_that_are_not_given(
    api: ApiUnderTest, account: str, spec: Doc, code: int, message: str
) -> None:
    await api.post(PODS, a_pod("web", node="n1"))
    answer = await api.post(f"{SERVICE_ACCOUNTS}/{account}/token", {"spec": spec})
    assert answer.code == code, answer.text
    assert message in answer.doc["message"]


async def test_a_node_gets_tokens_for_its_pods_alone(api: ApiUnderTest) -> None:
    node = api.token_of("node:n1")
    await api.post(NODES, a_node("n1"))
    mine = (await api.post(PODS, a_pod("mine", node="n1"))).doc
    other = (await api.post(PODS, a_pod("other", node="n2"))).doc

    async def ask(pod: Doc | None) -> int:
        reference = pod and {
            "kind": "Pod",
            "apiVersion": "v1",
            "name": pod["metadata"]["name"],
            "uid": pod["metadata"]["uid"],
        }
        body = {"spec": {"boundObjectRef": reference}}
        return (await api.ask("POST", TOKEN_OF_DEFAULT, body, token=node)).code

    assert await ask(mine) == 201
    assert await ask(other) == 403
    assert await ask(None) == 403
