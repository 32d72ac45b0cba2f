"""Reads a JSON body that has nothing wrong with it, in one go.

Nearly every body is right, so this is the path that counts: one typed decode in C checks every
field, and only the branches that lead to quantities, times and binary data are visited after it.
What is not quite right is left to `check.conform`, which knows how to say so.
"""

from collections.abc import Callable
from functools import cache
from types import GenericAlias
from typing import Annotated, Any, TypedDict

import msgspec

from mooring.apiserver.schema.check import conform
from mooring.apiserver.schema.contract import Field, Scalar, Shape
from mooring.apiserver.schema.json_fields import json_fields, left_out_when_empty, list_form
from mooring.apiserver.schema.json_schema import JsonSchema
from mooring.apiserver.schema.values import base64_text, microseconds, whole_seconds
from mooring.model.document import Doc
from mooring.model.quantity import canonical, canonical_resource

Tidy = Callable[[Doc], None]
Step = Callable[[Doc, str], None]
Spell = Callable[[Any], str | None]

_COLON, _BACKSLASH = b":\\"

_typed_dict: Any = TypedDict  # called with fields that a type checker cannot know

_SCALARS: dict[Scalar, Any] = {
    Scalar.STRING: str,
    Scalar.INT32: Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)],
    Scalar.INT64: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)],
    Scalar.BOOL: bool,
    Scalar.BYTES: str,
    Scalar.DOUBLE: float,
    Scalar.QUANTITY: str | int | float,
    Scalar.TIME: str | None,  # Go clients write `creationTimestamp: null` all the time
    Scalar.MICRO_TIME: str | None,
    Scalar.INT_OR_STRING: Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)] | str,
    Scalar.FIELDS_V1: dict[str, Any],
    Scalar.ANY: Any,
    Scalar.JSON_SCHEMA: JsonSchema,
}

_SPELLINGS: dict[Scalar, Spell] = {
    Scalar.BYTES: base64_text,
    Scalar.QUANTITY: canonical,
    Scalar.TIME: whole_seconds,
    Scalar.MICRO_TIME: microseconds,
}

_NOT_EMPTY = msgspec.Meta(min_length=1)
_ZEROES = (Scalar.INT32, Scalar.INT64, Scalar.DOUBLE, Scalar.BOOL)

_encode = msgspec.json.Encoder().encode


def read_exact(body: bytes, message: str) -> Doc | None:
    """The document, as `conform` would leave it; None when there is anything to say about it."""
    decode, tidy = _reader(message)
    try:
        doc = decode(body)
        if not _is_whole(body, doc):
            return None
        if tidy is not None:
            tidy(doc)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return doc


def conform_whole(doc: Doc, message: str) -> list[str]:
    """As `check.conform`, and quicker where there is nothing to say."""
    try:
        exact = read_exact(_encode(doc), message)
    except (ValueError, RecursionError):  # it cannot even be written down
        exact = None
    if exact is None:
        return conform(doc, message)
    doc.clear()
    doc.update(exact)
    return []


def _is_whole(body: bytes, doc: Doc) -> bool:
    """Whether the decoder kept every field: none was unknown, none came twice.

    Every field has its colon, and a colon in the document comes from one in the body unless it was
    written as an escape. So when the counts are equal, nothing was dropped.
    """
    if body.count(_COLON) != _encode(doc).count(_COLON):
        return False
    return _BACKSLASH not in body or (b"\\u003a" not in body and b"\\u003A" not in body)


@cache
def _reader(message: str) -> tuple[Callable[[bytes], Doc], Tidy | None]:
    return msgspec.json.Decoder(_typed(message)).decode, _tidier(message)


@cache
def _typed(message: str) -> Any:
    inner = list_form(message)
    if inner is not None:
        return _shaped(inner)
    fields = {name: _shaped(field) for name, field in json_fields(message).items()}
    for name in left_out_when_empty(message):
        field = json_fields(message)[name]
        if field.shape is not Shape.ONE or field.type in (Scalar.STRING, Scalar.BYTES):
            fields[name] = Annotated[fields[name], _NOT_EMPTY]
    return _typed_dict(message, fields, total=False)


def _shaped(field: Field) -> Any:
    one = _SCALARS[field.type] if isinstance(field.type, Scalar) else _typed(field.type)
    if field.shape is Shape.LIST:
        return GenericAlias(list, one)
    return GenericAlias(dict, (str, one)) if field.shape is Shape.MAP else one


@cache
def _tidier(message: str) -> Tidy | None:
    """Spells the values of a message and drops its zeroes; None when no field of it needs that."""
    if list_form(message) is not None:
        return None
    optional = left_out_when_empty(message)
    fields = json_fields(message)
    below = {
        name: within
        for name, field in fields.items()
        if not field.off and (within := _below(field))
    }
    steps = {
        name: step
        for name, field in fields.items()
        if (step := _drop_zero if _is_optional_zero(field, optional) else _step(field))
    }
    if not steps and not below:
        return None

    def tidy(doc: Doc) -> None:
        for name in steps.keys() & doc.keys():
            steps[name](doc, name)
        for name in below.keys() & doc.keys():
            below[name](doc[name])

    return tidy


def _is_optional_zero(field: Field, optional: frozenset[str]) -> bool:
    return field.name in optional and field.type in _ZEROES and not field.off


def _drop(doc: Doc, name: str) -> None:
    del doc[name]


def _drop_zero(doc: Doc, name: str) -> None:
    if not doc[name]:
        del doc[name]


def _step(field: Field) -> Step | None:
    """The step that normalizes a value of this field, or None."""
    if field.off:
        return _drop
    spell = _SPELLINGS.get(field.type) if isinstance(field.type, Scalar) else None
    return None if spell is None else _spelling(spell, field)


def _below(field: Field) -> Callable[[Any], None] | None:
    """The step for the messages in a value: the value itself, or each item of a list or map."""
    tidy = None if isinstance(field.type, Scalar) else _tidier(field.type)
    if tidy is None or field.shape is Shape.ONE:
        return tidy

    def each(entries: Any) -> None:
        for entry in entries if field.shape is Shape.LIST else entries.values():
            tidy(entry)

    return each


def _spelling(spell: Spell, field: Field) -> Step:
    if field.shape is Shape.MAP:
        return _each_spelled(canonical_resource if spell is canonical else _unless_null(spell))

    def one(doc: Doc, name: str) -> None:
        value = doc[name]
        kept = None if value is None else spell(value)
        if kept is None:
            del doc[name]
        else:
            doc[name] = kept

    return one


def _unless_null(spell: Spell) -> Spell:
    return lambda value: None if value is None else spell(value)


def _each_spelled(spell: Spell) -> Step:
    def each(doc: Doc, name: str) -> None:
        entries = doc[name]
        for key, value in entries.items():
            entries[key] = spell(value)

    return each
