"""Stored RBAC objects, compiled into rules per subject.

They add to the fixed roles. The objects are few and change seldom, so after a change all of them
are read again at the next request.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import msgspec

from mooring.apiserver.auth.role_index import RoleIndex
from mooring.apiserver.auth.rules import Role, Rule
from mooring.apiserver.auth.user import User, service_account_name
from mooring.apiserver.kinds.access_rules import GROUP
from mooring.model.document import Doc

_encode = msgspec.json.Encoder(order="sorted").encode


class Documents(Protocol):
    """The newest readable documents."""

    def all(self, plural: str, namespace: str = "", group: str = "") -> Iterable[Doc]: ...


class Grant(msgspec.Struct, frozen=True):
    """A role, given everywhere or (with a namespace) in that one only."""

    role: str
    namespace: str = ""
    is_local: bool = False  # the role is one of that namespace


class Grants:
    """Who was given which roles. A role is compiled when somebody who holds it asks for something:
    one that is made of thousands of others costs nobody else anything."""

    def __init__(self, documents: Documents) -> None:
        self._cluster = RoleIndex(documents.all("clusterroles", group=GROUP))
        self._local = {
            (doc["metadata"]["namespace"], doc["metadata"]["name"]): doc
            for doc in documents.all("roles", group=GROUP)
        }
        self._compiled: dict[tuple[str, str], Role] = {}
        self._given: dict[tuple[str, str], list[Grant]] = {}
        for binding in documents.all("clusterrolebindings", group=GROUP):
            self._give(binding, Grant(binding["roleRef"]["name"]))
        for binding in documents.all("rolebindings", group=GROUP):
            namespace, reference = binding["metadata"]["namespace"], binding["roleRef"]
            is_local = reference["kind"] != "ClusterRole"
            self._give(binding, Grant(reference["name"], namespace, is_local))

    def held_by(self, user: User, namespace: str) -> Iterator[Role]:
        """The roles that count for what `user` does in `namespace` (empty: in none)."""
        if not self._given:
            return
        holders = [("User", user.name), *(("Group", group) for group in user.groups)]
        for holder in holders:
            for grant in self._given.get(holder, ()):
                if not grant.namespace or grant.namespace == namespace:
                    yield self._role(grant)

    def _give(self, binding: Doc, grant: Grant) -> None:
        where = (grant.namespace, grant.role)
        if where not in self._local if grant.is_local else grant.role not in self._cluster.roles:
            return  # a role that is not there gives nothing, until it is
        for subject in binding.get("subjects") or ():
            if holder := _holder(subject, grant.namespace):
                self._given.setdefault(holder, []).append(grant)

    def _role(self, grant: Grant) -> Role:
        where = (grant.namespace if grant.is_local else "", grant.role)
        known = self._compiled.get(where)
        if known is None:
            if grant.is_local:
                known = _role(self._local[where], self._local[where].get("rules"))
            else:
                known = _role(self._cluster.roles[grant.role], _rules(grant.role, self._cluster))
            self._compiled[where] = known
        return known


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
        return grants.held_by(user, namespace)

    def _read(self) -> Grants:
        if self._follow is not None:
            self._follow(self._forget)
            self._follow = None
        grants = self._grants = Grants(self._documents)
        return grants


def _rules(name: str, index: RoleIndex) -> Iterable[Doc]:
    """A role's own rules, and those of the roles that it is made of."""
    rules = {_encode(rule): rule for rule in index.roles[name].get("rules") or ()}
    for other in sorted(index.chosen(name) - {name}):
        for rule in index.roles[other].get("rules") or ():
            rules.setdefault(_encode(rule), rule)
    return rules.values()


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
