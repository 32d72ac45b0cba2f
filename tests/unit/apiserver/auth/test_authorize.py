"""Who may do what: the table, and how a refusal reads."""

from collections.abc import Iterator

import pytest

from mooring.apiserver.auth.attributes import AccessAttributes, Verdict
from mooring.apiserver.auth.authorize import Authorizer, refusal
from mooring.apiserver.auth.rules import Binding, Role, Rule
from mooring.apiserver.auth.user import (
    ADMIN,
    ANONYMOUS,
    AUTHENTICATED,
    CONTROLLERS,
    MASTERS,
    NODES,
    READ_ONLY,
    SCHEDULER,
    User,
    node_user,
)
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import builtin
from mooring.errors import Forbidden, Unauthorized
from tests.unit.apiserver.auth.cluster import two_nodes

ANYONE = User("bob", groups=(AUTHENTICATED,))
ACCOUNT = User(
    "system:serviceaccount:default:web",
    groups=("system:serviceaccounts", "system:serviceaccounts:default", AUTHENTICATED),
)
NODE = node_user("n1")

KNOWN = {
    "admin": ADMIN,
    "controllers": CONTROLLERS,
    "scheduler": SCHEDULER,
    "read-only": READ_ONLY,
    "node": NODE,
    "account": ACCOUNT,
    "anyone": ANYONE,
    "anonymous": ANONYMOUS,
}

