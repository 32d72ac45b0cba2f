"""Resources embedded in others: they have an apiVersion, a kind and metadata of their own."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mooring.apiserver.limits.budgets import MOST_ERRORS
from mooring.apiserver.structural.contract import Node, once
from mooring.apiserver.structural.go_words import sorted_deep
from mooring.apiserver.structural.paths import Path, spell
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required
from mooring.model.names import dns_1035_label

MetadataCheck = Callable[[Doc, str], Iterable[FieldError]]
"""Complaints about a metadata object, at a path (`spec.template.metadata`)."""


def unchecked(_metadata: Doc, _at: str) -> Iterable[FieldError]:
    return ()


def embedded_problems(
    value: Any, node: Node, check: MetadataCheck, *, at: str = ""
) -> list[FieldError]:
    """What is wrong with the type and metadata of the resources embedded in a value."""
    errors: list[FieldError] = []
    for path, resource in each_embedded(value, node, at=at):
        errors += _problems(resource, path, check)
        if len(errors) > MOST_ERRORS:  # more than an answer tells
            break
    return errors


def each_embedded(value: Any, node: Node, *, at: str = "") -> Iterator[tuple[Path, Doc]]:
    """The resources embedded in a value, with the ways to them; outer ones first."""
    if once(node, "has embedded", _has_embedded):
        yield from _each(value, node, (None, at) if at else None)


def _has_embedded(node: Node) -> bool:
    below = (*node.properties.values(), node.additional, node.items)
    return node.embedded_resource or any(
        isinstance(child, Node) and once(child, "has embedded", _has_embedded) for child in below
    )


def _each(value: Any, node: Node, path: Path) -> Iterator[tuple[Path, Doc]]:
    if not once(node, "has embedded", _has_embedded):
        return
    if isinstance(value, dict):
        if node.embedded_resource:
            yield path, value
        for key, held in value.items():
            child = node.properties.get(key)
            if child is not None:
                yield from _each(held, child, (path, f".{key}" if path else key))
            elif isinstance(node.additional, Node):
                yield from _each(held, node.additional, (path, f"[{key}]"))
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            yield from _each(item, node.items, (path, f"[{index}]"))


def _problems(resource: Doc, path: Path, check: MetadataCheck) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        at = spell((path, f".{name}" if path else name))
        if name not in resource:
            yield required(at)
        elif not isinstance(resource[name], str):
            yield invalid(at, sorted_deep(resource[name]), "must be a string")
        elif not resource[name]:
            yield invalid(at, "", "must not be empty")
        else:
            yield from _name_problems(name, resource[name], at)
    if "metadata" in resource:
        at, metadata = spell((path, ".metadata" if path else "metadata")), resource["metadata"]
        if isinstance(metadata, dict):
            yield from check(metadata, at)
        elif metadata is not None:
            yield invalid(at, sorted_deep(metadata), "must be an object")


def _name_problems(name: str, text: str, at: str) -> Iterator[FieldError]:
    if name == "apiVersion":
        if text.count("/") > 1:
            yield invalid(at, text, f"unexpected GroupVersion string: {text}")
    elif problems := ",".join(dns_1035_label(text.lower())):
        yield invalid(at, text, f"may have mixed case, but should otherwise match: {problems}")
