"""A structural schema as types: what rules see of a value, how large it can get, how it is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from mooring.apiserver.cel.documents import read_bytes, read_date, read_date_time, read_duration
from mooring.apiserver.cel.escaping import escape, is_reserved
from mooring.apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
    record,
)
from mooring.apiserver.cel.values import MapList, SetList
from mooring.apiserver.structural.contract import ListType, Node

MOST_REQUEST = 3 * 1024 * 1024  # bytes: nothing in an object is larger
SELF_TYPE = "selfType"
Convert: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Declared:
    """The type of a value, with what is known of its size.

    `least` is the fewest bytes of its JSON, `most` the most characters, items or entries.
    `convert` makes it of a document's value; None: it is one.
    """

    type: CelType
    least: int
    most: int = 0
    fields: Mapping[str, "Declared"] = field(default_factory=dict)  # by name in expressions
    item: "Declared | None" = None
    key: "Declared | None" = None
    convert: Convert | None = None


_BOOL, _INT = Declared(BOOL, 4), Declared(INT, 1)
_DOUBLE = Declared(DOUBLE, 1, convert=lambda x: float(x) if type(x) is int else x)
_KEY = Declared(STRING, 2)
_STRING_NODE = Node(type="string")


def declare(node: Node, name: str = SELF_TYPE, *, resource: bool = False) -> Declared | None:
    """What rules see of a node; None: nothing."""
    if node.int_or_string:
        length = node.written.get("maxLength")
        return Declared(DYN, 1, MOST_REQUEST - 2 if length is None else max(0, length) * 4)
    if resource:
        node = with_object_meta(node)
    match node.type:
        case "array":
            return _list(node, name)
        case "object":
            return _map(node, name) if isinstance(node.additional, Node) else _record(node, name)
        case "string":
            return _string(node)
        case "boolean":
            return _BOOL
        case "number":
            return _DOUBLE
        case "integer":
            return _INT
        case _:
            pass
    return None


def records(declared: Declared) -> dict[str, dict[str, CelType]]:
    """The fields of all objects in a type, by the name of their type."""
    found: dict[str, dict[str, CelType]] = {}
    waiting = [declared]
    while waiting:
        one = waiting.pop()
        if one.type.kind == "record":
            fields = {name: inner.type for name, inner in one.fields.items()}
            plain = {_reserved(name): inner for name, inner in fields.items()}
            found[one.type.name] = {**plain, **fields}
        waiting += one.fields.values()
        waiting += [inner for inner in (one.item,) if inner is not None]
    return found


def _reserved(name: str) -> str:
    """A reserved word is a name after a dot, also without its underscores."""
    return name[2:-2] if is_reserved(name) else name


def with_object_meta(node: Node) -> Node:
    """The root of an object, of which rules always see the type and the name."""
    meta = node.properties.get("metadata")
    kept = meta is not None and all(
        name in meta.properties and meta.properties[name].type == "string"
        for name in ("name", "generateName")
    )
    typed = all(
        name in node.properties and node.properties[name].type == "string"
        for name in ("kind", "apiVersion")
    )
    if kept and typed:
        return node
    names = {"name": _STRING_NODE, "generateName": _STRING_NODE}
    added = {
        "kind": _STRING_NODE,
        "apiVersion": _STRING_NODE,
        "metadata": Node(type="object", properties=names),
    }
    return msgspec.structs.replace(node, properties={**node.properties, **added})


def _string(node: Node) -> Declared:
    length = node.written.get("maxLength")
    match node.written.get("format"):
        case "byte":
            most = MOST_REQUEST - 2 if length is None else max(0, length)
            return Declared(BYTES, 2, most, convert=read_bytes)
        case "duration":
            return Declared(DURATION, 3, 32, convert=read_duration)
        case "date":
            return Declared(TIMESTAMP, 12, 12, convert=read_date)
        case "date-time":
            return Declared(TIMESTAMP, 21, 32, convert=read_date_time)
        case _:
            pass
    if length is not None:
        return Declared(STRING, 2, max(0, length) * 4)
    if values := node.written.get("enum"):
        lengths = (len(value.encode()) for value in values if isinstance(value, str))
        return Declared(STRING, 2, max(lengths, default=0))
    return Declared(STRING, 2, MOST_REQUEST - 2)


def _list(node: Node, name: str) -> Declared | None:
    if node.items is None:
        return None
    item = declare(node.items, f"{name}.@idx", resource=node.items.embedded_resource)
    if item is None:
        return None
    most = node.written.get("maxItems")
    most = (MOST_REQUEST - 2) // (item.least + 1) if most is None else max(0, most)
    return Declared(list_of(item.type), 2, most, item=item, convert=_of_list(node, item.convert))


def _of_list(node: Node, convert: Convert | None) -> Convert | None:
    def items(value: list[Any]) -> list[Any]:
        if convert is None:
            return value
        return [None if one is None else convert(one) for one in value]

    match node.list_type:
        case ListType.SET:
            return lambda value: SetList(items(value))
        case ListType.MAP:
            return lambda value: MapList(items(value), node.list_keys)
        case ListType.ATOMIC:
            return items if convert is not None else None


def _map(node: Node, name: str) -> Declared | None:
    inner = node.additional
    if not isinstance(inner, Node):
        return None
    value = declare(inner, f"{name}.@elem", resource=inner.embedded_resource)
    if value is None:
        return None
    most = node.written.get("maxProperties")
    most = (MOST_REQUEST - 2) // (value.least + 6) if most is None else max(0, most)
    convert = value.convert
    whole: Convert | None = None
    if convert is not None:
        made = convert
        whole = lambda entries: {  # noqa: E731
            key: None if one is None else made(one) for key, one in entries.items()
        }
    return Declared(map_of(STRING, value.type), 2, most, item=value, key=_KEY, convert=whole)


def _record(node: Node, name: str) -> Declared:
    needed = node.written.get("required") or ()
    fields: dict[str, Declared] = {}
    converts: dict[str, Convert] = {}
    least = 2
    for own, inner in node.properties.items():
        shown = escape(own)
        found = declare(inner, f"{name}.{shown}", resource=inner.embedded_resource)
        if found is None:
            continue
        if shown is not None:
            fields[shown] = found
        if found.convert is not None:
            converts[own] = found.convert
        if own in needed and inner.default is msgspec.UNSET:
            least += len(own) + found.least + 4
    convert = _of_record(converts) if converts else None
    return Declared(record(name), least, fields=fields, convert=convert)


def _of_record(converts: Mapping[str, Convert]) -> Convert:
    def convert(value: dict[str, Any]) -> dict[str, Any]:
        changed = {
            name: made(value[name])
            for name, made in converts.items()
            if value.get(name) is not None
        }
        return {**value, **changed} if changed else value

    return convert