# "verb resource[/sub][.group]" or "verb /path", and who may. Everybody else may not.
TABLE = {
    "get /livez": "admin controllers scheduler read-only node account anyone anonymous",
    "get /readyz": "admin controllers scheduler read-only node account anyone anonymous",
    "get /healthz": "admin controllers scheduler read-only node account anyone anonymous",
    "get /version": "admin controllers scheduler read-only node account anyone anonymous",
    "get /version/": "admin controllers scheduler read-only node account anyone anonymous",
    "get /readyz/store": "admin read-only",
    "get /metrics": "admin read-only",
    "get /api": "admin controllers scheduler read-only node account anyone",
    "get /apis": "admin controllers scheduler read-only node account anyone",
    "get /apis/storage.k8s.io/v1": "admin controllers scheduler read-only node account anyone",
    "get /openapi/v2": "admin controllers scheduler read-only node account anyone",
    "get /openapi/v3/api/v1": "admin controllers scheduler read-only node account anyone",
    "get /": "admin",
    "get /logs": "admin",
    "post /version": "admin",
    "create selfsubjectaccessreviews.authorization.k8s.io": (
        "admin controllers scheduler read-only node account anyone"
    ),
    "create selfsubjectrulesreviews.authorization.k8s.io": (
        "admin controllers scheduler read-only node account anyone"
    ),
    "create selfsubjectreviews.authentication.k8s.io": (
        "admin controllers scheduler read-only node account anyone"
    ),
    "create subjectaccessreviews.authorization.k8s.io": "admin node",
    "create localsubjectaccessreviews.authorization.k8s.io": "admin node",
    "create tokenreviews.authentication.k8s.io": "admin node",
    # secrets and what is as good as one
    "get secrets": "admin controllers",
    "list secrets": "admin controllers",
    "create secrets": "admin",
    "update secrets": "admin",
    "create serviceaccounts/token": "admin",
    "create pods/exec": "admin",
    "get pods/exec": "admin",
    "create pods/attach": "admin",
    "get pods/portforward": "admin",
    "impersonate users": "admin",
    "impersonate groups": "admin",
    "impersonate serviceaccounts": "admin",
    # pods
    "get pods": "admin controllers scheduler read-only",
    "watch pods": "admin controllers scheduler read-only",
    "get pods/log": "admin read-only",
    "get pods/status": "admin read-only",
    "create pods": "admin controllers node",
    "delete pods": "admin controllers node scheduler",
    "update pods": "admin",
    "create pods/binding": "admin scheduler",
    "patch pods/status": "admin controllers scheduler node",
    # volumes and claims
    "list persistentvolumes": "admin controllers scheduler read-only",
    "create persistentvolumes": "admin controllers",
    "patch persistentvolumes": "admin controllers scheduler",
    "delete persistentvolumes": "admin controllers",
    "patch persistentvolumes/status": "admin controllers",
    "get persistentvolumes/status": "admin controllers read-only",
    "create persistentvolumeclaims": "admin controllers",
    "update persistentvolumeclaims": "admin controllers scheduler",
    "update persistentvolumeclaims/status": "admin controllers",
    "deletecollection persistentvolumeclaims": "admin controllers",
    "deletecollection persistentvolumes": "admin",
    "list storageclasses.storage.k8s.io": "admin controllers scheduler read-only",
    "create storageclasses.storage.k8s.io": "admin",
    "update storageclasses.storage.k8s.io": "admin",
    "list csidrivers.storage.k8s.io": "admin controllers scheduler read-only node",
    "create csidrivers.storage.k8s.io": "admin",
    "list csinodes.storage.k8s.io": "admin controllers scheduler read-only",
    "create csinodes.storage.k8s.io": "admin node",
    "list volumeattachments.storage.k8s.io": "admin controllers scheduler read-only",
    "create volumeattachments.storage.k8s.io": "admin controllers",
    "patch volumeattachments.storage.k8s.io": "admin controllers",
    "patch volumeattachments/status.storage.k8s.io": "admin controllers",
    "create csistoragecapacities.storage.k8s.io": "admin controllers",
    "list csistoragecapacities.storage.k8s.io": "admin controllers scheduler read-only",
    "update volumeattributesclasses.storage.k8s.io": "admin controllers",
    "create volumeattributesclasses.storage.k8s.io": "admin",
    "list volumesnapshots.snapshot.storage.k8s.io": "admin controllers read-only",
    "update volumesnapshots.snapshot.storage.k8s.io": "admin controllers",
    "patch volumesnapshots/status.snapshot.storage.k8s.io": "admin controllers",
    "create volumesnapshotcontents.snapshot.storage.k8s.io": "admin controllers",
    "create volumesnapshotclasses.snapshot.storage.k8s.io": "admin",
    # the rest of the cluster
    "list nodes": "admin controllers scheduler read-only",
    "update nodes": "admin node",
    "patch nodes/status": "admin controllers node",
    "create namespaces": "admin",
    "update namespaces/finalize": "admin controllers",
    "create serviceaccounts": "admin controllers",
    "create configmaps": "admin controllers",
    "update configmaps": "admin controllers",
    "get configmaps": "admin controllers read-only",
    "create events": "admin controllers scheduler node",
    "patch events.events.k8s.io": "admin controllers scheduler node",
    "list events": "admin controllers read-only",
    "create leases.coordination.k8s.io": "admin controllers scheduler",
    "list leases.coordination.k8s.io": "admin controllers read-only",
    "delete leases.coordination.k8s.io": "admin controllers",
    "list clustertrustbundles.certificates.k8s.io": "admin controllers read-only node account",
    "get clustertrustbundles.certificates.k8s.io": "admin controllers read-only node account",
    "create clustertrustbundles.certificates.k8s.io": "admin",
    "update clustertrustbundles.certificates.k8s.io": "admin",
    "list customresourcedefinitions.apiextensions.k8s.io": "admin controllers read-only",
    "get nonsense": "admin",
    "* *": "admin",
}


def an_attempt(words: str, **more: str) -> AccessAttributes:
    verb, what = words.split(" ")
    if what.startswith("/"):
        return AccessAttributes(verb, path=what)
    resource, _, group = what.partition(".")
    resource, _, subresource = resource.partition("/")
    return AccessAttributes(verb, group=group, resource=resource, subresource=subresource, **more)


@pytest.fixture
def authorizer() -> Authorizer:
    return Authorizer(two_nodes())


@pytest.mark.parametrize(("words", "who"), TABLE.items(), ids=TABLE)
def test_who_may(authorizer: Authorizer, words: str, who: str) -> None:
    attributes = an_attempt(words)
    allowed = {
        name for name, user in KNOWN.items() if authorizer.authorize(user, attributes).allowed
    }
    assert allowed == set(who.split())


