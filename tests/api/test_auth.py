"""Who may do what, through the API. Numbers are those of the scenario list (95 to 98)."""

from typing import Any

import jwt
import pytest

from mooring.apiserver.auth.tokens import CONTROLLERS, READ_ONLY, SCHEDULER
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CLASSES,
    CONFIG_MAPS,
    CSI_NODES,
    DRIVERS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SNAPSHOTS,
    VOLUMES,
    a_claim,
    a_class,
    a_config_map,
    a_csi_node,
    a_lease,
    a_namespace,
    a_node,
    a_pod,
    a_secret,
    a_service_account,
    a_volume,
    an_attachment,
    an_event,
)

Doc = dict[str, Any]

AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
ISSUER = "https://kubernetes.default.svc.cluster.local"

ANYONE = {
    "/version": 200,
    "/version/": 200,
    "/healthz": 200,
    "/livez": 200,
    "/readyz": 200,
    "/api": 401,
    "/apis": 401,
    "/api/v1": 401,
    "/openapi/v2": 401,
    "/openapi/v3": 401,
    "/metrics": 401,
    "/nowhere": 401,
    "/readyz/store": 401,
    "/api/v1/nodes": 401,
    "/api/v1/nowhere": 401,
    SECRETS: 401,
}


@pytest.mark.parametrize(("path", "code"), ANYONE.items(), ids=ANYONE)
async def test_95_without_a_token(api: ApiUnderTest, path: str, code: int) -> None:
    api.token = None
    answer = await api.get(path)
    assert answer.code == code
    if code == 401:
        assert answer.doc["reason"] == "Unauthorized"
        assert answer.doc["message"] == "Unauthorized"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_95_nobody_writes_without_a_token(api: ApiUnderTest, method: str) -> None:
    api.token = None
    assert (await api.ask(method, f"{CONFIG_MAPS}/c", a_config_map("c"))).code == 401
    assert (await api.ask(method, "/version", {})).code == 401


WRONG = {
    "a token nobody has": "Bearer nonsense",
    "an empty token": "Bearer ",
    "a token of other words": "Bearer a.b.c",
    "a token with a NUL": "Bearer a\x00b",
    "a token that is not ASCII": "Bearer \xe9\xff",
    "a token of 60 kB": f"Bearer {'x' * 60_000}",
}


@pytest.mark.parametrize("authorization", WRONG.values(), ids=WRONG)
async def test_95_a_bad_token_is_401(api: ApiUnderTest, authorization: str) -> None:
    answer = await api.get(NODES, authorization=authorization)
    assert (answer.code, answer.doc["reason"]) == (401, "Unauthorized")


async def test_95_a_bad_token_is_401_even_where_none_is_needed(api: ApiUnderTest) -> None:
    assert (await api.get("/version", authorization="Bearer nonsense")).code == 401


async def test_95_a_limited_user_learns_nothing_of_what_exists(api: ApiUnderTest) -> None:
    reader = api.tokens.token(READ_ONLY).reveal()
    for path, what in (
        (f"{SECRETS}/some", 'cannot get resource "secrets" in API group "" in the namespace'),
        ("/api/v1/nowhere", 'cannot list resource "nowhere" in API group "" at the cluster scope'),
        ("/nope", 'cannot get path "/nope"'),
    ):
        answer = await api.ask("GET", path, token=reader)
        assert (answer.code, answer.doc["reason"]) == (403, "Forbidden")
        assert what in answer.doc["message"]
    told = (await api.ask("GET", f"{SECRETS}/some", token=reader)).doc
    assert told["message"] == (
        'secrets "some" is forbidden: User "read-only" cannot get resource "secrets" '
        'in API group "" in the namespace "default"'
    )
    assert told["details"] == {"name": "some", "kind": "secrets"}


LEASE_OF_SCHEDULER = f"{LEASES}/mooring-scheduler"

