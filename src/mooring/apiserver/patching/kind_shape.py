"""How the documents of a kind are merged and owned, whether a schema or a definition says so."""

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.patching.node_shape import shape_of_node
from mooring.apiserver.patching.shape import Shape, shape_of
from mooring.apiserver.schema.contract import Schema


def shape_of_kind(kind: Kind, schema: Schema) -> Shape:
    if kind.structure is not None:
        return shape_of_node(kind.structure.node, schema)
    return shape_of(kind.message, schema)
