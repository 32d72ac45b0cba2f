"""Stored RBAC objects, compiled into rules per subject.

They add to the fixed roles. The objects are few and change seldom, so after a change all of them
are read again at the next request.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import msgspec

from mooring.apiserver.auth.rules import Role, Rule
from mooring.apiserver.auth.user import User, service_account_name
from mooring.apiserver.kinds.access_rules import GROUP
from mooring.model.document import Doc
from mooring.model.selector import from_document


class Documents(Protocol):
    """The newest readable documents."""

    def all(self, plural: str, namespace: str = "", group: str = "") -> Iterable[Doc]: ...


class Grant(msgspec.Struct, frozen=True):
    """A role, given everywhere or (with a namespace) in that one only."""

    role: Role
    namespace: str = ""


Grants = Mapping[tuple[str, str], list[Grant]]


class StoredRoles:
    """`follow` is called once, and has to call back whenever an object of the group changed."""

    def __init__(self, documents: Documents, follow: Callable[[Callable[[], None]], None]) -> None:
        self._documents = documents
        self._follow: Callable[[Callable[[], None]], None] | None = follow
        self._grants: Grants | None = None

    def _forget(self) -> None:
        self._grants = None

    def held_by(self, user: User, namespace: str) -> Iterator[Role]:
        """The roles that count for what `user` does in `namespace` (empty: in none)."""
        grants = self._grants
        if grants is None:
            grants = self._read()
        if not grants:
            return
        holders = [("User", user.name), *(("Group", group) for group in user.groups)]
        for holder in holders:
            for grant in grants.get(holder, ()):
                if not grant.namespace or grant.namespace == namespace:
                    yield grant.role

    def _read(self) -> Grants:
        if self._follow is not None:
            self._follow(self._forget)
            self._follow = None
        grants = self._grants = read_grants(self._documents)
        return grants


def read_grants(documents: Documents) -> Grants:
    """All grants, by (`User` or `Group`, name)."""
    everywhere = _cluster_roles(documents)
    local = {
        (doc["metadata"]["namespace"], doc["metadata"]["name"]): _role(doc, doc.get("rules"))
        for doc in documents.all("roles", group=GROUP)
    }
    grants: dict[tuple[str, str], list[Grant]] = {}

    def give(binding: Doc, role: Role | None, namespace: str) -> None:
        if role is None:
            return  # a role that is not there gives nothing, until it is
        for subject in binding.get("subjects") or ():
            if holder := _holder(subject, namespace):
                grants.setdefault(holder, []).append(Grant(role, namespace))

    for binding in documents.all("clusterrolebindings", group=GROUP):
        give(binding, everywhere.get(binding["roleRef"]["name"]), "")
    for binding in documents.all("rolebindings", group=GROUP):
        namespace, reference = binding["metadata"]["namespace"], binding["roleRef"]
        if reference["kind"] == "ClusterRole":
            give(binding, everywhere.get(reference["name"]), namespace)
        else:
            give(binding, local.get((namespace, reference["name"])), namespace)
    return grants


def _cluster_roles(documents: Documents) -> Mapping[str, Role]:
    written = list(documents.all("clusterroles", group=GROUP))
    return {doc["metadata"]["name"]: _role(doc, _rules(doc, written)) for doc in written}


def _rules(doc: Doc, others: Iterable[Doc]) -> list[Doc]:
    """A role's own rules, and those of the roles that it is made of."""
    rules = list(doc.get("rules") or ())
    for selected in (doc.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        selector = from_document(selected)
        for other in others:
            if other is not doc and selector.matches(other["metadata"].get("labels") or {}):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules


def _role(doc: Doc, rules: Iterable[Doc] | None) -> Role:
    return Role(
        doc["metadata"]["name"],
        tuple(
            Rule(
                tuple(rule.get("verbs") or ()),
                tuple(rule.get("apiGroups") or ()),
                tuple(rule.get("resources") or ()),
                tuple(rule.get("resourceNames") or ()),
                tuple(rule.get("nonResourceURLs") or ()),
            )
            for rule in rules or ()
        ),
    )


def _holder(subject: Doc, namespace: str) -> tuple[str, str] | None:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind == "ServiceAccount":
        return "User", service_account_name(subject.get("namespace") or namespace, name)
    return (kind, name) if kind in ("User", "Group") else None