# role, method, path, body, allowed
RIGHTS: dict[str, tuple[str, str, str, Any, bool]] = {
    "read-only lists claims": (READ_ONLY, "GET", CLAIMS, None, True),
    "read-only lists snapshots": (READ_ONLY, "GET", SNAPSHOTS, None, True),
    "read-only lists leases": (READ_ONLY, "GET", LEASES, None, True),
    "read-only reads metrics": (READ_ONLY, "GET", "/metrics", None, True),
    "read-only reads discovery": (READ_ONLY, "GET", "/api/v1", None, True),
    "read-only reads OpenAPI": (READ_ONLY, "GET", "/openapi/v2", None, True),
    "read-only lists no secrets": (READ_ONLY, "GET", SECRETS, None, False),
    "read-only creates nothing": (READ_ONLY, "POST", CLAIMS, a_claim(), False),
    "read-only deletes nothing": (READ_ONLY, "DELETE", f"{NAMESPACES}/x", None, False),
    "read-only deletes no collections": (READ_ONLY, "DELETE", CLAIMS, None, False),
    "read-only makes no tokens": (
        READ_ONLY,
        "POST",
        f"{SERVICE_ACCOUNTS}/default/token",
        {},
        False,
    ),
    "controllers create volumes": (CONTROLLERS, "POST", VOLUMES, a_volume(), True),
    "controllers report events": (CONTROLLERS, "POST", EVENTS, an_event(), True),
    "controllers hold leases": (CONTROLLERS, "POST", LEASES, a_lease(), True),
    "controllers create attachments": (CONTROLLERS, "POST", ATTACHMENTS, an_attachment(), True),
    "controllers read secrets for drivers": (CONTROLLERS, "GET", SECRETS, None, True),
    "controllers create no secrets": (CONTROLLERS, "POST", SECRETS, a_secret(), False),
    "controllers create no classes": (CONTROLLERS, "POST", CLASSES, a_class(), False),
    "controllers create no namespaces": (CONTROLLERS, "POST", NAMESPACES, a_namespace(), False),
    "the scheduler lists pods": (SCHEDULER, "GET", PODS, None, True),
    "the scheduler lists capacities": (
        SCHEDULER,
        "GET",
        "/apis/storage.k8s.io/v1/csistoragecapacities",
        None,
        True,
    ),
    "the scheduler reports events": (SCHEDULER, "POST", EVENTS, an_event(), True),
    "the scheduler creates its lease": (
        SCHEDULER,
        "POST",
        LEASES,
        a_lease("mooring-scheduler"),
        True,
    ),
    "the scheduler reads no other lease": (SCHEDULER, "GET", f"{LEASES}/other", None, False),
    "the scheduler reads no secrets": (SCHEDULER, "GET", SECRETS, None, False),
    "the scheduler creates no pods": (SCHEDULER, "POST", PODS, a_pod(), False),
    "the scheduler deletes no volumes": (SCHEDULER, "DELETE", f"{VOLUMES}/x", None, False),
    "a node creates its CSINode": ("node:n1", "POST", CSI_NODES, a_csi_node("n1"), True),
    "98 a node creates no other's CSINode": (
        "node:n1",
        "POST",
        CSI_NODES,
        a_csi_node("n2"),
        False,
    ),
    "98 a node does not list volumes": ("node:n1", "GET", VOLUMES, None, False),
    "a node lists drivers": ("node:n1", "GET", DRIVERS, None, True),
    "a node registers": ("node:n1", "POST", NODES, a_node("n1"), True),
    "a node registers no other": ("node:n1", "POST", NODES, a_node("n2"), False),
    "a node does not list nodes": ("node:n1", "GET", NODES, None, False),
    "a node finds itself": (
        "node:n1",
        "GET",
        f"{NODES}?fieldSelector=metadata.name%3Dn1",
        None,
        True,
    ),
    "a node lists its pods": (
        "node:n1",
        "GET",
        "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1",
        None,
        True,
    ),
    "a node lists no other's pods": (
        "node:n1",
        "GET",
        "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2",
        None,
        False,
    ),
    "a node lists no pods at large": ("node:n1", "GET", "/api/v1/pods", None, False),
    "a node does not see pods that may be anywhere": (
        "node:n1",
        "GET",
        "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn2",
        None,
        False,
    ),
    "a node lists no secrets": ("node:n1", "GET", SECRETS, None, False),
    "a node reads no classes": ("node:n1", "GET", CLASSES, None, False),
    "a node creates its lease": (
        "node:n1",
        "POST",
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
        a_lease("n1"),
        True,
    ),
    "a node creates no lease elsewhere": ("node:n1", "POST", LEASES, a_lease("n1"), False),
}


