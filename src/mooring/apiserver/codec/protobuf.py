"""Kubernetes' protobuf bodies, read by walking the schema.

A body is `k8s\\0`, then an envelope of apiVersion, kind and the object's own message. Writers send
every field that is no pointer, empty or not, so an empty one counts as absent; of a pointer even an
empty value has meaning. So has the zero of a number or truth value that answers always carry: it is
kept. Broken bytes are ValueErrors.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from mooring.apiserver.codec import protobuf_values as values
from mooring.apiserver.codec.json_schema_protobuf import read_schema
from mooring.apiserver.codec.protobuf_wire import (
    CHUNK,
    VARINT,
    read_chunk,
    read_tag,
    read_varint,
    signed,
    signed32,
    skip,
)
from mooring.apiserver.limits.budgets import MOST_VALUES
from mooring.apiserver.limits.json_size import too_many_values
from mooring.apiserver.schema.contract import Field, Scalar, Shape
from mooring.apiserver.schema.json_fields import list_form
from mooring.apiserver.schema.parse import load
from mooring.model.document import Doc
from mooring.model.quantity import canonical, canonical_resource

ReadChunk = Callable[[bytes, int, int], Any]
ReadNumber = Callable[[int], Any]

MAGIC = b"k8s\x00"

_NUMBERS: Mapping[Scalar, ReadNumber] = {
    Scalar.INT32: signed32,
    Scalar.INT64: signed,
    Scalar.BOOL: bool,
}
_CHUNKS: Mapping[Scalar, ReadChunk] = {
    Scalar.STRING: values.read_text,
    Scalar.BYTES: values.read_binary,
    Scalar.TIME: values.read_time,
    Scalar.MICRO_TIME: values.read_micro_time,
    Scalar.INT_OR_STRING: values.read_int_or_string,
    Scalar.FIELDS_V1: values.read_json,
    Scalar.ANY: values.read_json,
    Scalar.JSON_SCHEMA: read_schema,
}


class Envelope(NamedTuple):
    api_version: str
    kind: str
    raw: bytes


def decode(body: bytes, message: str) -> tuple[str, str, Doc]:
    """The apiVersion, the kind and the document, its values spelled as `check.conform` would.

    Raises: ValueError.
    """
    envelope = open_envelope(body)
    return envelope.api_version, envelope.kind, decode_message(envelope.raw, message)


def open_envelope(body: bytes) -> Envelope:
    """Raises: ValueError."""
    if not body:
        raise ValueError("empty data")
    if not body.startswith(MAGIC):
        shown = " ".join(str(byte) for byte in MAGIC)
        raise ValueError(
            f"provided data does not appear to be a protobuf message, expected prefix [{shown}]"
        )
    if len(body) == len(MAGIC):
        raise ValueError("empty body")
    parts = _chunks(body, len(MAGIC), len(body))
    type_meta = parts.get(1, b"")
    identity = _chunks(type_meta, 0, len(type_meta))
    return Envelope(
        identity.get(1, b"").decode("utf-8"),
        identity.get(2, b"").decode("utf-8"),
        parts.get(2, b""),
    )


def _chunks(data: bytes, at: int, end: int) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while at < end:
        number, wire, at = read_tag(data, at, end)
        if wire == CHUNK:
            begin, at = read_chunk(data, at, end)
            found[number] = data[begin:at]
        else:
            at = skip(data, at, end, wire)
    return found


def decode_message(raw: bytes, message: str) -> Doc:
    """The document of one message, without kind and apiVersion.

    Raises: ValueError; TooLarge when there are more values in it than a document may hold.
    """
    doc: Doc = {}
    _Reader(raw).read(0, len(raw), message, doc)
    return doc


class _Slot(NamedTuple):
    """How the values of one field number are read, and where they go."""

    name: str
    shape: Shape
    keeps_empty: bool
    read_number: ReadNumber | None
    read_chunk: ReadChunk | None
    message: str | None  # of a single message, into which a second one is merged
    inline: bool
    item: str | None  # the message of each entry of a list or map
    listed: str | None  # the one field of it, when that is all it stands for


class _Reader:
    """Reads one body, and counts what is in it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._left = MOST_VALUES

    def read(self, at: int, end: int, message: str, doc: Doc) -> None:
        data, slots = self._data, _slots(message)
        while at < end:
            self._count()
            number, wire, at = read_tag(data, at, end)
            slot = slots.get(number)
            if slot is None:
                at = skip(data, at, end, wire)
            elif wire == CHUNK:
                begin, at = read_chunk(data, at, end)
                self._put_chunk(begin, at, slot, doc)
            elif wire == VARINT and slot.read_number is not None and slot.shape is not Shape.MAP:
                value, at = read_varint(data, at, end)
                _put(slot.read_number(value), slot, doc)
            else:
                raise ValueError(f"proto: wrong wireType = {wire} for field {slot.name}")

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise too_many_values()

    def _put_chunk(self, at: int, stop: int, slot: _Slot, doc: Doc) -> None:
        if slot.inline and slot.message is not None:
            self.read(at, stop, slot.message, doc)
        elif slot.shape is Shape.MAP:
            key, value = self._read_entry(at, stop, slot)
            doc.setdefault(slot.name, {})[key] = value
        elif slot.message is not None:
            inner = doc.get(slot.name, {})
            self.read(at, stop, slot.message, inner)
            _put(inner, slot, doc)
        elif slot.read_chunk is not None or slot.item is not None:
            _put(self._value(at, stop, slot), slot, doc)
        elif slot.read_number is not None and slot.shape is Shape.LIST:
            while at < stop:  # packed
                self._count()
                value, at = read_varint(self._data, at, stop)
                _put(slot.read_number(value), slot, doc)
        else:
            raise ValueError(f"proto: wrong wireType = {CHUNK} for field {slot.name}")

    def _value(self, at: int, stop: int, slot: _Slot) -> Any:
        if slot.item is not None:
            doc: Doc = {}
            self.read(at, stop, slot.item, doc)
            return doc if slot.listed is None else doc.get(slot.listed, [])
        if slot.read_chunk is None:
            raise ValueError(f"proto: cannot read a map of numbers in field {slot.name}")
        return slot.read_chunk(self._data, at, stop)

    def _read_entry(self, at: int, stop: int, slot: _Slot) -> tuple[str, Any]:
        data = self._data
        key, begin, behind = "", at, at
        while at < stop:
            self._count()
            number, wire, at = read_tag(data, at, stop)
            if wire != CHUNK:
                at = skip(data, at, stop, wire)
                continue
            start, at = read_chunk(data, at, stop)
            if number == 1:
                key = data[start:at].decode("utf-8")
            elif number == 2:
                begin, behind = start, at
        return key, self._value(begin, behind, slot)


