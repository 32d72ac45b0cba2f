"""The outline of a document: its field names, without their values.

Clients create objects from templates: many documents have the same outline, and their creators own
the same fields.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from mooring.apiserver.patching.shape import OwnedAs, Shape
from mooring.model.document import Doc

Outline = tuple[tuple[str, ...] | bool, ...]


class _Branch(NamedTuple):
    """A field of which more counts than that it is there."""

    name: str
    shape: Shape
    is_leaf: bool  # and always there: counts when it is not empty
    is_flat: bool  # a map that is described by its names alone


def outline(doc: Doc, shape: Shape, less: str) -> Outline | None:
    """The names in a document, level by level, the field `less` not looked into.

    None when names are not enough: items of lists are identified by their values.
    """
    found: list[tuple[str, ...] | bool] = []
    is_told = _trace(doc, shape, less, found)
    return tuple(found) if is_told else None


def size_of(names: Outline) -> int:
    """How many characters the names have."""
    return sum(len(name) for level in names if isinstance(level, tuple) for name in level)


def _trace(value: Any, shape: Shape, less: str, found: list[tuple[str, ...] | bool]) -> bool:
    """Add the names in a message; returns whether names are enough."""
    names = tuple(value)
    found.append(names)
    for name, branch, is_leaf, is_flat in _branches(shape, names, less):
        inner = value[name]
        if is_leaf or not inner:
            found.append(bool(inner))
        elif is_flat:
            found.append(tuple(inner))
        elif branch.owned_as is not OwnedAs.MESSAGE or not _trace(inner, branch, "", found):
            return False
    return True


@lru_cache(maxsize=1024)
def _branches(shape: Shape, names: tuple[str, ...], less: str) -> tuple[_Branch, ...]:
    fields = shape.fields or {}
    return tuple(
        _Branch(name, field, field.owned_as is OwnedAs.LEAF, _is_flat(field))
        for name in names
        if (field := fields.get(name)) and name != less
        if field.always or field.owned_as is not OwnedAs.LEAF
    )


def _is_flat(shape: Shape) -> bool:
    return shape.owned_as is OwnedAs.MAP and (
        shape.item is None or shape.item.owned_as is OwnedAs.LEAF
    )
