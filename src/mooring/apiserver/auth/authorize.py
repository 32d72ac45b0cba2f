"""Who may do what.

Members of `system:masters` may do everything. Nodes are judged by what concerns them. For everyone
the rules of their roles add up: the fixed ones first, then those that users wrote.
"""

from collections.abc import Iterator, Sequence

from mooring.apiserver.auth.attempt import ALLOWED, NO_OPINION, Attempt, Verdict, with_name
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

_MOST_REMEMBERED = 4096

_Key = tuple[str, tuple[str, ...], str, str, str, str]


class Authorizer:
    def __init__(
        self,
        objects: NodeObjects,
        bindings: Sequence[Binding] = FIXED_BINDINGS,
        stored: StoredRoles | None = None,
    ) -> None:
        self._nodes = NodeAuthorizer(objects)
        self._stored = stored
        self._roles_by_user: dict[str, list[Role]] = {}
        self._roles_by_group: dict[str, list[Role]] = {}
        for binding in bindings:
            for name in binding.users:
                self._roles_by_user.setdefault(name, []).append(binding.role)
            for group in binding.groups:
                self._roles_by_group.setdefault(group, []).append(binding.role)
        self._remembered: dict[_Key, Verdict] = {}

    def authorize(self, user: User, attempt: Attempt) -> Verdict:
        if MASTERS in user.groups:
            return ALLOWED
        attempt = with_name(attempt)
        node = find_node(user)
        if node is None:
            return self._by_rules(user, attempt)
        if node:
            verdict = self._nodes.authorize(node, attempt)
        else:
            verdict = Verdict(allowed=False, reason=f"unknown node for user {show(user.name)}")
        if verdict.allowed:
            return verdict
        by_rules = self._by_rules(user, attempt)
        return by_rules if by_rules.allowed else verdict

    def rules_for(self, user: User, namespace: str) -> list[Rule]:
        """Every rule that holds for this user there; a node may do more than these say."""
        if MASTERS in user.groups:
            return list(EVERYTHING.rules)
        roles = [*self._roles(user), *self._written(user, namespace)]
        return [rule for role in roles for rule in role.rules]

    def _by_rules(self, user: User, attempt: Attempt) -> Verdict:
        verdict = self._by_fixed(user, attempt)
        if verdict.allowed:
            return verdict
        for role in self._written(user, attempt.namespace):
            if any(_covers(rule, attempt) for rule in role.rules):
                return _allowed_by(role)
        return verdict

    def _written(self, user: User, namespace: str) -> Iterator[Role]:
        return self._stored.held_by(user, namespace) if self._stored else iter(())

    def _by_fixed(self, user: User, attempt: Attempt) -> Verdict:
        if attempt.path:
            return self._by_path(user, attempt)
        key = (
            user.name,
            user.groups,
            attempt.verb,
            attempt.group,
            attempt.resource,
            attempt.subresource,
        )
        verdict = self._remembered.get(key)
        if verdict is not None:
            return verdict
        verdict, depends_on_name = self._by_resource(user, attempt)
        if not depends_on_name:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = verdict
        return verdict

    def _by_resource(self, user: User, attempt: Attempt) -> tuple[Verdict, bool]:
        """The verdict, and whether another name could change it."""
        asked = attempt.verb, attempt.group, attempt.resource, attempt.subresource
        by_name: Verdict | None = None
        for role in self._roles(user):
            for rule in role.rules:
                if not covers_resource(rule, *asked):
                    continue
                if not rule.names:
                    return _allowed_by(role), False
                if covers_name(rule, attempt.name):
                    by_name = _allowed_by(role)
                elif by_name is None:
                    by_name = NO_OPINION
        return by_name or NO_OPINION, by_name is not None

    def _by_path(self, user: User, attempt: Attempt) -> Verdict:
        for role in self._roles(user):
            for rule in role.rules:
                if covers_path(rule, attempt.verb, attempt.path):
                    return _allowed_by(role)
        return NO_OPINION

    def _roles(self, user: User) -> Iterator[Role]:
        yield from self._roles_by_user.get(user.name, ())
        for group in user.groups:
            yield from self._roles_by_group.get(group, ())


def _covers(rule: Rule, attempt: Attempt) -> bool:
    if attempt.path:
        return covers_path(rule, attempt.verb, attempt.path)
    asked = attempt.verb, attempt.group, attempt.resource, attempt.subresource
    return covers_resource(rule, *asked) and covers_name(rule, attempt.name)


def refusal(user: User, attempt: Attempt, verdict: Verdict) -> Forbidden | Unauthorized:
    """What to tell a user who may not: 403 with the reason; 401 to whoever showed no token."""
    if user is ANONYMOUS:
        return Unauthorized("Unauthorized")
    attempt = with_name(attempt)
    text = _in_html(_sentence(user, attempt))
    why = f"{text}: {verdict.reason}" if verdict.reason else text
    return forbidden_as(attempt.group, attempt.resource, attempt.name, why)


def _sentence(user: User, attempt: Attempt) -> str:
    who = f"User {show(user.name)} cannot {attempt.verb}"
    if attempt.path:
        return f"{who} path {show(attempt.path)}"
    resource = attempt.resource
    if attempt.subresource:
        resource = f"{resource}/{attempt.subresource}"
    what = f"resource {show(resource)} in API group {show(attempt.group)}"
    if attempt.namespace:
        return f"{who} {what} in the namespace {show(attempt.namespace)}"
    return f"{who} {what} at the cluster scope"


def _in_html(text: str) -> str:
    """Harmless where an answer is mistaken for a web page."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _allowed_by(role: Role) -> Verdict:
    return Verdict(allowed=True, reason=f"allowed by role {show(role.name)}")
