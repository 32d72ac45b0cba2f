"""Rules as data, and how they match: the part of Kubernetes' RBAC that fixed roles need.

A rule allows verbs on resources, or on paths. Rules only ever add rights.
"""

import msgspec

EVERY = "*"


class Rule(msgspec.Struct, frozen=True):
    """`resources` may hold `*` (all, with their subresources), `pods`, `pods/log`, `*/status`.

    `names` limits the rule to objects of these names, so it never allows what has no name yet: a
    create, or a list that is not limited to one of them. `paths` may end in `*`.
    """

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


class Role(msgspec.Struct, frozen=True):
    name: str
    rules: tuple[Rule, ...]


class Binding(msgspec.Struct, frozen=True):
    """The subjects of a role: users and groups by name."""

    role: Role
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


def covers_resource(rule: Rule, verb: str, group: str, resource: str, subresource: str) -> bool:
    """Does the rule speak of this, names aside?"""
    return (
        _has(rule.verbs, verb)
        and _has(rule.groups, group)
        and (
            _has(rule.resources, f"{resource}/{subresource}" if subresource else resource)
            or (bool(subresource) and f"*/{subresource}" in rule.resources)
        )
    )


def covers_name(rule: Rule, name: str) -> bool:
    return not rule.names or name in rule.names


def covers_path(rule: Rule, verb: str, path: str) -> bool:
    return _has(rule.verbs, verb) and any(_covers(pattern, path) for pattern in rule.paths)


def _covers(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def _has(allowed: tuple[str, ...], asked: str) -> bool:
    return asked in allowed or EVERY in allowed
