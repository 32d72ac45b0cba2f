"""Fills in what an answer always shows: nulls, zeroes and empty objects, as Go writes them out.

Clients of Kubernetes see `"lastProbeTime": null` and `"status": {}` where nothing was said. The
fields are found once per message; most messages have none, and cost nothing.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from mooring.apiserver.schema.contract import Field, Scalar, Shape
from mooring.apiserver.schema.json_fields import json_fields, list_form

Doc = dict[str, Any]
Fill = Callable[[Doc], None]

METADATA = "meta.v1.ObjectMeta"  # filled in by those who write it; empty, it shows nothing

_ZEROES: dict[Scalar, Any] = {
    Scalar.STRING: "",
    Scalar.BYTES: "",
    Scalar.INT32: 0,
    Scalar.INT64: 0,
    Scalar.DOUBLE: 0,
    Scalar.BOOL: False,
    Scalar.QUANTITY: "0",
    Scalar.INT_OR_STRING: 0,
}


def fill(doc: Doc, message: str) -> None:
    """Add to `doc` the fields that are always there. Repeated: changes nothing."""
    filler = _filler(message)
    if filler is not None:
        filler(doc)


@cache
def _filler(message: str) -> Fill | None:
    if message == METADATA or list_form(message) is not None:
        return None
    fields = json_fields(message)
    zeroes = [
        (name, _zero(field))
        for name, field in fields.items()
        if field.is_always_there and not _is_object(field)
    ]
    objects = [
        name for name, field in fields.items() if field.is_always_there and _is_object(field)
    ]
    below = [
        (name, field.shape, filler) for name, field in fields.items() if (filler := _of(field))
    ]
    if not (zeroes or objects or below):
        return None

    def filled(doc: Doc) -> None:
        for name, zero in zeroes:
            if name not in doc:
                doc[name] = [] if zero == [] else zero
        for name in objects:
            if name not in doc:
                doc[name] = {}
        for name, shape, filler in below:
            value = doc.get(name)
            if value:
                _fill_each(value, shape, filler)
            elif value is not None and shape is Shape.ONE:
                filler(value)

    return filled


def _fill_each(value: Any, shape: Shape, filler: Fill) -> None:
    if shape is Shape.ONE:
        filler(value)
        return
    for item in value if shape is Shape.LIST else value.values():
        filler(item)


def _of(field: Field) -> Fill | None:
    return None if isinstance(field.type, Scalar) else _filler(field.type)


def _is_object(field: Field) -> bool:
    return field.shape is Shape.ONE and isinstance(field.type, str)


def _zero(field: Field) -> Any:
    if field.shape is Shape.LIST:
        return []
    if field.pointer or not isinstance(field.type, Scalar):
        return None
    return _ZEROES.get(field.type)
