"""Reviews: who am I, may I, may they, is this token good."""

from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from mooring.apiserver.auth import reviews, tokens
from mooring.apiserver.auth.authenticate import Authenticator
from mooring.apiserver.auth.authorize import Authorizer
from mooring.apiserver.auth.service_account_tokens import ServiceAccountTokens
from mooring.apiserver.auth.tokens import open_role_tokens
from mooring.apiserver.auth.user import ADMIN, READ_ONLY, User, node_user
from mooring.clock import RealClock
from mooring.errors import ApiError, BadRequest, Invalid
from mooring.model.document import Doc
from tests.unit.apiserver.auth.cluster import two_nodes

AUTHORIZER = Authorizer(two_nodes())
NODE = node_user("n1")


def a_review(kind: str, metadata: Doc | None = None, **spec: Any) -> Doc:
    return {
        "kind": kind,
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": metadata or {},
        "spec": spec,
    }


def self_review(user: User, metadata: Doc | None = None, **spec: Any) -> Doc:
    document = a_review("SelfSubjectAccessReview", metadata, **spec)
    return reviews.self_subject_access_review(document, user, AUTHORIZER)


OTHERS = "node: no relationship found between node 'n1' and this object"
GET_PV = {"verb": "get", "resource": "persistentvolumes"}
LIST_PODS = {"verb": "list", "resource": "pods"}

MAY_I: dict[str, tuple[User, Doc, Doc]] = {
    "yes, and why": (
        READ_ONLY,
        {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "x"}},
        {"allowed": True, "reason": 'allowed by role "read-only"'},
    ),
    "no": (
        READ_ONLY,
        {"resourceAttributes": {"verb": "get", "resource": "secrets"}},
        {"allowed": False},
    ),
    "no, and why": (
        NODE,
        {"resourceAttributes": GET_PV | {"name": "pv-others"}},
        {"allowed": False, "reason": OTHERS},
    ),
    "the object counts": (
        NODE,
        {"resourceAttributes": GET_PV | {"name": "pv-data"}},
        {"allowed": True},
    ),
    "everything": (
        ADMIN,
        {"resourceAttributes": {"verb": "*", "group": "*", "resource": "*"}},
        {"allowed": True},
    ),
    "a subresource": (
        READ_ONLY,
        {"resourceAttributes": {"verb": "create", "resource": "pods", "subresource": "exec"}},
        {"allowed": False},
    ),
    "a path": (
        READ_ONLY,
        {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}},
        {"allowed": True, "reason": 'allowed by role "read-only"'},
    ),
    "a path, no": (
        READ_ONLY,
        {"nonResourceAttributes": {"verb": "get", "path": "/logs"}},
        {"allowed": False},
    ),
    "a selector, as text": (
        NODE,
        {"resourceAttributes": LIST_PODS | {"fieldSelector": {"rawSelector": "spec.nodeName=n1"}}},
        {"allowed": True},
    ),
    "a selector, in parts": (
        NODE,
        {
            "resourceAttributes": LIST_PODS
            | {
                "fieldSelector": {
                    "requirements": [
                        {"key": "spec.nodeName", "operator": "In", "values": ["n1"]},
                        {"key": "status.phase", "operator": "NotIn", "values": ["Failed"]},
                    ]
                }
            }
        },
        {"allowed": True},
    ),
    "a selector that cannot be read asks for everything": (
        NODE,
        {
            "resourceAttributes": LIST_PODS
            | {"fieldSelector": {"requirements": [{"key": "spec.nodeName", "operator": "Exists"}]}}
        },
        {
            "allowed": False,
            "reason": "node: can only list/watch pods with spec.nodeName field selector",
            "evaluationError": ("spec.resourceAttributes.fieldSelector ignored due to parse error"),
        },
    ),
    "a selector that can be read in part": (
        NODE,
        {
            "resourceAttributes": LIST_PODS
            | {
                "fieldSelector": {
                    "requirements": [
                        {"key": "spec.nodeName", "operator": "In", "values": ["n1"]},
                        {"key": "x", "operator": "In", "values": ["a", "b"]},
                    ]
                }
            }
        },
        {
            "allowed": True,
            "evaluationError": (
                "spec.resourceAttributes.fieldSelector partially ignored due to parse error"
            ),
        },
    ),
    "a value cannot pose as a further term": (
        NODE,
        {
            "resourceAttributes": LIST_PODS
            | {
                "fieldSelector": {
                    "requirements": [
                        {"key": "x", "operator": "In", "values": ["y,spec.nodeName=n1"]}
                    ]
                }
            }
        },
        {
            "allowed": False,
            "reason": "node: can only list/watch pods with spec.nodeName field selector",
        },
    ),
}


