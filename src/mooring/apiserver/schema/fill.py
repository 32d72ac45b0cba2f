"""Fills in what an answer always shows: nulls, zeroes and empty objects, as Go writes them out.

Clients of Kubernetes see `"lastProbeTime": null` and `"status": {}` where nothing was said. The
fields are found once per message; most messages have none, and cost nothing.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from mooring.apiserver.schema.contract import Field, Scalar, Shape
from mooring.apiserver.schema.json_fields import json_fields, list_form
from mooring.model.document import Doc

Fill = Callable[[Doc], None]

METADATA = "meta.v1.ObjectMeta"  # filled in by its writers; not shown when empty

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
    always = [(name, field) for name, field in fields.items() if field.is_always_there]
    zeroes = [(name, _zero(field)) for name, field in always if not _is_container(field)]
    objects = [(name, field.shape) for name, field in always if _is_container(field)]
    below = {name: filler for name, field in fields.items() if (filler := _field_filler(field))}
    if not (always or below):
        return None

    def filled(doc: Doc) -> None:
        for name, zero in zeroes:
            if name not in doc:
                doc[name] = zero
        for name, shape in objects:
            if name not in doc:
                doc[name] = [] if shape is Shape.LIST else {}
        for name in below.keys() & doc.keys():
            if doc[name] is not None:
                below[name](doc[name])

    return filled


def _field_filler(field: Field) -> Callable[[Any], None] | None:
    """Fills the value of a field: a message, or every one in a list or map."""
    filler = None if isinstance(field.type, Scalar) else _filler(field.type)
    if filler is None or field.shape is Shape.ONE:
        return filler

    def each(value: Any) -> None:
        for item in value if field.shape is Shape.LIST else value.values():
            filler(item)

    return each


def _is_container(field: Field) -> bool:
    return field.shape is Shape.LIST or isinstance(field.type, str)


def _zero(field: Field) -> Any:
    if field.pointer or not isinstance(field.type, Scalar):
        return None
    return _ZEROES.get(field.type)
