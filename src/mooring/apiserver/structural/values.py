"""What a schema asks of a value's type, and when two values are the same."""

from typing import Any

import msgspec

from mooring.apiserver.structural.numbers import is_integer, is_number
from mooring.model.document import Doc

_encode = msgspec.json.Encoder(order="sorted").encode
_NAMES = {str: "string", bool: "boolean", dict: "object", list: "array", type(None): "null"}


def types_of(schema: Doc) -> tuple[str, ...]:
    """The types that a schema allows; none: any."""
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    type_ = schema.get("type") or ""
    return (type_,) if type_ else ()


def type_name(value: Any) -> str:
    """The JSON type of a value. A number that no int64 holds is a `number`."""
    if type(value) is int:
        return "integer" if is_integer(value) else "number"
    return "number" if type(value) is float else _NAMES[type(value)]


def is_of(value: Any, types: tuple[str, ...]) -> bool:
    """Whether a value that is not null has one of these types: a float may be an integer, and an
    integer is a number."""
    name = type_name(value)
    if name in types:
        return True
    if name == "number":
        return "integer" in types and is_integer(value)
    return name == "integer" and "number" in types


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON: true is no 1."""
    try:
        return bool(one == other) and _same_kinds(one, other)
    except RecursionError:  # deeper than anybody writes
        return False


def _same_kinds(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return all(_same_kinds(held, other[key]) for key, held in one.items())
    if isinstance(one, list):
        return all(map(_same_kinds, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def canonical(value: Any) -> bytes | int:
    """A key by which equal values are known; one that is too deep to be compared is like none."""
    try:
        return _encode(value)
    except RecursionError:
        return id(value)


class Enumeration:
    """The values of an `enum`: known by one look, however many there are."""

    __slots__ = ("_others", "_scalars", "values")

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        scalars = [value for value in values if not isinstance(value, dict | list)]
        self._scalars = frozenset((_kind(value), value) for value in scalars if value is not None)
        self._others = [value for value in values if isinstance(value, dict | list)]

    def __contains__(self, value: object) -> bool:
        if isinstance(value, dict | list):
            return any(same(value, other) for other in self._others)
        return (_kind(value), value) in self._scalars  # null never is: so it is upstream

    def strings(self) -> frozenset[str]:
        return frozenset(value for kind, value in self._scalars if kind is str)


def _kind(value: Any) -> type:
    return int if is_number(value) else type(value)


def copied(value: Any) -> Any:
    """A copy of a value of JSON."""
    if type(value) is dict:
        return {key: copied(held) for key, held in value.items()}
    if type(value) is list:
        return [copied(item) for item in value]
    return value
