"""What a kind's documents are held to: a message of the schema, or what a definition says."""

from collections.abc import Sequence

from mooring.apiserver.codec.custom_body import conform_custom
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.patching.kind_shape import shape_of_kind
from mooring.apiserver.patching.shape import Shape
from mooring.apiserver.schema.check import conform, spell_path
from mooring.apiserver.schema.reader import conform_whole
from mooring.apiserver.verbs.backend import Backend
from mooring.model.document import Doc


def shape_for(backend: Backend, kind: Kind) -> Shape:
    """How the documents of a kind are merged and owned."""
    return shape_of_kind(kind, backend.schema)


def conform_to_kind(doc: Doc, kind: Kind) -> Sequence[str]:
    """Prune a whole document in place; the paths of what was unknown. Raises: WrongType."""
    if kind.structure is not None:
        return [spell_path(trail) for trail in conform_custom(doc, kind.structure.node)]
    return conform_whole(doc, kind.message)


def conform_applied(applied: Doc, kind: Kind) -> None:
    """Spell the values of what is applied; a manager that applies [] owns the field.

    Raises: WrongType.
    """
    if kind.structure is None:
        conform(applied, kind.message, keep_empty=True)
    elif isinstance(applied.get("metadata"), dict):
        conform(applied["metadata"], "meta.v1.ObjectMeta", at="metadata", keep_empty=True)