def _put(value: Any, slot: _Slot, doc: Doc) -> None:
    if slot.shape is Shape.LIST:
        doc.setdefault(slot.name, []).append(value)
    elif value or (slot.keeps_empty and value is not None):
        doc[slot.name] = value
    else:
        doc.pop(slot.name, None)


@cache
def _slots(message: str) -> Mapping[int, _Slot]:
    fields = load().message(message).fields.values()
    return {field.number: _slot(field) for field in fields if field.number and not field.off}


def _slot(field: Field) -> _Slot:
    kind = field.type
    number = _NUMBERS.get(kind) if isinstance(kind, Scalar) else None
    is_single = field.shape is Shape.ONE and isinstance(kind, str)
    inner = list_form(kind) if isinstance(kind, str) else None
    keeps_zero = field.required and number is not None
    return _Slot(
        name=field.name,
        shape=field.shape,
        keeps_empty=field.pointer or keeps_zero or kind is Scalar.INT_OR_STRING,
        read_number=number,
        read_chunk=_chunk_reader(kind, field.shape) if isinstance(kind, Scalar) else None,
        message=kind if is_single and isinstance(kind, str) else None,
        inline=field.inline and is_single,
        item=kind if isinstance(kind, str) and not is_single else None,
        listed=inner.name if inner is not None else None,
    )


def _chunk_reader(kind: Scalar, shape: Shape) -> ReadChunk | None:
    if kind is Scalar.QUANTITY:
        spell = canonical_resource if shape is Shape.MAP else canonical
        return lambda data, at, stop: spell(values.read_quantity(data, at, stop))
    return None if kind in _NUMBERS else _CHUNKS[kind]