def token_of(api: ApiUnderTest, role: str) -> str:
    if role.startswith("node:"):
        return api.tokens.node_token(role.removeprefix("node:")).reveal()
    return api.tokens.token(role).reveal()


@pytest.mark.parametrize(("role", "method", "path", "body", "allowed"), RIGHTS.values(), ids=RIGHTS)
async def test_rights_of_roles(
    api: ApiUnderTest, role: str, method: str, path: str, body: Any, *, allowed: bool
) -> None:
    answer = await api.ask(method, path, body, token=token_of(api, role))
    if allowed:
        assert answer.code in {200, 201}, answer.text
    else:
        assert (answer.code, answer.doc["reason"]) == (403, "Forbidden"), answer.text


async def test_98_a_node_reads_what_its_pods_lead_to(api: ApiUnderTest) -> None:
    node = token_of(api, "node:n1")
    reference = {"namespace": "default", "name": "data"}
    secret_ref = {"namespace": "default", "name": "password"}
    source = {"driver": "d.example.com", "volumeHandle": "h", "nodePublishSecretRef": secret_ref}
    await api.post(VOLUMES, a_volume("disk", claimRef=reference, csi=source))
    await api.post(VOLUMES, a_volume("other"))
    await api.post(CLAIMS, a_claim("data", volumeName="disk"))
    await api.post(SECRETS, a_secret("password"))
    await api.post(ATTACHMENTS, an_attachment("link", "n1"))
    await api.post(ATTACHMENTS, an_attachment("link2", "n2"))
    reachable = [
        f"{VOLUMES}/disk",
        f"{CLAIMS}/data",
        f"{SECRETS}/password",
        f"{CONFIG_MAPS}/kube-root-ca.crt",
        f"{PODS}/web",
    ]
    for path in reachable:
        answer = await api.ask("GET", path, token=node)
        assert answer.code == 403, path
        assert answer.doc["message"].endswith(
            ": no relationship found between node 'n1' and this object"
        )
    await api.post(PODS, a_pod("web", node="n1", claim="data"))
    for path in (*reachable, f"{ATTACHMENTS}/link"):
        assert (await api.ask("GET", path, token=node)).code == 200, path
    for path in (f"{VOLUMES}/other", f"{ATTACHMENTS}/link2"):
        assert (await api.ask("GET", path, token=node)).code == 403, path
    assert (await api.ask("GET", f"{VOLUMES}/disk", token=token_of(api, "node:n2"))).code == 403


async def test_98_a_node_loses_sight_of_what_its_pods_no_longer_need(api: ApiUnderTest) -> None:
    node = token_of(api, "node:n1")
    await api.post(CLAIMS, a_claim("data"))
    await api.post(PODS, a_pod("web", node="n1", claim="data"))
    assert (await api.ask("GET", f"{CLAIMS}/data", token=node)).code == 200
    await api.delete(f"{PODS}/web", {"gracePeriodSeconds": 0})
    assert (await api.ask("GET", f"{CLAIMS}/data", token=node)).code == 403


async def test_98_a_node_watches_what_it_may_read_and_nothing_beside(api: ApiUnderTest) -> None:
    pod = a_pod("web", node="n1")
    pod["spec"]["volumes"] = [{"name": "s", "secret": {"secretName": "mine"}}]
    for name in ("mine", "other"):
        await api.post(SECRETS, a_secret(name))
    await api.post(PODS, pod)
    api.token = token_of(api, "node:n1")
    for url in (
        f"{SECRETS}?watch=true&fieldSelector=metadata.name%3Dmine",
        "/api/v1/watch/namespaces/default/secrets/mine",
    ):
        watching = await api.watch(url)
        assert watching.names == [("ADDED", "mine")]
    for url in (
        f"{SECRETS}?watch=true",
        f"{SECRETS}?watch=true&fieldSelector=metadata.name%3Dother",
        f"{SECRETS}?watch=true&fieldSelector=metadata.name!%3Dmine",
        "/api/v1/watch/namespaces/default/secrets",
        "/api/v1/watch/namespaces/default/secrets/other",
        "/api/v1/watch/secrets",
    ):
        assert (await api.get(url)).code == 403, url


