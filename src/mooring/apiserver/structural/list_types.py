"""Lists that are sets or maps: nothing in them may be there twice."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mooring.apiserver.limits.budgets import MOST_ERRORS
from mooring.apiserver.structural.contract import ListType, Node, once
from mooring.apiserver.structural.go_words import sorted_deep
from mooring.apiserver.structural.paths import Path, spell
from mooring.apiserver.structural.values import canonical
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid

_ABSENT = object()
_Clean = Callable[[Any], bool]


def list_type_problems(doc: Doc, node: Node, *, old: Doc | None = None) -> list[FieldError]:
    """What is twice in sets and maps. On an update nothing is said when the old object already had
    such an error."""
    is_clean = once(node, "list types", _clean)
    if is_clean is None or is_clean(doc):
        return []
    if old is not None and not is_clean(old) and _problems(old, node):
        return []
    return _problems(doc, node)


def _clean(node: Node) -> _Clean | None:
    """Whether a value has nothing twice, for sure; None of a node that has no sets and maps.

    A value that is not clean is looked at more closely: Python finds 1, 1.0 and true equal.
    """
    children = [
        (name, once(child, "list types", _clean)) for name, child in node.properties.items()
    ]
    below = [(name, clean) for name, clean in children if clean is not None]
    additional = (
        once(node.additional, "list types", _clean) if isinstance(node.additional, Node) else None
    )
    items = once(node.items, "list types", _clean) if node.items is not None else None
    if node.list_type is ListType.ATOMIC and not (below or additional or items):
        return None
    key = node.list_keys[0] if len(node.list_keys) == 1 else None

    def is_clean(value: Any) -> bool:
        if type(value) is dict:
            for name, clean in below:
                if name in value and not clean(value[name]):
                    return False
            return additional is None or all(map(additional, value.values()))
        if type(value) is not list:
            return True
        if node.list_type is not ListType.ATOMIC and not _are_different(value, node, key):
            return False
        return items is None or all(map(items, value))

    return is_clean


def _are_different(value: list[Any], node: Node, key: str | None) -> bool:
    try:
        if node.list_type is ListType.SET:
            return len(set(value)) == len(value)
        if key is not None:
            return len({item.get(key, _ABSENT) for item in value}) == len(value)
        keys = {tuple([item.get(name, _ABSENT) for name in node.list_keys]) for item in value}
        return len(keys) == len(value)
    except (AttributeError, TypeError):  # items that are no objects, or hold lists
        return False


def _problems(doc: Doc, node: Node) -> list[FieldError]:
    errors: list[FieldError] = []
    for error in _in_object(doc, node, None):
        errors.append(error)
        if len(errors) > MOST_ERRORS:  # more than an answer tells
            break
    return errors


def _in_value(value: Any, node: Node, path: Path) -> Iterable[FieldError]:
    if once(node, "list types", _clean) is None:
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
    for index in _repeated(keys):
        yield duplicate(spell((path, f"[{index}]")), sorted_deep(keys[index]))


def _repeated(values: list[Any]) -> list[int]:
    """Where each value that is there more than once is for the second time."""
    seen: dict[Any, int] = {}
    again: list[int] = []
    for index, value in enumerate(values):
        # as Go compares: true is no 1, and 1.0 neither
        key = canonical(value) if isinstance(value, list | dict) else (type(value), value)
        times = seen[key] = seen.get(key, 0) + 1
        if times == 2:
            again.append(index)
    return again