STORED = {kind.resource: kind for kind in builtin().all() if "list" in kind.verbs}


def refused_verbs(authorizer: Authorizer, user: User, kind: Kind, *verbs: str) -> list[str]:
    return [
        verb
        for verb in verbs
        if not authorizer.authorize(
            user, AccessAttributes(verb, group=kind.group, resource=kind.plural)
        ).allowed
    ]


@pytest.mark.parametrize("kind", STORED.values(), ids=STORED)
def test_the_controllers_collect_garbage_and_empty_namespaces(
    authorizer: Authorizer, kind: Kind
) -> None:
    verbs = ["get", "list", "watch", "patch", "delete"]
    if kind.namespaced:
        verbs.append("deletecollection")
    assert refused_verbs(authorizer, CONTROLLERS, kind, *verbs) == []


@pytest.mark.parametrize("kind", STORED.values(), ids=STORED)
def test_readers_read_everything_but_secrets(authorizer: Authorizer, kind: Kind) -> None:
    verbs = ["get", "list", "watch"]
    refused = refused_verbs(authorizer, READ_ONLY, kind, *verbs)
    assert refused == (verbs if kind.plural == "secrets" else [])


@pytest.mark.parametrize("kind", STORED.values(), ids=STORED)
def test_readers_write_nothing(authorizer: Authorizer, kind: Kind) -> None:
    verbs = ["create", "update", "patch", "delete", "deletecollection"]
    assert refused_verbs(authorizer, READ_ONLY, kind, *verbs) == verbs


LEASES: dict[str, tuple[str, str, bool]] = {
    "its own lease": ("update", "mooring-scheduler", True),
    "the lease of Kubernetes' own": ("get", "kube-scheduler", True),
    "another lease": ("update", "external-attacher-leader-x", False),
    "all leases": ("list", "", False),
    "a watch of its own": ("watch", "mooring-scheduler", True),
    "a new lease, whose name is not known yet": ("create", "", True),
}


@pytest.mark.parametrize(("verb", "name", "allowed"), LEASES.values(), ids=LEASES)
def test_the_scheduler_and_leases(
    authorizer: Authorizer,
    verb: str,
    name: str,
    allowed: bool,  # noqa: FBT001 the last column
) -> None:
    attributes = an_attempt(f"{verb} leases.coordination.k8s.io", name=name)
    for _ in range(2):  # a remembered verdict must not answer for another name
        assert authorizer.authorize(SCHEDULER, attributes).allowed is allowed
        other = an_attempt(f"{verb} leases.coordination.k8s.io", name="nobodys")
        assert authorizer.authorize(SCHEDULER, other).allowed is (verb == "create")


def test_a_watch_limited_to_one_name_is_about_that_object(authorizer: Authorizer) -> None:
    own = AccessAttributes("watch", resource="nodes", field_selector="metadata.name=n1")
    other = AccessAttributes("watch", resource="nodes", field_selector="metadata.name=n2")
    assert authorizer.authorize(NODE, own).allowed
    verdict = authorizer.authorize(NODE, other)
    assert not verdict.allowed
    assert refusal(NODE, other, verdict).message.startswith('nodes "n2" is forbidden: ')


def test_masters_may_everything_by_group_not_by_name(authorizer: Authorizer) -> None:
    attributes = an_attempt("delete nodes")
    assert authorizer.authorize(User("eve", groups=(MASTERS,)), attributes).allowed
    assert not authorizer.authorize(User("admin", groups=(AUTHENTICATED,)), attributes).allowed


def test_a_node_without_a_name_has_no_rights_of_a_node(authorizer: Authorizer) -> None:
    nameless = User("system:node:", groups=(NODES, AUTHENTICATED))
    verdict = authorizer.authorize(nameless, an_attempt("list csidrivers.storage.k8s.io"))
    assert verdict == Verdict(allowed=False, reason='node: unknown node for user "system:node:"')
    assert authorizer.authorize(nameless, an_attempt("get /api")).allowed