@pytest.mark.parametrize(("user", "spec", "status"), MAY_I.values(), ids=MAY_I)
def test_may_i(user: User, spec: Doc, status: Doc) -> None:
    answer = self_review(user, {"creationTimestamp": None}, **spec)
    assert answer["status"] == status
    assert (answer["kind"], answer["spec"]) == ("SelfSubjectAccessReview", spec)


def test_the_posted_document_is_not_changed() -> None:
    document = a_review("SelfSubjectAccessReview", resourceAttributes={"verb": "get"})
    before = dict(document)
    reviews.self_subject_access_review(document, ADMIN, AUTHORIZER)
    assert document == before


def may_they(**spec: Any) -> Doc:
    document = a_review("SubjectAccessReview", **spec)
    status: Doc = reviews.subject_access_review(document, AUTHORIZER)["status"]
    return status


def test_may_they_judges_the_named_user_and_groups() -> None:
    delete = {"verb": "delete", "resource": "nodes"}
    asked = {"resourceAttributes": delete}
    assert may_they(user="bob", groups=["system:masters"], **asked) == {"allowed": True}
    assert may_they(user="bob", groups=["dev"], **asked) == {"allowed": False}
    assert may_they(groups=["system:masters"], **asked) == {"allowed": True}


def test_may_they_here() -> None:
    asked = {"verb": "get", "resource": "pods", "namespace": "default"}
    document = a_review("LocalSubjectAccessReview", user="read-only", resourceAttributes=asked)
    answer = reviews.local_subject_access_review(document, "default", AUTHORIZER)
    assert answer["status"]["allowed"] is True
    assert answer["metadata"] == {"namespace": "default"}


