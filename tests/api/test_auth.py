"""Who may do what, through the API."""

from typing import Any

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
    TRUST_BUNDLES,
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
    a_trust_bundle,
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
async def test_without_a_token(api: ApiUnderTest, path: str, code: int) -> None:
    api.token = None
    answer = await api.get(path)
    assert answer.code == code
    if code == 401:
        assert answer.doc["reason"] == "Unauthorized"
        assert answer.doc["message"] == "Unauthorized"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_nobody_writes_without_a_token(api: ApiUnderTest, method: str) -> None:
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
async def test_a_bad_token_is_401(api: ApiUnderTest, authorization: str) -> None:
    answer = await api.get(NODES, authorization=authorization)
    assert (answer.code, answer.doc["reason"]) == (401, "Unauthorized")


async def test_a_bad_token_is_401_even_where_none_is_needed(api: ApiUnderTest) -> None:
    assert (await api.get("/version", authorization="Bearer nonsense")).code == 401


async def test_a_limited_user_learns_nothing_of_what_exists(api: ApiUnderTest) -> None:
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
    "a node creates no other's CSINode": (
        "node:n1",
        "POST",
        CSI_NODES,
        a_csi_node("n2"),
        False,
    ),
    "a node does not list volumes": ("node:n1", "GET", VOLUMES, None, False),
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
    "a node reads trust bundles": ("node:n1", "GET", TRUST_BUNDLES, None, True),
    "a node writes none": ("node:n1", "POST", TRUST_BUNDLES, a_trust_bundle(), False),
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


@pytest.mark.parametrize(("role", "method", "path", "body", "allowed"), RIGHTS.values(), ids=RIGHTS)
async def test_rights_of_roles(
    api: ApiUnderTest, role: str, method: str, path: str, body: Any, *, allowed: bool
) -> None:
    answer = await api.ask(method, path, body, token=api.token_of(role))
    if allowed:
        assert answer.code in {200, 201}, answer.text
    else:
        assert (answer.code, answer.doc["reason"]) == (403, "Forbidden"), answer.text


QUESTIONS: dict[str, tuple[str, Doc, bool]] = {
    "read-only may list claims": (
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
    "read-only may not create claims": (
        READ_ONLY,
        {"resourceAttributes": {"verb": "create", "resource": "persistentvolumeclaims"}},
        False,
    ),
    "read-only may not run commands in pods": (
        READ_ONLY,
        {"resourceAttributes": {"verb": "create", "resource": "pods", "subresource": "exec"}},
        False,
    ),
    "everyone may ask for the version": (
        SCHEDULER,
        {"nonResourceAttributes": {"verb": "get", "path": "/version"}},
        True,
    ),
    "not everyone may read metrics": (
        SCHEDULER,
        {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}},
        False,
    ),
    "a node may create its CSINode": (
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
async def test_self_subject_access_review(
    api: ApiUnderTest, role: str, spec: Doc, *, allowed: bool
) -> None:
    answer = await api.ask(
        "POST",
        f"{AUTHORIZATION}/selfsubjectaccessreviews",
        {"spec": spec},
        token=api.token_of(role),
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
async def test_a_question_is_about_one_thing(api: ApiUnderTest, spec: Doc) -> None:
    answer = await api.post(f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": spec})
    assert answer.code == 422


async def test_a_question_is_no_row_of_a_table(api: ApiUnderTest) -> None:
    answer = await api.post(
        f"{AUTHORIZATION}/selfsubjectaccessreviews",
        {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}},
        accept="application/json;as=Table;v=v1;g=meta.k8s.io",
    )
    assert answer.code == 406, answer.text


async def test_who_am_i(api: ApiUnderTest) -> None:
    answer = await api.ask(
        "POST", f"{AUTHENTICATION}/selfsubjectreviews", {}, token=api.token_of("node:n1")
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
        token=api.token_of(READ_ONLY),
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


async def test_impersonation_is_for_those_who_may(api: ApiUnderTest) -> None:
    as_node = {"Impersonate-User": "system:node:n1", "Impersonate-Group": "system:nodes"}
    answer = await api.ask("GET", VOLUMES, headers=as_node)
    assert answer.code == 403
    assert (
        'User "system:node:n1" cannot list resource "persistentvolumes"' in (answer.doc["message"])
    )
    reader = api.token_of(READ_ONLY)
    answer = await api.ask("GET", VOLUMES, headers=as_node, token=reader)
    assert answer.code == 403
    assert 'User "read-only" cannot impersonate resource "users"' in answer.doc["message"]