def test_a_verdict_says_which_role_allowed_it(authorizer: Authorizer) -> None:
    assert authorizer.authorize(READ_ONLY, an_attempt("get pods")) == Verdict(
        allowed=True, reason='allowed by role "read-only"'
    )
    assert authorizer.authorize(ANYONE, an_attempt("get pods")) == Verdict(allowed=False)


def test_bindings_can_be_given_and_add_up() -> None:
    one = Role("one", (Rule(("get",), ("",), ("pods",), names=("a",)),))
    two = Role("two", (Rule(("get",), ("",), ("pods",), names=("b",)),))
    bindings = (Binding(one, users=("bob",)), Binding(two, groups=("team",)))
    authorizer = Authorizer(two_nodes(), bindings)
    bob = User("bob", groups=("team",))
    names = [n for n in "abc" if authorizer.authorize(bob, an_attempt("get pods", name=n)).allowed]
    assert names == ["a", "b"]


def many_attempts() -> Iterator[AccessAttributes]:
    for index in range(10_000):
        yield AccessAttributes("get", resource=f"made-up-{index}")


def test_made_up_resources_do_not_fill_the_memory(authorizer: Authorizer) -> None:
    for attributes in many_attempts():
        authorizer.authorize(ANYONE, attributes)
    assert len(authorizer._remembered) <= 4096


REFUSALS = {
    "an object in a namespace": (
        AccessAttributes("get", resource="secrets", namespace="default", name="s"),
        "",
        'secrets "s" is forbidden: User "bob" cannot get resource "secrets" in API group "" '
        'in the namespace "default"',
        {"name": "s", "kind": "secrets"},
    ),
    "a list at the cluster scope": (
        AccessAttributes("list", group="storage.k8s.io", resource="storageclasses"),
        "",
        'storageclasses.storage.k8s.io is forbidden: User "bob" cannot list resource '
        '"storageclasses" in API group "storage.k8s.io" at the cluster scope',
        {"group": "storage.k8s.io", "kind": "storageclasses"},
    ),
    "a subresource": (
        AccessAttributes(
            "create", resource="pods", subresource="exec", namespace="default", name="web"
        ),
        "",
        'pods "web" is forbidden: User "bob" cannot create resource "pods/exec" in API group "" '
        'in the namespace "default"',
        {"name": "web", "kind": "pods"},
    ),
    "a path": (
        AccessAttributes("get", path="/nope"),
        "",
        'forbidden: User "bob" cannot get path "/nope"',
        {},
    ),
    "with a reason": (
        AccessAttributes("get", resource="persistentvolumes", name="pv"),
        "no relationship found between node 'n1' and this object",
        'persistentvolumes "pv" is forbidden: User "bob" cannot get resource "persistentvolumes" '
        "in API group \"\" at the cluster scope: no relationship found between node 'n1' "
        "and this object",
        {"name": "pv", "kind": "persistentvolumes"},
    ),
    "nothing that a browser could take for a page": (
        AccessAttributes("get", path="/<script>&"),
        "",
        'forbidden: User "bob" cannot get path "/&lt;script&gt;&amp;"',
        {},
    ),
}


@pytest.mark.parametrize(
    ("attributes", "reason", "message", "details"), REFUSALS.values(), ids=REFUSALS
)
def test_a_refusal_in_upstreams_words(
    attributes: AccessAttributes, reason: str, message: str, details: dict[str, str]
) -> None:
    refused = refusal(ANYONE, attributes, Verdict(allowed=False, reason=reason))
    assert isinstance(refused, Forbidden)
    assert (refused.message, refused.details) == (message, details)


def test_without_a_token_the_answer_is_who_are_you() -> None:
    refused = refusal(ANONYMOUS, AccessAttributes("get", resource="pods"), Verdict(allowed=False))
    assert isinstance(refused, Unauthorized)
    assert (refused.code, refused.message) == (401, "Unauthorized")


def test_an_impersonated_anonymous_user_has_shown_a_token() -> None:
    posing = User(ANONYMOUS.name, groups=ANONYMOUS.groups)
    refused = refusal(posing, AccessAttributes("get", resource="pods"), Verdict(allowed=False))
    assert isinstance(refused, Forbidden)