async def test_98_a_node_reports_the_size_of_a_claim_and_nothing_else(api: ApiUnderTest) -> None:
    node = token_of(api, "node:n1")
    await api.post(CLAIMS, a_claim("data"))
    await api.post(PODS, a_pod("web", node="n1", claim="data"))
    merge = {"content-type": "application/merge-patch+json"}
    url = f"{CLAIMS}/data/status"
    size = {"status": {"capacity": {"storage": "2Gi"}}}
    assert (await api.ask("PATCH", url, size, merge, token=node)).code == 200
    phase = {"status": {"phase": "Bound"}}
    assert (await api.ask("PATCH", url, phase, merge, token=node)).code == 403
    assert (await api.ask("PATCH", f"{CLAIMS}/data", {"spec": {}}, merge, token=node)).code == 403


QUESTIONS: dict[str, tuple[str, Doc, bool]] = {
    "96 read-only may list claims": (
        READ_ONLY,
        {
            "resourceAttributes": {
                "verb": "list",
                "resource": "persistentvolumeclaims",
                "namespace": "a",
            }
        },
        True,
    ),
    "96 read-only may not create claims": (
        READ_ONLY,
        {"resourceAttributes": {"verb": "create", "resource": "persistentvolumeclaims"}},
        False,
    ),
    "96 read-only may not run commands in pods": (
        READ_ONLY,
        {"resourceAttributes": {"verb": "create", "resource": "pods", "subresource": "exec"}},
        False,
    ),
    "96 everyone may ask for the version": (
        SCHEDULER,
        {"nonResourceAttributes": {"verb": "get", "path": "/version"}},
        True,
    ),
    "96 not everyone may read metrics": (
        SCHEDULER,
        {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}},
        False,
    ),
    "96 a node may create its CSINode": (
        "node:n1",
        {
            "resourceAttributes": {
                "verb": "create",
                "group": "storage.k8s.io",
                "resource": "csinodes",
            }
        },
        True,
    ),
}


@pytest.mark.parametrize(("role", "spec", "allowed"), QUESTIONS.values(), ids=QUESTIONS)
async def test_96_may_i(api: ApiUnderTest, role: str, spec: Doc, *, allowed: bool) -> None:
    answer = await api.ask(
        "POST",
        f"{AUTHORIZATION}/selfsubjectaccessreviews",
        {"spec": spec},
        token=token_of(api, role),
    )
    assert answer.code == 201, answer.text
    assert answer.doc["kind"] == "SelfSubjectAccessReview"
    assert answer.doc["apiVersion"] == "authorization.k8s.io/v1"
    assert answer.doc["status"]["allowed"] is allowed
    for name, attributes in spec.items():
        assert answer.doc["spec"][name] == attributes


