"""Makes a document conform to its message: unknown fields out, values in their one spelling."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mooring.apiserver.schema.contract import Field, Scalar, Shape
from mooring.apiserver.schema.json_fields import json_fields, left_out_when_empty, list_form
from mooring.apiserver.schema.json_schema import conform_schema
from mooring.apiserver.schema.values import base64_text, microseconds, whole_seconds
from mooring.apiserver.schema.wrong_type import (
    Trail,
    WrongType,
    wrong_container,
    wrong_text,
    wrong_value,
)
from mooring.model.document import Doc
from mooring.model.quantity import canonical, canonical_resource

__all__ = ["WrongType", "conform", "prune", "spell_path"]


_LEAST_32, _MOST_32 = -(2**31), 2**31 - 1
_LEAST_64, _MOST_64 = -(2**63), 2**63 - 1


def conform(doc: Doc, message: str, *, at: str = "", keep_empty: bool = False) -> list[str]:
    """Prune `doc` in place to the fields of `message`; the paths of what was unknown.

    After: no unknown field, no null, and unless `keep_empty` no empty value where that means the
    same as none; quantities, times and base64 in their one spelling.
    Repeated: changes nothing.
    Raises: WrongType at the first value that does not fit, the document then half done.
    """
    found = prune(doc, message, at=at, keep_empty=keep_empty)
    return [spell_path(trail, at=at) for trail in found]


def prune(doc: Doc, message: str, *, at: str = "", keep_empty: bool = False) -> list[Trail]:
    """As `conform`, with the ways to what was unknown."""
    walk = _Walk(message, at, keep_empty)
    walk.message(doc, message)
    return walk.unknown


def spell_path(trail: Sequence[str | int], *, at: str = "") -> str:
    """`spec.containers[0].image`"""
    text = at
    for step in trail:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


class _Walk:
    """One pass over a document; `trail` leads from its root to the value at hand."""

    def __init__(self, root: str, at: str, keep_empty: bool) -> None:  # noqa: FBT001  one caller
        self.root = root
        self.at = at
        self.keep_empty = keep_empty
        self.trail: Trail = []
        self.unknown: list[Trail] = []

    def message(self, doc: Doc, name: str) -> None:
        fields, trail = json_fields(name), self.trail
        for key in list(doc):
            value = doc[key]
            field = fields.get(key)
            trail.append(key)
            if field is None:
                self.unknown.append(trail.copy())
                del doc[key]
            else:
                kept = None if value is None else self.field(value, field)
                if (
                    kept is None
                    or field.off
                    or (not kept and not self.keep_empty and key in left_out_when_empty(name))
                ):
                    del doc[key]
                elif kept is not value:
                    doc[key] = kept
            trail.pop()

    def field(self, value: Any, field: Field) -> Any:
        """What to keep of a field; None to drop it."""
        if field.shape is Shape.ONE:
            return self.one(value, field)
        if not isinstance(value, list if field.shape is Shape.LIST else dict):
            raise wrong_container(value, field, self.root, self.trail, self.path())
        for place, entry in enumerate(value) if isinstance(value, list) else value.items():
            self.trail.append(place)
            # an entry is never dropped: null stands for the empty value
            kept = None if entry is None else self.one(entry, field)
            value[place] = _empty(field) if kept is None else kept
            self.trail.pop()
        return value

    def one(self, value: Any, field: Field) -> Any:
        kind = field.type
        if isinstance(kind, Scalar):
            return self.scalar(value, kind, field)
        inner = list_form(kind)
        if inner is not None:
            return self.field(value, inner)
        if not isinstance(value, dict):
            raise self.misfit(value, field)
        self.message(value, kind)
        return value

    def scalar(self, value: Any, kind: Scalar, field: Field) -> Any:
        fits = _FITS.get(kind)
        if fits is not None and not fits(value):
            raise self.misfit(value, field)
        if kind is Scalar.JSON_SCHEMA:
            self.unknown += conform_schema(value, self.trail)
            return value
        spell = _SPELLINGS.get(kind)
        if spell is None:
            return value
        if kind is Scalar.QUANTITY and field.shape is Shape.MAP:
            spell = _resource
        try:
            return spell(value)
        except ValueError as error:
            raise wrong_text(str(error), value, field, self.path()) from error

    def misfit(self, value: Any, field: Field) -> WrongType:
        return wrong_value(value, field, self.root, self.trail, self.path())

    def path(self) -> str:
        return spell_path(self.trail, at=self.at)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_int32(value: Any) -> bool:
    return type(value) is int and _LEAST_32 <= value <= _MOST_32


def _is_int64(value: Any) -> bool:
    return type(value) is int and _LEAST_64 <= value <= _MOST_64


_FITS: Mapping[Scalar, Callable[[Any], bool]] = {
    Scalar.STRING: _is_text,
    Scalar.INT32: _is_int32,
    Scalar.INT64: _is_int64,
    Scalar.BOOL: lambda value: isinstance(value, bool),
    Scalar.BYTES: _is_text,
    Scalar.DOUBLE: lambda value: type(value) in (int, float),
    Scalar.TIME: _is_text,
    Scalar.MICRO_TIME: _is_text,
    Scalar.INT_OR_STRING: lambda value: isinstance(value, str) or _is_int32(value),
}


def _quantity(value: Any) -> str:
    return canonical(value if type(value) in (str, int, float) else repr(value))


def _resource(value: Any) -> str:
    return canonical_resource(value if type(value) in (str, int, float) else repr(value))


_SPELLINGS: Mapping[Scalar, Callable[[Any], str | None]] = {
    Scalar.BYTES: base64_text,
    Scalar.QUANTITY: _quantity,
    Scalar.TIME: whole_seconds,
    Scalar.MICRO_TIME: microseconds,
}

_EMPTY: Mapping[Scalar, str | int | bool] = {
    Scalar.INT32: 0,
    Scalar.INT64: 0,
    Scalar.DOUBLE: 0,
    Scalar.BOOL: False,
    Scalar.QUANTITY: "0",
}


def _empty(field: Field) -> Any:
    """What a null entry of a list or map is read as."""
    if isinstance(field.type, Scalar):
        return _EMPTY.get(field.type, "")
    return [] if list_form(field.type) else {}
