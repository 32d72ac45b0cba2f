"""Authorization.

Members of `system:masters` may do everything. Nodes go through the node authorizer. For every user
the rules of their roles add up: the fixed ones first, then the RBAC objects.
"""

from collections.abc import Iterator, Sequence

from mooring.apiserver.auth.attributes import (
    ALLOWED,
    NO_OPINION,
    AccessAttributes,
    Verdict,
    with_name,
)
from mooring.apiserver.auth.node_authorizer import NodeAuthorizer, NodeObjects
from mooring.apiserver.auth.roles import EVERYTHING, FIXED_BINDINGS
from mooring.apiserver.auth.rules import (
    Binding,
    Role,
    Rule,
    covers_name,
    covers_path,
    covers_resource,
)
from mooring.apiserver.auth.stored_roles import StoredRoles
from mooring.apiserver.auth.user import ANONYMOUS, MASTERS, User, find_node
from mooring.apiserver.request.refusals import forbidden_as
from mooring.errors import Forbidden, Unauthorized
from mooring.model.field_error import show
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion

_MOST_REMEMBERED = 4096

_Key = tuple[str, tuple[str, ...], str, str, str, str]


class Authorizer:
    def __init__(
        self,
        objects: NodeObjects,
        bindings: Sequence[Binding] = FIXED_BINDINGS,
        stored: StoredRoles | None = None,
        release: KubernetesVersion = NEWEST,
    ) -> None:
        self._nodes = NodeAuthorizer(objects)
        self._stored = stored
        self._prefix = "node: " if release.names_refusing_authorizer else ""
        self._roles_by_user: dict[str, list[Role]] = {}
        self._roles_by_group: dict[str, list[Role]] = {}
        for binding in bindings:
            for name in binding.users:
                self._roles_by_user.setdefault(name, []).append(binding.role)
            for group in binding.groups:
                self._roles_by_group.setdefault(group, []).append(binding.role)
        self._remembered: dict[_Key, Verdict] = {}

    def authorize(self, user: User, attributes: AccessAttributes) -> Verdict:
        if MASTERS in user.groups:
            return ALLOWED
        attributes = with_name(attributes)
        node = find_node(user)
        if node is None:
            return self._by_rules(user, attributes)
        if node:
            verdict = self._nodes.authorize(node, attributes)
        else:
            verdict = Verdict(allowed=False, reason=f"unknown node for user {show(user.name)}")
        if verdict.allowed:
            return verdict
        by_rules = self._by_rules(user, attributes)
        if by_rules.allowed:
            return by_rules
        reason = verdict.reason and f"{self._prefix}{verdict.reason}"
        return Verdict(allowed=False, reason=reason)

    def rules_for(self, user: User, namespace: str) -> list[Rule]:
        """Every rule that holds for this user there; a node may do more than these say."""
        if MASTERS in user.groups:
            return list(EVERYTHING.rules)
        roles = [*self._roles(user), *self._written(user, namespace)]
        return [rule for role in roles for rule in role.rules]

    def _by_rules(self, user: User, attributes: AccessAttributes) -> Verdict:
        verdict = self._by_fixed(user, attributes)
        if verdict.allowed:
            return verdict
        for role in self._written(user, attributes.namespace):
            if any(_covers(rule, attributes) for rule in role.rules):
                return _allowed_by(role)
        return verdict

    def _written(self, user: User, namespace: str) -> Iterator[Role]:
        return self._stored.held_by(user, namespace) if self._stored else iter(())

    def _by_fixed(self, user: User, attributes: AccessAttributes) -> Verdict:
        if attributes.path:
            return self._by_path(user, attributes)
        key = (
            user.name,
            user.groups,
            attributes.verb,
            attributes.group,
            attributes.resource,
            attributes.subresource,
        )
        verdict = self._remembered.get(key)
        if verdict is not None:
            return verdict
        verdict, depends_on_name = self._by_resource(user, attributes)
        if not depends_on_name:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = verdict
        return verdict

    def _by_resource(self, user: User, attributes: AccessAttributes) -> tuple[Verdict, bool]:
        """The verdict, and whether another name could change it."""
        asked = attributes.verb, attributes.group, attributes.resource, attributes.subresource
        by_name: Verdict | None = None
        for role in self._roles(user):
            for rule in role.rules:
                if not covers_resource(rule, *asked):
                    continue
                if not rule.names:
                    return _allowed_by(role), False
                if covers_name(rule, attributes.name):
                    by_name = _allowed_by(role)
                elif by_name is None:
                    by_name = NO_OPINION
        return by_name or NO_OPINION, by_name is not None

    def _by_path(self, user: User, attributes: AccessAttributes) -> Verdict:
        for role in self._roles(user):
            for rule in role.rules:
                if covers_path(rule, attributes.verb, attributes.path):
                    return _allowed_by(role)
        return NO_OPINION

    def _roles(self, user: User) -> Iterator[Role]:
        yield from self._roles_by_user.get(user.name, ())
        for group in user.groups:
            yield from self._roles_by_group.get(group, ())


def _covers(rule: Rule, attributes: AccessAttributes) -> bool:
    if attributes.path:
        return covers_path(rule, attributes.verb, attributes.path)
    asked = attributes.verb, attributes.group, attributes.resource, attributes.subresource
    return covers_resource(rule, *asked) and covers_name(rule, attributes.name)


def refusal(user: User, attributes: AccessAttributes, verdict: Verdict) -> Forbidden | Unauthorized:
    """The refusal: 403 with the reason; 401 for an anonymous request."""
    if user is ANONYMOUS:
        return Unauthorized("Unauthorized")
    attributes = with_name(attributes)
    text = _in_html(_sentence(user, attributes))
    why = f"{text}: {verdict.reason}" if verdict.reason else text
    return forbidden_as(attributes.group, attributes.resource, attributes.name, why)


def _sentence(user: User, attributes: AccessAttributes) -> str:
    who = f"User {show(user.name)} cannot {attributes.verb}"
    if attributes.path:
        return f"{who} path {show(attributes.path)}"
    resource = attributes.resource
    if attributes.subresource:
        resource = f"{resource}/{attributes.subresource}"
    what = f"resource {show(resource)} in API group {show(attributes.group)}"
    if attributes.namespace:
        return f"{who} {what} in the namespace {show(attributes.namespace)}"
    return f"{who} {what} at the cluster scope"


def _in_html(text: str) -> str:
    """Harmless where an answer is mistaken for a web page."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _allowed_by(role: Role) -> Verdict:
    return Verdict(allowed=True, reason=f"allowed by role {show(role.name)}")
