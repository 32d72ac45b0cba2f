"""Documents as protobuf bodies: the walk of `protobuf.py` in the other direction."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from mooring.apiserver.codec import protobuf_values as values
from mooring.apiserver.codec.json_schema_protobuf import write_schema
from mooring.apiserver.codec.protobuf import MAGIC
from mooring.apiserver.codec.protobuf_wire import write_chunk, write_number
from mooring.apiserver.schema.contract import Field, Scalar, Shape
from mooring.apiserver.schema.json_fields import json_fields, list_form
from mooring.apiserver.schema.parse import load
from mooring.model.document import Doc

Chunk = Callable[[Any], bytes]

_NUMBERS = (Scalar.INT32, Scalar.INT64, Scalar.BOOL)
_CHUNKS: Mapping[Scalar, Chunk] = {
    Scalar.STRING: lambda text: bytes(text, "utf-8"),
    Scalar.BYTES: values.write_binary,
    Scalar.TIME: values.write_time,
    Scalar.MICRO_TIME: values.write_time,
    Scalar.QUANTITY: values.write_quantity,
    Scalar.INT_OR_STRING: values.write_int_or_string,
    Scalar.FIELDS_V1: values.write_json,
    Scalar.ANY: values.write_json,
    Scalar.JSON_SCHEMA: write_schema,
}


def encode(doc: Doc, message: str) -> bytes:
    """The body of a document that conforms to `message`; `protobuf.decode` reads it back."""
    type_meta = write_chunk(1, doc.get("apiVersion", "").encode())
    type_meta += write_chunk(2, doc.get("kind", "").encode())
    raw = encode_message(doc, message)
    return MAGIC + write_chunk(1, type_meta) + write_chunk(2, raw)


def encode_message(doc: Doc, message: str) -> bytes:
    """The message alone, without kind and apiVersion."""
    parts: list[bytes] = []
    for field in load().message(message).fields.values():
        if field.inline and isinstance(field.type, str):
            within = {name: doc[name] for name in json_fields(field.type) if name in doc}
            parts.append(write_chunk(field.number, encode_message(within, field.type)))
        elif field.number and field.name in doc:
            parts += _write(doc[field.name], field)
    return b"".join(parts)


def _write(value: Any, field: Field) -> list[bytes]:
    number = field.number
    if field.type in _NUMBERS:
        numbers = value if field.shape is Shape.LIST else [value]
        return [write_number(number, int(each)) for each in numbers]
    chunk = _chunk(field)
    match field.shape:
        case Shape.ONE:
            return [write_chunk(number, chunk(value))]
        case Shape.LIST:
            return [write_chunk(number, chunk(each)) for each in value]
        case Shape.MAP:
            return [
                write_chunk(number, write_chunk(1, key.encode()) + write_chunk(2, chunk(each)))
                for key, each in value.items()
            ]


def _chunk(field: Field) -> Chunk:
    kind = field.type
    return _CHUNKS[kind] if isinstance(kind, Scalar) else _message_chunk(kind)


@cache
def _message_chunk(message: str) -> Chunk:
    listed = list_form(message)
    if listed is not None:
        return lambda items: encode_message({listed.name: items}, message)
    return lambda doc: encode_message(doc, message)
