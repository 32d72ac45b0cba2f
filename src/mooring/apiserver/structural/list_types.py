"""Lists that are sets or maps: nothing in them may be there twice."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from mooring.apiserver.limits.budgets import MOST_ERRORS
from mooring.apiserver.structural.contract import ListType, Node, once
from mooring.apiserver.structural.go_words import sorted_deep
from mooring.apiserver.structural.paths import Path, spell
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid

_encode = msgspec.json.Encoder(order="sorted").encode
_ABSENT = object()


def list_type_problems(doc: Doc, node: Node, *, old: Doc | None = None) -> list[FieldError]:
    """What is twice in sets and maps. On an update nothing is said when the old object already had
    such an error."""
    if not once(node, "has list types", _has_list_types):
        return []
    if old is not None and _problems(old, node):
        return []
    return _problems(doc, node)


def _problems(doc: Doc, node: Node) -> list[FieldError]:
    errors: list[FieldError] = []
    for error in _in_object(doc, node, None):
        errors.append(error)
        if len(errors) > MOST_ERRORS:  # more than an answer tells
            break
    return errors


def _has_list_types(node: Node) -> bool:
    below = (*node.properties.values(), node.additional, node.items)
    return node.list_type is not ListType.ATOMIC or any(
        isinstance(child, Node) and once(child, "has list types", _has_list_types)
        for child in below
    )


def _in_value(value: Any, node: Node, path: Path) -> Iterable[FieldError]:
    if not once(node, "has list types", _has_list_types):
        return
    if isinstance(value, list):
        if node.list_type is ListType.SET:
            for index in _repeated(value):
                yield duplicate(spell((path, f"[{index}]")), sorted_deep(value[index]))
        elif node.list_type is ListType.MAP:
            yield from _in_map(value, node.list_keys, path)
        if node.items is not None:
            for index, item in enumerate(value):
                yield from _in_value(item, node.items, (path, f"[{index}]"))
    elif isinstance(value, dict):
        yield from _in_object(value, node, path)


def _in_object(value: Doc, node: Node, path: Path) -> Iterable[FieldError]:
    additional = node.additional
    for key, held in value.items():
        if isinstance(additional, Node):
            yield from _in_value(held, additional, (path, f"[{key}]"))
        if (child := node.properties.get(key)) is not None:
            yield from _in_value(held, child, (path, f".{key}" if path else key))


def _in_map(value: list[Any], names: Sequence[str], path: Path) -> Iterable[FieldError]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            detail = "must be an object for an array of list-type map"
            yield invalid(spell((path, f"[{index}]")), sorted_deep(item), detail)
            return
    keys = [{name: item[name] for name in sorted(names) if item and name in item} for item in value]
    if (
        len(names) == 1
    ):  # a key that is null is like itself only, one that is absent like any absent
        repeated = _repeated([key.get(names[0], _ABSENT) for key in keys])
    else:
        repeated = _repeated(keys)
    for index in repeated:
        yield duplicate(spell((path, f"[{index}]")), sorted_deep(keys[index]))


def _repeated(values: list[Any]) -> list[int]:
    """Where each value that is there more than once is for the second time."""
    if len(values) <= 1:
        return []
    seen: dict[Any, int] = {}
    again: list[int] = []
    for index, value in enumerate(values):
        # as Go compares: true is no 1, and 1.0 neither
        key = _encode(value) if isinstance(value, list | dict) else (type(value), value)
        times = seen[key] = seen.get(key, 0) + 1
        if times == 2:
            again.append(index)
    return again
