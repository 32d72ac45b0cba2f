"""Roles and their bindings."""

import pytest

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.older import OLDER
from mooring.apiserver.kinds.role import CLUSTER_ROLE, ROLE
from mooring.apiserver.kinds.role_binding import CLUSTER_ROLE_BINDING, ROLE_BINDING
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import BEFORE, create, created, merged, printed, update

RBAC = "rbac.authorization.k8s.io"
READS = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
SEES = {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}
SELECTOR = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}


def a_role(*rules: Doc, **fields: Doc) -> Doc:
    return {
        "metadata": {"name": "r", "namespace": "ns", "creationTimestamp": BEFORE},
        "rules": list(rules),
        **fields,
    }


LOCAL: dict[str, tuple[Doc, list[str]]] = {
    "a rule": (READS, []),
    "no verbs": (
        {**READS, "verbs": []},
        ["rules[0].verbs: Required value"],
    ),
    "nothing to do it to": (
        {"verbs": ["get"]},
        [
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[0].resources: Required value: resource rules must supply at least one resource",
        ],
    ),
    "a path, in a namespace": (
        SEES,
        [
            'rules[0].nonResourceURLs: Invalid value: ["/metrics"]: '
            "namespaced rules cannot apply to non-resource URLs"
        ],
    ),
}


@pytest.mark.parametrize(("rule", "complaints"), LOCAL.values(), ids=LOCAL)
def test_role(rule: Doc, complaints: list[str]) -> None:
    assert create(ROLE, a_role(rule)) == complaints


EVERYWHERE: dict[str, tuple[Doc, list[str]]] = {
    "a path": (a_role(SEES), []),
    "no rules at all": (a_role(), []),
    "resources and paths in one": (
        a_role({**READS, **SEES}),
        [
            'rules[0].nonResourceURLs: Invalid value: ["/metrics"]: '
            "rules cannot apply to both regular resources and non-resource URLs"
        ],
    ),
    "made of others": (a_role(aggregationRule=SELECTOR), []),
    "made of none": (
        a_role(aggregationRule={}),
        [
            "aggregationRule.clusterRoleSelectors: Required value: "
            "at least one clusterRoleSelector required if aggregationRule is non-nil"
        ],
    ),
}


@pytest.mark.parametrize(("doc", "complaints"), EVERYWHERE.values(), ids=EVERYWHERE)
def test_cluster_role(doc: Doc, complaints: list[str]) -> None:
    assert create(CLUSTER_ROLE, doc) == complaints


BINDING: Doc = {
    "metadata": {"name": "b", "namespace": "ns", "creationTimestamp": BEFORE},
    "roleRef": {"kind": "ClusterRole", "name": "view"},
    "subjects": [
        {"kind": "User", "name": "jane"},
        {"kind": "Group", "name": "team"},
        {"kind": "ServiceAccount", "name": "web", "namespace": "ns"},
    ],
}


def test_groups_of_kinds_are_filled_in() -> None:
    stored = created(ROLE_BINDING, BINDING)
    assert stored["roleRef"]["apiGroup"] == RBAC
    assert [subject.get("apiGroup") for subject in stored["subjects"]] == [RBAC, RBAC, None]


BINDINGS: dict[str, tuple[Doc, list[str]]] = {
    "as it is": ({}, []),
    "no subjects": ({"subjects": None}, []),
    "no role": (
        {"roleRef": {"name": None}},
        ["roleRef.name: Required value"],
    ),
    "a role of another kind": (
        {"roleRef": {"kind": "Pod"}},
        ['roleRef.kind: Unsupported value: "Pod": supported values: "Role", "ClusterRole"'],
    ),
    "a subject of another kind": (
        {"subjects": [{"kind": "Pod", "name": "x"}]},
        [
            'subjects[0].kind: Unsupported value: "Pod": '
            'supported values: "ServiceAccount", "User", "Group"'
        ],
    ),
    "a subject without a name": (
        {"subjects": [{"kind": "User"}]},
        ["subjects[0].name: Required value"],
    ),
    "an account of the same namespace": (
        {"subjects": [{"kind": "ServiceAccount", "name": "web"}]},
        [],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), BINDINGS.values(), ids=BINDINGS)
def test_role_binding(patch: Doc, complaints: list[str]) -> None:
    assert create(ROLE_BINDING, merged(BINDING, patch)) == complaints


def test_everywhere_an_account_needs_its_namespace() -> None:
    patch = {"subjects": [{"kind": "ServiceAccount", "name": "web"}]}
    complaints = create(CLUSTER_ROLE_BINDING, merged(BINDING, patch))
    assert complaints == ["subjects[0].namespace: Required value"]


def test_everywhere_only_cluster_roles_are_given() -> None:
    complaints = create(CLUSTER_ROLE_BINDING, merged(BINDING, {"roleRef": {"kind": "Role"}}))
    assert complaints == [
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'
    ]


@pytest.mark.parametrize("kind", [ROLE_BINDING, CLUSTER_ROLE_BINDING], ids=lambda k: k.kind)
def test_a_binding_stays_with_its_role(kind: Kind) -> None:
    stored = created(kind, BINDING)
    (complaint,) = update(kind, stored, {"roleRef": {"name": "edit"}})
    assert complaint.endswith(": field is immutable")
    (before,) = update(OLDER[kind], stored, {"roleRef": {"name": "edit"}})
    assert before.endswith(": cannot change roleRef")
    assert update(kind, stored, {"subjects": None}) == []


@pytest.mark.parametrize("kind", [ROLE, CLUSTER_ROLE], ids=lambda k: k.kind)
def test_that_a_rule_needs_verbs_was_said_in_more_words(kind: Kind) -> None:
    doc = {"metadata": {"name": "r"}, "rules": [{**READS, "verbs": []}]}
    assert create(OLDER[kind], doc) == [
        "rules[0].verbs: Required value: verbs must contain at least one value"
    ]


def test_rows() -> None:
    assert printed(ROLE, a_role()) == {"Name": "r", "Created At": BEFORE}
    assert printed(ROLE_BINDING, BINDING) == {
        "Name": "b",
        "Role": "ClusterRole/view",
        "Age": "27h",
        "Users": "jane",
        "Groups": "team",
        "ServiceAccounts": "ns/web",
    }