@pytest.mark.parametrize(
    "spec", [{}, {"resourceAttributes": {}, "nonResourceAttributes": {"path": "/"}}]
)
async def test_96_a_question_is_about_one_thing(api: ApiUnderTest, spec: Doc) -> None:
    answer = await api.post(f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": spec})
    assert answer.code == 422


async def test_who_am_i(api: ApiUnderTest) -> None:
    answer = await api.ask(
        "POST", f"{AUTHENTICATION}/selfsubjectreviews", {}, token=token_of(api, "node:n1")
    )
    assert answer.code == 201
    user = answer.doc["status"]["userInfo"]
    assert user["username"] == "system:node:n1"
    assert set(user["groups"]) == {"system:nodes", "system:authenticated"}


async def test_what_may_i(api: ApiUnderTest) -> None:
    answer = await api.ask(
        "POST",
        f"{AUTHORIZATION}/selfsubjectrulesreviews",
        {"spec": {"namespace": "default"}},
        token=token_of(api, READ_ONLY),
    )
    assert answer.code == 201
    rules = answer.doc["status"]["resourceRules"]
    assert any("persistentvolumes" in rule["resources"] for rule in rules)
    assert not any("secrets" in rule["resources"] for rule in rules)
    assert not any("create" in rule["verbs"] and "*" in rule["resources"] for rule in rules)


async def test_may_they(api: ApiUnderTest) -> None:
    async def allowed(groups: list[str], verb: str) -> bool:
        spec = {
            "user": "someone",
            "groups": groups,
            "resourceAttributes": {"verb": verb, "resource": "secrets"},
        }
        answer = await api.post(f"{AUTHORIZATION}/subjectaccessreviews", {"spec": spec})
        assert answer.code == 201, answer.text
        return bool(answer.doc["status"]["allowed"])

    assert await allowed(["system:masters"], "delete")
    assert not await allowed(["system:authenticated"], "get")


TOKEN_OF_DEFAULT = f"{SERVICE_ACCOUNTS}/default/token"


async def test_97_a_token_for_a_service_account(api: ApiUnderTest) -> None:
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


async def test_97_a_service_account_s_token_is_its_word(api: ApiUnderTest) -> None:
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


async def test_97_a_token_ends_with_its_time(api: ApiUnderTest) -> None:
    request = {"spec": {"expirationSeconds": 600}}
    token = (await api.post(TOKEN_OF_DEFAULT, request)).doc["status"]["token"]
    await api.clock.advance(599)
    assert (await who(api, token))[0] == 201
    await api.clock.advance(62)
    assert (await who(api, token))[0] == 401


async def test_97_a_token_ends_with_its_account(api: ApiUnderTest) -> None:
    await api.post(SERVICE_ACCOUNTS, a_service_account("robot"))
    token = (await api.post(f"{SERVICE_ACCOUNTS}/robot/token", {})).doc["status"]["token"]
    assert (await who(api, token))[0] == 201
    await api.delete(f"{SERVICE_ACCOUNTS}/robot")
    assert (await who(api, token))[0] == 401
    await api.post(SERVICE_ACCOUNTS, a_service_account("robot"))
    assert (await who(api, token))[0] == 401, "another of the same name"


async def test_97_a_token_ends_with_its_pod(api: ApiUnderTest) -> None:
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


async def test_97_a_token_for_others_is_no_token_here(api: ApiUnderTest) -> None:
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
    "97 of 5 seconds": (
        "default",
        {"expirationSeconds": 5},
        422,
        "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
    ),
    "97 for ever": (
        "default",
        {"expirationSeconds": 2**32 + 1},
        422,
        "may not specify a duration larger than 2^32 seconds",
    ),
    "97 of an account that is not there": ("gone", {}, 404, 'serviceaccounts "gone" not found'),
    "97 of a pod that is not there": (
        "default",
        {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "gone"}},
        404,
        'pods "gone" not found',
    ),
    "97 of another pod of that name": (
        "default",
        {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "web", "uid": "x"}},
        409,
        "",
    ),
}


@pytest.mark.parametrize(("account", "spec", "code", "message"), REQUESTS.values(), ids=REQUESTS)
async def test_97_tokens_that_are_not_given(
    api: ApiUnderTest, account: str, spec: Doc, code: int, message: str
) -> None:
    await api.post(PODS, a_pod("web", node="n1"))
    answer = await api.post(f"{SERVICE_ACCOUNTS}/{account}/token", {"spec": spec})
    assert answer.code == code, answer.text
    assert message in answer.doc["message"]


async def test_97_a_node_gets_tokens_for_its_pods_alone(api: ApiUnderTest) -> None:
    node = token_of(api, "node:n1")
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


async def test_impersonation_is_for_those_who_may(api: ApiUnderTest) -> None:
    as_node = {"Impersonate-User": "system:node:n1", "Impersonate-Group": "system:nodes"}
    answer = await api.ask("GET", VOLUMES, headers=as_node)
    assert answer.code == 403
    assert (
        'User "system:node:n1" cannot list resource "persistentvolumes"' in (answer.doc["message"])
    )
    reader = token_of(api, READ_ONLY)
    answer = await api.ask("GET", VOLUMES, headers=as_node, token=reader)
    assert answer.code == 403
    assert 'User "read-only" cannot impersonate resource "users"' in answer.doc["message"]
