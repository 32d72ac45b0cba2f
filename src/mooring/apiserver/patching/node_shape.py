"""The shape of a custom kind's documents, from its structural schema.

Lists are atomic unless the schema says `set` or `map`; objects are owned field by field unless they
say `atomic`. Where the schema describes nothing, the shape is deduced from the values.
"""

from mooring.apiserver.patching.shape import OwnedAs, Shape, shape_of
from mooring.apiserver.schema.contract import Scalar, Schema
from mooring.apiserver.structural.contract import ListType, Node, once

_SCALARS = {
    "string": Scalar.STRING,
    "integer": Scalar.INT64,
    "number": Scalar.DOUBLE,
    "boolean": Scalar.BOOL,
}
_METADATA = "meta.v1.ObjectMeta"


def shape_of_node(node: Node, schema: Schema) -> Shape:
    """The shape of a whole document; `schema` is where its metadata is described."""
    return once(node, "shape", lambda root: _root(root, schema))


def _root(node: Node, schema: Schema) -> Shape:
    shape = Shape(OwnedAs.MESSAGE)
    shape.is_open = node.preserve_unknown
    fields = {name: _named(name, _shape(child, schema)) for name, child in node.properties.items()}
    for name in ("apiVersion", "kind"):
        fields[name] = _named(name, _text())
    metadata = Shape(OwnedAs.MESSAGE)
    metadata.message = _METADATA
    metadata.fields = shape_of(_METADATA, schema).fields
    metadata.always = True
    fields["metadata"] = _named("metadata", metadata)
    shape.fields = fields
    return shape


def _shape(node: Node, schema: Schema) -> Shape:
    if node.embedded_resource and not node.atomic:
        return _root(node, schema)
    if node.int_or_string:
        shape = Shape(OwnedAs.LEAF)
        shape.scalar = Scalar.INT_OR_STRING
        return shape
    if node.type == "array":
        return _list(node, schema)
    if node.type == "object" or node.properties:
        return _object(node, schema)
    if node.type in _SCALARS:
        shape = Shape(OwnedAs.LEAF)
        shape.scalar = _SCALARS[node.type]
        return shape
    return _deduced()


def _list(node: Node, schema: Schema) -> Shape:
    item = _shape(node.items, schema) if node.items is not None else _deduced()
    owned_as = {ListType.SET: OwnedAs.SET, ListType.MAP: OwnedAs.KEYED}
    shape = Shape(owned_as.get(node.list_type, OwnedAs.LEAF))
    shape.is_list = True
    shape.item = item
    if node.list_type is ListType.MAP and node.items is not None:
        shape.keys = tuple(sorted(node.list_keys))
        known = node.items.properties
        shape.key_defaults = {
            key: known[key].default
            for key in shape.keys
            if key in known and isinstance(known[key].default, str | int)
        }
    return shape


def _object(node: Node, schema: Schema) -> Shape:
    if isinstance(node.additional, Node):
        shape = Shape(OwnedAs.LEAF if node.atomic else OwnedAs.MAP)
        shape.item = _shape(node.additional, schema)
        return shape
    if not node.properties and (node.preserve_unknown or node.additional):
        return _leaf_of_anything() if node.atomic else _deduced()
    shape = Shape(OwnedAs.LEAF if node.atomic else OwnedAs.MESSAGE)
    shape.is_open = node.preserve_unknown
    shape.fields = {
        name: _named(name, _shape(child, schema)) for name, child in node.properties.items()
    }
    return shape


def _named(name: str, shape: Shape) -> Shape:
    shape.label = f"f:{name}"
    return shape


def _text() -> Shape:
    shape = Shape(OwnedAs.LEAF)
    shape.scalar = Scalar.STRING
    return shape


def _leaf_of_anything() -> Shape:
    shape = Shape(OwnedAs.LEAF)
    shape.scalar = Scalar.ANY
    return shape


def _deduced() -> Shape:
    shape = Shape(OwnedAs.DEDUCED)
    shape.scalar = Scalar.ANY
    return shape
