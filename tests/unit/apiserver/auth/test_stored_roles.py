"""Roles that users wrote: who holds what, and where."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from mooring.apiserver.auth.attributes import AccessAttributes
from mooring.apiserver.auth.authorize import Authorizer
from mooring.apiserver.auth.bootstrap_policy import bootstrap_objects
from mooring.apiserver.auth.stored_roles import StoredRoles
from mooring.apiserver.auth.user import AUTHENTICATED, User, node_user, service_account_name
from mooring.model.document import Doc
from tests.unit.apiserver.auth.cluster import Cluster, two_nodes

JANE = User("jane", groups=("team", AUTHENTICATED))
WEB = User(service_account_name("ns", "web"), groups=("system:serviceaccounts:ns", AUTHENTICATED))

READ_PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
READ_ONE = {**READ_PODS, "resourceNames": ["one"]}
METRICS = {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}


def named(name: str, namespace: str = "", **fields: Any) -> Doc:
    where = {"namespace": namespace} if namespace else {}
    return {"metadata": {"name": name, **where, "labels": fields.pop("labels", {})}, **fields}


def binding(role: str, *subjects: Doc, namespace: str = "", kind: str = "ClusterRole") -> Doc:
    reference = {"kind": kind, "name": role}
    return named("b", namespace, roleRef=reference, subjects=list(subjects))


A_USER = {"kind": "User", "name": "jane"}
A_TEAM = {"kind": "Group", "name": "team"}
AN_ACCOUNT = {"kind": "ServiceAccount", "name": "web", "namespace": "ns"}


class Written:
    """RBAC objects, and whoever wants to know that they changed."""

    def __init__(self, **objects: list[Doc]) -> None:
        self.objects = objects
        self.reads = 0
        self.forget: Callable[[], None] | None = None

    def all(self, plural: str, namespace: str = "", group: str = "") -> Iterable[Doc]:
        assert (namespace, group) == ("", "rbac.authorization.k8s.io")
        self.reads += 1
        return self.objects.get(plural, [])

    def follow(self, forget: Callable[[], None]) -> None:
        self.forget = forget

    def may(self, user: User, attributes: AccessAttributes) -> bool:
        authorizer = Authorizer(Cluster(), stored=StoredRoles(self, self.follow))
        return authorizer.authorize(user, attributes).allowed


GET_POD = AccessAttributes("get", resource="pods", namespace="ns", name="one")
GET_POD_ELSEWHERE = AccessAttributes("get", resource="pods", namespace="other", name="one")
LIST_ALL_PODS = AccessAttributes("list", resource="pods")
READ_METRICS = AccessAttributes("get", path="/metrics")

READER = named("reader", rules=[READ_PODS, METRICS])
LOCAL_READER = named("reader", "ns", rules=[READ_PODS])
PICKY = named("picky", rules=[READ_ONE])
WHOLE = named("whole", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"part": "a"}}]})
PART = named("part", rules=[READ_PODS], labels={"part": "a"})

BUILT_IN = [each.doc for each in bootstrap_objects() if each.plural == "clusterroles"]

TABLE: dict[str, tuple[Written, User, AccessAttributes, bool]] = {
    "nothing was written": (Written(), JANE, GET_POD, False),
    "a cluster role, given everywhere": (
        Written(clusterroles=[READER], clusterrolebindings=[binding("reader", A_USER)]),
        JANE,
        LIST_ALL_PODS,
        True,
    ),
    "to somebody else": (
        Written(clusterroles=[READER], clusterrolebindings=[binding("reader", A_USER)]),
        WEB,
        LIST_ALL_PODS,
        False,
    ),
    "to a group": (
        Written(clusterroles=[READER], clusterrolebindings=[binding("reader", A_TEAM)]),
        JANE,
        GET_POD,
        True,
    ),
    "to a service account": (
        Written(clusterroles=[READER], clusterrolebindings=[binding("reader", AN_ACCOUNT)]),
        WEB,
        GET_POD,
        True,
    ),
    "a path": (
        Written(clusterroles=[READER], clusterrolebindings=[binding("reader", A_USER)]),
        JANE,
        READ_METRICS,
        True,
    ),
    "given in one namespace: there": (
        Written(clusterroles=[READER], rolebindings=[binding("reader", A_USER, namespace="ns")]),
        JANE,
        GET_POD,
        True,
    ),
    "given in one namespace: not elsewhere": (
        Written(clusterroles=[READER], rolebindings=[binding("reader", A_USER, namespace="ns")]),
        JANE,
        GET_POD_ELSEWHERE,
        False,
    ),
    "given in one namespace: not in all of them": (
        Written(clusterroles=[READER], rolebindings=[binding("reader", A_USER, namespace="ns")]),
        JANE,
        LIST_ALL_PODS,
        False,
    ),
    "given in one namespace: no path": (
        Written(clusterroles=[READER], rolebindings=[binding("reader", A_USER, namespace="ns")]),
        JANE,
        READ_METRICS,
        False,
    ),
    "a role of the namespace": (
        Written(
            roles=[LOCAL_READER],
            rolebindings=[binding("reader", A_USER, namespace="ns", kind="Role")],
        ),
        JANE,
        GET_POD,
        True,
    ),
    "a role of another namespace gives nothing": (
        Written(
            roles=[LOCAL_READER],
            rolebindings=[binding("reader", A_USER, namespace="other", kind="Role")],
        ),
        JANE,
        GET_POD_ELSEWHERE,
        False,
    ),
    "an account without a namespace is of the binding's own": (
        Written(
            clusterroles=[READER],
            rolebindings=[
                binding("reader", {"kind": "ServiceAccount", "name": "web"}, namespace="ns")
            ],
        ),
        WEB,
        GET_POD,
        True,
    ),
    "one object by its name": (
        Written(clusterroles=[PICKY], clusterrolebindings=[binding("picky", A_USER)]),
        JANE,
        GET_POD,
        True,
    ),
    "and no other": (
        Written(clusterroles=[PICKY], clusterrolebindings=[binding("picky", A_USER)]),
        JANE,
        LIST_ALL_PODS,
        False,
    ),
    "a role made of others": (
        Written(clusterroles=[WHOLE, PART], clusterrolebindings=[binding("whole", A_USER)]),
        JANE,
        GET_POD,
        True,
    ),
    "a role that is not there": (
        Written(clusterrolebindings=[binding("nobody", A_USER)]),
        JANE,
        GET_POD,
        False,
    ),
    "the role of those who may do everything": (
        Written(clusterroles=BUILT_IN, clusterrolebindings=[binding("cluster-admin", A_USER)]),
        JANE,
        AccessAttributes("delete", resource="secrets", namespace="ns", name="x"),
        True,
    ),
    "and that of those who may look": (
        Written(clusterroles=BUILT_IN, clusterrolebindings=[binding("view", A_USER)]),
        JANE,
        AccessAttributes("get", resource="configmaps", namespace="ns", name="x"),
        True,
    ),
    "which shows no secrets": (
        Written(clusterroles=BUILT_IN, clusterrolebindings=[binding("view", A_USER)]),
        JANE,
        AccessAttributes("get", resource="secrets", namespace="ns", name="x"),
        False,
    ),
}


@pytest.mark.parametrize(("written", "who", "what", "then"), TABLE.values(), ids=TABLE)
def test_stored_roles(written: Written, who: User, what: AccessAttributes, *, then: bool) -> None:
    assert written.may(who, what) is then


def test_a_node_may_be_given_more_than_nodes_may() -> None:
    given = binding("cluster-admin", {"kind": "User", "name": "system:node:n1"})
    stored = Written(clusterroles=BUILT_IN, clusterrolebindings=[given])
    authorizer = Authorizer(two_nodes(), stored=StoredRoles(stored, stored.follow))
    assert authorizer.authorize(node_user("n1"), LIST_ALL_PODS).allowed
    assert not authorizer.authorize(node_user("n2"), LIST_ALL_PODS).allowed


def test_roles_are_read_again_only_when_they_changed() -> None:
    written = Written(clusterroles=[READER])
    stored = StoredRoles(written, written.follow)
    assert not list(stored.held_by(JANE, "ns"))
    before = written.reads
    assert not list(stored.held_by(JANE, "ns"))
    assert written.reads == before
    written.objects["clusterrolebindings"] = [binding("reader", A_USER)]
    assert written.forget is not None
    written.forget()
    assert [role.name for role in stored.held_by(JANE, "ns")] == ["reader"]
