"""The schema as patching reads it: each field with the way its value is merged and owned.

Inline fields are spread out into the object they stand in, and references are resolved, so that a
walk over a document never looks at the schema itself. Shapes are made once per message.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from mooring.apiserver.schema import contract
from mooring.apiserver.schema.contract import Merge, Message, Scalar, Schema


class OwnedAs(Enum):
    """How a value is owned: as a whole, by field, or by item."""

    LEAF = "leaf"  # one thing: a scalar, or a list, map or message that is replaced whole
    MESSAGE = "message"  # owned field by field
    MAP = "map"  # owned entry by entry
    KEYED = "keyed"  # a list of messages, each known by its keys
    SET = "set"  # a list of scalars, each its own item
    DEDUCED = "deduced"  # nothing is declared: objects entry by entry, anything else as a whole


class Shape:
    """How a value is merged, by server-side apply and by strategic merge patches."""

    __slots__ = (
        "always",
        "fields",
        "is_list",
        "is_open",
        "item",
        "key_defaults",
        "keys",
        "label",
        "merges",
        "message",
        "owned_as",
        "patch_key",
        "scalar",
    )

    def __init__(self, owned_as: OwnedAs) -> None:
        self.owned_as = owned_as
        self.label = ""  # how FieldsV1 names it: f:<name>
        self.always = False  # exists, if only empty, whenever its parent does
        self.message = ""  # its name, of a message
        self.fields: Mapping[str, Shape] | None = None  # of a message, even of one that is a leaf
        self.is_list = False
        self.is_open = False  # a message that may have other fields, each owned as a whole
        self.item: Shape | None = None  # of a list or map
        self.keys: tuple[str, ...] = ()  # of KEYED, sorted
        self.key_defaults: Mapping[str, str | int] = {}
        self.patch_key = ""  # of a list that strategic merge patches merge by key
        self.merges = False  # whether strategic merge patches merge this list at all
        self.scalar: Scalar | None = None


class _Shapes:
    """All shapes of one schema, made when first asked for."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._roots: dict[str, Shape] = {}
        self._fields: dict[str, dict[str, Shape]] = {}

    def root(self, name: str) -> Shape:
        shape = self._roots.get(name)
        if shape is None:
            shape = self._roots[name] = Shape(OwnedAs.MESSAGE)
            shape.message = name
            shape.fields = self._fields_of(self.schema.message(name))
        return shape

    def _fields_of(self, message: Message) -> dict[str, Shape]:
        known = self._fields.get(message.name)
        if known is not None:
            return known
        out = self._fields[message.name] = {}  # before its fields: messages may contain themselves
        for field in message.fields.values():
            if field.inline and isinstance(field.type, str):
                out.update(self._fields_of(self.schema.message(field.type)))
            elif not field.inline:
                out[field.name] = self._of_field(field)
        return out

    def _of_field(self, field: contract.Field) -> Shape:
        if field.shape is contract.Shape.LIST:
            shape = self._of_list(field)
        elif field.shape is contract.Shape.MAP:
            shape = Shape(OwnedAs.LEAF if field.merge is Merge.ATOMIC else OwnedAs.MAP)
            shape.item = self._of_item(field.type)
        else:
            shape = self._of_type(field.type, is_atomic=field.merge is Merge.ATOMIC)
            shape.always = field.is_always_there
        shape.label = f"f:{field.name}"
        return shape

    def _of_list(self, field: contract.Field) -> Shape:
        shape = Shape(_LIST_PARTS.get(field.merge, OwnedAs.LEAF))
        shape.is_list = True
        shape.item = self._of_item(field.type)
        shape.keys = tuple(sorted(field.keys))
        shape.key_defaults = self._key_defaults(field)
        shape.patch_key = field.patch_key
        shape.merges = field.patch_merges
        shape.always = shape.owned_as is not OwnedAs.LEAF and field.required
        return shape

    def _key_defaults(self, field: contract.Field) -> Mapping[str, str | int]:
        """What the keys of an item are where it does not say: as declared, or empty if required."""
        if not isinstance(field.type, str):
            return {}
        fields = self.schema.message(field.type).fields
        required = [key for key in field.keys if key in fields and fields[key].required]
        empty = {key: "" if fields[key].type is Scalar.STRING else 0 for key in required}
        return {**empty, **_KEY_DEFAULTS.get(field.type, {})}

    def _of_item(self, kind: Scalar | str) -> Shape:
        is_atomic = isinstance(kind, str) and self.schema.message(kind).atomic
        return self._of_type(kind, is_atomic=is_atomic)

    def _of_type(self, kind: Scalar | str, *, is_atomic: bool) -> Shape:
        if isinstance(kind, Scalar):
            shape = Shape(OwnedAs.LEAF)
            shape.scalar = Scalar.ANY if kind is Scalar.JSON_SCHEMA else kind
            return shape
        message = self.schema.message(kind)
        if any(
            field.inline and field.shape is contract.Shape.LIST for field in message.fields.values()
        ):
            shape = Shape(OwnedAs.LEAF)  # stands in JSON as a list of its own
            shape.scalar = Scalar.ANY
            return shape
        shape = Shape(OwnedAs.LEAF if is_atomic else OwnedAs.MESSAGE)
        shape.message = kind
        shape.fields = self._fields_of(message)
        return shape


def as_seen(shape: Shape, *values: Any) -> Shape:
    """The shape itself or, where it is deduced, what these values make of it; None: no value."""
    if shape.owned_as is not OwnedAs.DEDUCED:
        return shape
    are_objects = all(value is None or isinstance(value, dict) for value in values)
    return ANY_OBJECT if are_objects else ANY_LEAF


def _any(owned_as: OwnedAs) -> Shape:
    shape = Shape(owned_as)
    shape.scalar = Scalar.ANY
    return shape


ANY_LEAF, ANY_OBJECT = _any(OwnedAs.LEAF), _any(OwnedAs.MAP)
ANY_OBJECT.item = _any(OwnedAs.DEDUCED)

# What a key field means where it is absent. Documents have their defaults filled in, but the
# configurations that clients apply do not.
_KEY_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "core.v1.ContainerPort": {"protocol": "TCP"},
    "core.v1.LocalObjectReference": {"name": ""},
}

_LIST_PARTS = {Merge.SET: OwnedAs.SET, Merge.KEYED: OwnedAs.KEYED}

# By identity: a schema is loaded once and lives as long as the process. It is kept with its shapes,
# so that no other can take its place in memory.
_KNOWN: dict[int, _Shapes] = {}


def shape_of(message: str, schema: Schema) -> Shape:
    """The shape of a whole document of this message."""
    shapes = _KNOWN.get(id(schema))
    if shapes is None:
        shapes = _KNOWN[id(schema)] = _Shapes(schema)
    return shapes.root(message)
