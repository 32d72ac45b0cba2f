"""Sets of fields: the part of a document that a manager owns.

A `FieldSet` is its own FieldsV1 JSON form: an object per level, whose members are named
`f:<field>`, `k:<keys of a list item>` or `v:<item of a set>`. A member that is empty, or that has
the member `.`, is in the set itself; other members only lead to what is. So an empty `FieldSet` is
the empty set. Functions here never change their arguments, and results may share parts with them.
Sets made of sets in their order (`ordered`) are in order.
"""

import json
from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring
from typing import Any, TypeAlias

from mooring.apiserver.patching import go_text
from mooring.apiserver.patching.shape import OwnedAs, Shape, as_seen, shape_of
from mooring.apiserver.schema.contract import Schema
from mooring.model.document import Doc

FieldSet: TypeAlias = "dict[str, FieldSet]"

SELF = "."

UNOWNED_ROOT = frozenset({"apiVersion", "kind"})
UNOWNED_METADATA = frozenset(
    {
        "clusterName",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)


def union(a: FieldSet, b: FieldSet) -> FieldSet:
    """All that is in one of the two."""
    if not a:
        return b
    out = dict(a)
    for name, theirs in b.items():
        ours = a.get(name)
        if ours is None:
            out[name] = theirs
        elif ours and theirs:
            out[name] = union(ours, theirs)
        elif ours or theirs:
            out[name] = {SELF: {}, **(ours or theirs)}
    return {name: out[name] for name in _in_order(out)} if len(out) > len(a) else out


def difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """All of the first that is not in the second. A parent in the second takes no children away."""
    out: FieldSet = {}
    for name, ours in a.items():
        theirs = b.get(name)
        if theirs is None:
            out[name] = ours
            continue
        if name == SELF:
            continue
        if not ours:
            if theirs and SELF not in theirs:
                out[name] = ours
            continue
        rest = difference(ours, theirs) if theirs else {k: v for k, v in ours.items() if k != SELF}
        if rest:
            out[name] = {} if len(rest) == 1 and SELF in rest else rest
    return out


def intersection(a: FieldSet, b: FieldSet) -> FieldSet:
    """All that is in both."""
    out: FieldSet = {}
    for name, ours in a.items():
        theirs = b.get(name)
        if theirs is None:
            continue
        if name == SELF:
            out[SELF] = {}
        elif not ours or not theirs:
            if (not ours or SELF in ours) and (not theirs or SELF in theirs):
                out[name] = {}
        else:
            both = intersection(ours, theirs)
            if both:
                out[name] = {} if len(both) == 1 and SELF in both else both
    return out


def without(fields: FieldSet, name: str) -> FieldSet:
    """The set less one field of the whole document, with all that is below it."""
    label = f"f:{name}"
    if label not in fields:
        return fields
    return {k: v for k, v in fields.items() if k != label}


def stripped(fields: FieldSet) -> FieldSet:
    """The set without fields that have no owner: identity and server-written fields."""
    out = {k: v for k, v in fields.items() if k[2:] not in UNOWNED_ROOT}
    metadata = out.pop("f:metadata", None)
    if metadata:
        owned = {k: v for k, v in metadata.items() if k[2:] not in UNOWNED_METADATA and k != SELF}
        if owned:
            out["f:metadata"] = owned
    return out


def with_named_fields(fields: FieldSet, shape: Shape | None) -> FieldSet:
    """The set with every message field in it, too, that only leads to members."""
    out: FieldSet = {}
    for name, inner in fields.items():
        if not inner:
            out[name] = inner
            continue
        below, is_named = _below(name, shape)
        members = with_named_fields(inner, below)
        out[name] = {SELF: {}, **members} if is_named else members
    return out


def _below(name: str, shape: Shape | None) -> tuple[Shape | None, bool]:
    if shape is None:
        return None, False
    if name.startswith("f:") and shape.fields is not None:
        field = shape.fields.get(name[2:])
        return field, field is not None
    return shape.item, False


def fields_of(doc: Doc, message: str, schema: Schema) -> FieldSet:
    """All that a document says: its leaves, and its items of lists and maps."""
    return stripped(mentioned(doc, shape_of(message, schema)))


def mentioned(value: Any, shape: Shape) -> FieldSet:
    """What a value says, as the set below it; identity and server fields not left out."""
    out: FieldSet = {}
    shape = as_seen(shape, value)
    match shape.owned_as:
        case OwnedAs.MESSAGE if isinstance(value, dict):
            fields = shape.fields or {}
            for name, inner in value.items():
                field = fields.get(name)
                if field is not None:
                    field = as_seen(field, inner)
                if field is None or field.owned_as is OwnedAs.LEAF or inner is None or inner == {}:
                    out[f"f:{name}"] = {}
                elif below := mentioned(inner, field):
                    out[f"f:{name}"] = below
        case OwnedAs.MAP if isinstance(value, dict):
            for name, inner in value.items():
                out[f"f:{name}"] = _itself_and_below(inner, shape.item)
        case OwnedAs.KEYED | OwnedAs.SET if isinstance(value, list):
            for element, inner in items_of(value, shape):
                # an item that stands there twice is owned as one thing
                out[element] = {} if element in out else _itself_and_below(inner, shape.item)
    return out


def _itself_and_below(value: Any, shape: Shape | None) -> FieldSet:
    below = mentioned(value, shape) if shape is not None else None
    return {SELF: {}, **below} if below else {}


def items_of(value: list[Any], shape: Shape) -> Iterator[tuple[str, Any]]:
    """The items of a keyed list or set, each with the name it has in a FieldSet."""
    if shape.owned_as is OwnedAs.SET:
        for item in value:
            yield f"v:{_text(item)}", item
        return
    for item in value:
        yield keyed_element(item, shape), item


def keyed_element(item: Any, shape: Shape) -> str:
    """`k:{"name":"x"}`; keys that the item lacks are left out."""
    if not isinstance(item, dict):
        return f"v:{_text(item)}"
    parts = []
    for key in shape.keys:
        value = item.get(key)
        if value is None:
            value = shape.key_defaults.get(key)
        if value is not None:
            parts.append(f'"{key}":{_text(value)}')
    return "k:{" + ",".join(parts) + "}"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def parse(raw: Any) -> FieldSet:
    """A set from its JSON form; elements of kinds that do not exist yet are dropped.

    Raises: ValueError when it is no such form.
    """
    if not isinstance(raw, dict):
        raise ValueError("a set of fields is an object")  # noqa: TRY004 -- of data, not of code
    out: FieldSet = {}
    for name, inner in raw.items():
        if name == SELF:
            out[SELF] = {}
            continue
        element = _parsed_element(name)
        if element is not None:
            below = parse(inner)
            out[element] = {} if len(below) == 1 and SELF in below else below
    return out


def _parsed_element(name: str) -> str | None:
    if name[1:2] != ":":
        raise ValueError(f"{name!r} names no field")
    match name[0]:
        case "f":
            return name
        case "i":
            return f"i:{int(name[2:])}"
        case "v":
            return f"v:{_text(json.loads(name[2:]))}"
        case "k":
            keys = json.loads(name[2:])
            if not isinstance(keys, dict):
                raise ValueError(f"{name!r} has no keys")  # noqa: TRY004 -- of data, not of code
            return "k:" + _text(keys)
        case _:
            return None


def ordered(fields: FieldSet) -> FieldSet:
    """The same set, its members in the order in which they are printed."""
    return {name: ordered(fields[name]) for name in _in_order(fields)}


def _in_order(names: Iterable[str]) -> list[str]:
    out = sorted(names)
    if len(out) > 1 and out[-1][0] != "f":  # items of lists go by their values, not their spelling
        out.sort(key=_rank)
    return out


def _rank(element: str) -> tuple[Any, ...]:
    match element[0]:
        case "f":
            return (1, element)
        case "k":
            keys = json.loads(element[2:])
            return (2, *((key, *_scalar_rank(keys[key])) for key in sorted(keys)))
        case "v":
            return (3, *_scalar_rank(json.loads(element[2:])))
        case "i":
            return (4, int(element[2:]))
        case _:
            return (0,)  # the item itself


def _scalar_rank(value: Any) -> tuple[int, Any]:
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
        case _:
            return (3, _text(value))


def paths(fields: FieldSet) -> Iterator[tuple[str, ...]]:
    """Every member: those of a level first, then those below them."""
    in_order = ordered(fields)
    for name, inner in in_order.items():
        if name != SELF and (not inner or SELF in inner):
            yield (name,)
    for name, inner in in_order.items():
        for path in paths(inner):
            yield (name, *path)


def has(fields: FieldSet, path: tuple[str, ...]) -> bool:
    """Whether the path is a member."""
    for name in path:
        if name not in fields:
            return False
        fields = fields[name]
    return not fields or SELF in fields


def path_text(path: tuple[str, ...]) -> str:
    """As messages name a field: `.spec.drivers[name="x"].nodeID`."""
    return "".join(map(_element_text, path))


def _element_text(element: str) -> str:
    body = element[2:]
    match element[0]:
        case "k":
            keys = json.loads(body)
            return (
                "[" + ",".join(f"{key}={go_text.quoted(keys[key])}" for key in sorted(keys)) + "]"
            )
        case "v":
            return f"[={go_text.quoted(json.loads(body))}]"
        case "i":
            return f"[{body}]"
        case _:
            return f".{body}"
