"""Where a configuration that a client applies does not fit the schema, in words clients know."""

from collections.abc import Iterator
from typing import Any

from mooring.apiserver.patching import go_text
from mooring.apiserver.patching.field_set import items_of, path_text
from mooring.apiserver.patching.shape import OwnedAs, Shape
from mooring.apiserver.schema.contract import Scalar

_NUMBERS = frozenset({Scalar.INT32, Scalar.INT64, Scalar.DOUBLE})


def complaints(value: Any, shape: Shape, path: str = "") -> Iterator[str]:
    """All that is undeclared, ambiguous or of another type than declared; null always fits."""
    if value is None or shape.scalar is Scalar.ANY:
        return
    if shape.scalar is not None:
        if problem := _scalar_complaint(value, shape.scalar):
            yield _at(path, problem)
    elif shape.is_list:
        yield from _list_complaints(value, shape, path)
    elif not isinstance(value, dict):
        yield _at(path, f"expected map, got &{{{go_text.plain(value)}}}")
    else:
        yield from _map_complaints(value, shape, path)


def _map_complaints(value: dict[str, Any], shape: Shape, path: str) -> Iterator[str]:
    for name, inner in value.items():
        field = shape.item if shape.fields is None else shape.fields.get(name)
        if field is None and shape.is_open:
            continue
        if field is None:
            yield f"{path}.{name}: field not declared in schema"
            return  # one such field spoils the rest of its map
        yield from complaints(inner, field, f"{path}.{name}")


def _list_complaints(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield _at(path, f"expected list, got &{{{go_text.plain(value)}}}")
        return
    item_shape = shape.item or shape
    if shape.owned_as is OwnedAs.LEAF:
        for index, item in enumerate(value):
            yield from complaints(item, item_shape, f"{path}[{index}]")
        return
    seen = set()
    for index, (item, (element, _)) in enumerate(zip(value, items_of(value, shape), strict=True)):
        if problem := _item_complaint(item, element, shape):
            yield _at(path, f"element {index}: {problem}")
            return
        name = path_text((element,))
        if element in seen:
            yield _at(path, f"duplicate entries for key {name}")
        seen.add(element)
        yield from complaints(item, item_shape, path + name)


def _item_complaint(item: Any, element: str, shape: Shape) -> str:
    if shape.owned_as is OwnedAs.SET:
        match item:
            case None:
                return "associative list without keys has an element that's an explicit null"
            case dict():
                return "associative list without keys has an element that's a map type"
            case list():
                return "not supported: associative list with lists as elements"
            case _:
                return ""
    if item is None:
        return "associative list with keys may not have a null element"
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    if element == "k:{}":
        keys = " ".join(go_text.quoted(key) for key in shape.keys)
        return (
            f"associative list with keys has an element that omits all key fields [{keys}]"
            " (and doesn't have default values for any key fields)"
        )
    return ""


def _scalar_complaint(value: Any, scalar: Scalar) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if scalar in _NUMBERS:
        return (
            "" if is_number else f"expected numeric (int or float), got {go_text.type_name(value)}"
        )
    if scalar is Scalar.BOOL:
        return (
            "" if isinstance(value, bool) else f"expected boolean, got &{{{go_text.plain(value)}}}"
        )
    if scalar in (Scalar.STRING, Scalar.BYTES):
        return (
            ""
            if isinstance(value, str)
            else f"expected string, got &value.valueUnstructured{{Value:{go_text.plain(value)}}}"
        )
    if isinstance(value, dict | list):
        return f"expected any scalar, got &{{{go_text.plain(value)}}}"
    return ""


def _at(path: str, problem: str) -> str:
    return f"{path}: {problem}" if path else problem