BOTH = {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/x"}}
ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
GROUP = "authorization.k8s.io"


def mine(metadata: Doc | None = None, **spec: Any) -> None:
    self_review(ADMIN, metadata, **spec)


def theirs(metadata: Doc | None = None, **spec: Any) -> None:
    reviews.subject_access_review(a_review("SubjectAccessReview", metadata, **spec), AUTHORIZER)


def local(metadata: Doc | None = None, **spec: Any) -> None:
    document = a_review("LocalSubjectAccessReview", metadata, **spec)
    reviews.local_subject_access_review(document, "default", AUTHORIZER)


SELECTOR = "spec.resourceAttributes.fieldSelector"
INVALID: dict[str, tuple[Any, Doc, Doc, str]] = {
    "neither resource nor path": (
        mine,
        {},
        {},
        f'.{GROUP} "" is invalid: spec.resourceAttributes: Invalid value: null: {ONE_OF}',
    ),
    "resource and path": (
        mine,
        {},
        BOTH,
        f'.{GROUP} "" is invalid: spec.nonResourceAttributes: Invalid value: {{"path":"/x"}}: '
        "cannot be specified in combination with resourceAttributes",
    ),
    "metadata": (
        mine,
        {"name": "x"},
        {"resourceAttributes": {}},
        f'.{GROUP} "" is invalid: metadata: Invalid value: {{"name":"x"}}: must be empty',
    ),
    "a selector twice": (
        mine,
        {},
        {"resourceAttributes": {"fieldSelector": {"rawSelector": "a=b", "requirements": [{}]}}},
        f'.{GROUP} "" is invalid: {SELECTOR}.rawSelector: '
        'Invalid value: "a=b": may not specified at the same time as requirements',
    ),
    "a selector without anything": (
        mine,
        {},
        {"resourceAttributes": {"fieldSelector": {}}},
        f'.{GROUP} "" is invalid: {SELECTOR}.requirements: Required value: '
        f"when {SELECTOR} is specified, requirements or rawSelector is required",
    ),
    "nobody": (
        theirs,
        {},
        {"resourceAttributes": {"verb": "get"}},
        f'.{GROUP} "" is invalid: '
        'spec.user: Invalid value: "": at least one of user or group must be specified',
    ),
    "nobody and nothing": (
        theirs,
        {},
        {},
        f'.{GROUP} "" is invalid: [spec.resourceAttributes: Invalid value: null: {ONE_OF}, '
        'spec.user: Invalid value: "": at least one of user or group must be specified]',
    ),
    "another namespace than here": (
        local,
        {},
        {"user": "bob", "resourceAttributes": {"namespace": "other"}},
        f'.{GROUP} "" is invalid: spec.resourceAttributes.namespace: '
        'Invalid value: "other": must match metadata.namespace',
    ),
    "a path here": (
        local,
        {},
        {"user": "bob", "nonResourceAttributes": {"path": "/x"}},
        f'.{GROUP} "" is invalid: spec.nonResourceAttributes: '
        'Invalid value: {"path":"/x"}: disallowed on this kind of request',
    ),
    "metadata here": (
        local,
        {"name": "x"},
        {"user": "bob", "resourceAttributes": {"namespace": "default"}},
        f'.{GROUP} "" is invalid: metadata: Invalid value: '
        '{"namespace":"default","name":"x"}: must be empty except for namespace',
    ),
}


@pytest.mark.parametrize(("post", "metadata", "spec", "message"), INVALID.values(), ids=INVALID)
def test_a_review_that_asks_nothing_sensible(
    post: Any, metadata: Doc, spec: Doc, message: str
) -> None:
    with pytest.raises(Invalid) as refused:
        post(metadata, **spec)
    assert refused.value.message == message


def test_a_review_of_another_namespace_than_the_url() -> None:
    with pytest.raises(BadRequest, match="must match namespace: default"):
        local({"namespace": "other"}, user="bob", resourceAttributes={"namespace": "other"})


def rules_of(user: User) -> Doc:
    document = a_review("SelfSubjectRulesReview", namespace="default")
    status: Doc = reviews.self_subject_rules_review(document, user, AUTHORIZER)["status"]
    return status


def test_the_rules_of_the_administrator() -> None:
    assert rules_of(ADMIN) == {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


def test_the_rules_of_a_reader() -> None:
    status = rules_of(READ_ONLY)
    assert status["incomplete"] is False
    assert {
        "verbs": ["create"],
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["selfsubjectreviews"],
    } in status["resourceRules"]
    resources = {name for rule in status["resourceRules"] for name in rule["resources"]}
    assert "pods" in resources
    assert "secrets" not in resources


def test_the_rules_of_a_node_are_more_than_can_be_listed() -> None:
    status = rules_of(NODE)
    assert status["incomplete"] is True
    assert status["evaluationError"] == "node authorizer does not support user rule resolution"


def test_names_are_shown_where_rules_have_them() -> None:
    leases = [
        rule
        for rule in rules_of(User("system:kube-scheduler"))["resourceRules"]
        if rule["resources"] == ["leases"]
    ]
    assert [rule.get("resourceNames") for rule in leases] == [
        None,
        ["kube-scheduler", "mooring-scheduler"],
    ]


def test_rules_are_asked_for_in_a_namespace() -> None:
    with pytest.raises(BadRequest, match="no namespace on request"):
        reviews.self_subject_rules_review(a_review("SelfSubjectRulesReview"), ADMIN, AUTHORIZER)


def test_who_am_i() -> None:
    assert reviews.self_subject_review(ADMIN, "2026-03-01T12:00:00Z") == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": "2026-03-01T12:00:00Z"},
        "status": {
            "userInfo": {
                "username": "admin",
                "groups": ["system:masters", "system:authenticated"],
            }
        },
    }


def review_token(directory: Path, audiences: list[str], text: str | None = None) -> Doc:
    roles = open_role_tokens(directory / "tokens.json")
    accounts = ServiceAccountTokens(ec.generate_private_key(ec.SECP256R1()), "https://mooring.test")
    authenticator = Authenticator(roles, accounts, lambda *_: None, RealClock())
    token = roles.token(tokens.ADMIN).reveal() if text is None else text
    spec = {"token": token, "audiences": audiences}
    answer = reviews.token_review({"kind": "TokenReview", "spec": spec}, authenticator)
    status: Doc = answer["status"]
    return status


def test_a_good_token_is_its_user(tmp_path: Path) -> None:
    assert review_token(tmp_path, []) == {
        "authenticated": True,
        "user": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
        "audiences": ["https://mooring.test"],
    }


def test_a_bad_token_is_nobody(tmp_path: Path) -> None:
    assert review_token(tmp_path, [], "nonsense") == {"user": {}, "error": "invalid bearer token"}


def test_a_token_for_somewhere_else_is_nobody(tmp_path: Path) -> None:
    assert review_token(tmp_path, ["vault"]) == {"user": {}, "error": "invalid bearer token"}


def test_a_token_review_needs_a_token(tmp_path: Path) -> None:
    with pytest.raises(ApiError, match="token is required for TokenReview in authentication"):
        review_token(tmp_path, [], "")
