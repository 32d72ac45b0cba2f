"""Defaults have to be what they would be checked for in a document: pruned, and valid."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from mooring.apiserver.structural.complaints import Complaints
from mooring.apiserver.structural.contract import META_FIELDS, Node
from mooring.apiserver.structural.embedded import MetadataCheck, embedded_problems
from mooring.apiserver.structural.paths import Path, spell
from mooring.apiserver.structural.prune import prune
from mooring.apiserver.structural.validate import validate
from mooring.apiserver.structural.values import copied, same
from mooring.model.field_error import FieldError, invalid

RulesCheck = Callable[[Any, Node, str], Iterable[FieldError]]
"""Complaints of the rules (CEL) of a node about a value that is otherwise valid, at a path."""


def unruled(_value: Any, _node: Node, _at: str) -> Iterable[FieldError]:
    return ()


class DefaultChecks(msgspec.Struct, frozen=True):
    """What is asked of defaults beyond their schema, by what this package does not know of."""

    metadata: MetadataCheck  # of embedded resources
    rules: RulesCheck


def default_problems(
    node: Node, path: Path, checks: DefaultChecks, *, pruned: bool = True
) -> list[FieldError]:
    """What is wrong with the defaults of a structural schema. `pruned`: they have to be pruned."""
    walk = _Walk(checks, must_be_pruned=pruned)
    walk.look(node, path, is_resource=True, in_meta=False)
    return walk.found.errors


def has_unpruned(node: Node) -> bool:
    """Whether a default has fields that its schema does not know."""
    below = (*node.properties.values(), node.items, node.additional)
    return not _is_pruned(node) or any(
        has_unpruned(child) for child in below if isinstance(child, Node)
    )


def _is_pruned(node: Node) -> bool:
    if not isinstance(node.default, dict | list):
        return True
    kept = copied(node.default)
    prune(kept, node, is_root=node.embedded_resource)
    return same(kept, node.default)


class _Walk:
    def __init__(self, checks: DefaultChecks, *, must_be_pruned: bool) -> None:
        self.checks = checks
        self.must_be_pruned = must_be_pruned
        self.found = Complaints()

    def look(self, node: Node, path: Path, *, is_resource: bool, in_meta: bool) -> None:
        """`additionalProperties` are not looked into: a default there never comes about."""
        if self.found.is_full():
            return
        in_meta = in_meta and not node.embedded_resource
        if node.default is not UNSET:
            self._default(node, (path, ".default"), in_meta=in_meta)
        if node.items is not None:
            self.look(node.items, (path, ".items"), is_resource=False, in_meta=in_meta)
        is_resource = is_resource or node.embedded_resource
        for name, child in node.properties.items():
            is_meta = in_meta or (is_resource and name in META_FIELDS)
            at = (path, f".properties[{name}]")
            self.look(child, at, is_resource=False, in_meta=is_meta)

    def _default(self, node: Node, path: Path, *, in_meta: bool) -> None:
        at = spell(path)
        if self.must_be_pruned and not in_meta and not _is_pruned(node):
            self.found.add(invalid(at, node.default, "must not have unknown fields"))
        check = self.checks.metadata
        errors = [] if in_meta else embedded_problems(node.default, node, check, at=at)
        errors = errors or validate(node.default, node, at=at)
        for error in errors or self.checks.rules(node.default, node, at):
            self.found.add(error)
