"""A message as JSON shows it: the fields of its inline parts among its own."""

from collections.abc import Mapping
from functools import cache

from mooring.apiserver.schema.contract import Field, Scalar, Shape
from mooring.apiserver.schema.parse import load


@cache
def json_fields(message: str) -> Mapping[str, Field]:
    """The fields by their JSON names. Not for a message that stands in JSON as a list."""
    fields: dict[str, Field] = {}
    for field in load().message(message).fields.values():
        if field.inline and isinstance(field.type, str):
            fields.update(json_fields(field.type))
        else:
            fields[field.name] = field
    return fields


@cache
def left_out_when_empty(message: str) -> frozenset[str]:
    """The fields whose empty value (no items, no text, zero, false) says the same as none.

    Not so in custom kinds (number 0), whose documents are kept as they came.
    """
    return frozenset(
        name
        for name, field in json_fields(message).items()
        if field.number
        and not field.required
        and not field.shown
        and not field.pointer
        and field.type is not Scalar.INT_OR_STRING
        and (field.shape is not Shape.ONE or isinstance(field.type, Scalar))
    )


@cache
def list_form(message: str) -> Field | None:
    """The list that a message stands for in JSON; None for the usual ones, which are objects."""
    for field in load().message(message).fields.values():
        if field.inline and field.shape is Shape.LIST:
            return field
    return None


@cache
def embedding(message: str, name: str) -> tuple[str, ...]:
    """The inline parts to pass through, from `message` to its JSON field `name`."""
    fields = load().message(message).fields
    for field in fields.values():
        if field.inline and isinstance(field.type, str) and name in json_fields(field.type):
            return (short_name(field.type), *embedding(field.type, name))
    return ()


def short_name(message: str) -> str:
    """`core.v1.Pod` is `Pod`."""
    return message.rpartition(".")[2]
