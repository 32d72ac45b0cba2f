"""JSONSchemaProps in protobuf, by the table of `schema/json_schema.py`, in both directions."""

import struct
from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.apiserver.codec.protobuf_wire import (
    CHUNK,
    FIXED64,
    VARINT,
    read_chunk,
    read_tag,
    read_varint,
    signed,
    skip,
    write_chunk,
    write_number,
    write_varint,
)
from mooring.apiserver.schema.json_schema import DOCS, FIELDS, RULE, Form, Known
from mooring.model.document import Doc

_MOST_DEPTH = 100
_TABLES: Mapping[Form, Mapping[str, Known]] = {
    Form.SCHEMA: FIELDS,
    Form.SCHEMAS: FIELDS,
    Form.SCHEMA_MAP: FIELDS,
    Form.DOCS: DOCS,
    Form.RULES: RULE,
}
_BY_NUMBER: Mapping[int, dict[int, tuple[str, Known]]] = {
    id(table): {known.number: (name, known) for name, known in table.items()}
    for table in (FIELDS, DOCS, RULE)
}
_LISTS = (Form.ANYS, Form.TEXTS, Form.SCHEMAS, Form.RULES)

_decode_json = msgspec.json.Decoder().decode
_encode_json = msgspec.json.Encoder().encode


def read_schema(data: bytes, at: int, stop: int) -> Doc:
    """Raises: ValueError."""
    return _read(data, at, stop, FIELDS, 0)


def write_schema(schema: Doc) -> bytes:
    return _write(schema, FIELDS)


def _read(data: bytes, at: int, stop: int, table: Mapping[str, Known], depth: int) -> Doc:
    if depth > _MOST_DEPTH:
        raise ValueError("proto: exceeded max depth")
    doc: Doc = {}
    by_number = _BY_NUMBER[id(table)]
    while at < stop:
        number, wire, at = read_tag(data, at, stop)
        if number not in by_number:
            at = skip(data, at, stop, wire)
            continue
        name, known = by_number[number]
        if wire == CHUNK:
            begin, at = read_chunk(data, at, stop)
            _put_chunk(doc, name, known, data[begin:at], depth)
        elif wire == VARINT:
            value, at = read_varint(data, at, stop)
            number_read = bool(value) if known.form is Form.FLAG else signed(value)
            if number_read or known.pointer:
                doc[name] = number_read
        elif wire == FIXED64 and at + 8 <= stop:
            (real,) = struct.unpack_from("<d", data, at)
            doc[name] = int(real) if real.is_integer() else real
            at += 8
        else:
            raise ValueError(f"proto: wrong wireType = {wire} for field {name}")
    return doc


def _put_chunk(doc: Doc, name: str, known: Known, chunk: bytes, depth: int) -> None:
    value = _value(known.form, chunk, depth)
    if known.form in _LISTS:
        doc.setdefault(name, []).append(value)
    elif known.form in (Form.SCHEMA_MAP, Form.DEPENDENCIES):
        doc.setdefault(name, {}).update(value)
    elif known.form is Form.ANY and value is None:
        return
    elif value != "" or known.pointer:
        doc[name] = value


def _value(form: Form, chunk: bytes, depth: int) -> Any:
    match form:
        case Form.TEXT | Form.TEXTS:
            return chunk.decode("utf-8")
        case Form.ANY | Form.ANYS:
            raw = _chunk_of(chunk, 1)
            return _json(raw) if raw else None
        case Form.SCHEMA | Form.SCHEMAS | Form.DOCS | Form.RULES:
            return _read(chunk, 0, len(chunk), _TABLES[form], depth + 1)
        case Form.SCHEMA_MAP | Form.DEPENDENCIES:
            key = (_chunk_of(chunk, 1) or b"").decode("utf-8")
            inner = _chunk_of(chunk, 2) or b""
            if form is Form.DEPENDENCIES:
                return {key: _either(inner, 2, depth)}
            return {key: _read(inner, 0, len(inner), FIELDS, depth + 1)}
        case Form.SCHEMA_OR_LIST:
            return _either(chunk, 2, depth)
        case Form.SCHEMA_OR_FLAG:
            inner_schema = _chunk_of(chunk, 2)
            if inner_schema is not None:
                return _read(inner_schema, 0, len(inner_schema), FIELDS, depth + 1)
            return _flag_of(chunk, 1)
        case _:
            raise ValueError(f"proto: wrong wireType = {CHUNK}")


def _either(chunk: bytes, many: int, depth: int) -> Any:
    """A schema (1), or a list of schemas or texts."""
    one = _chunk_of(chunk, 1)
    if one is not None:
        return _read(one, 0, len(one), FIELDS, depth + 1)
    return [_read(each, 0, len(each), FIELDS, depth + 1) for each in _chunks_of(chunk, many)]


def _json(raw: bytes) -> Any:
    try:
        return _decode_json(raw)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("proto: a value in a schema is not JSON") from error


def _chunk_of(data: bytes, wanted: int) -> bytes | None:
    found = _chunks_of(data, wanted)
    return found[-1] if found else None


def _chunks_of(data: bytes, wanted: int) -> list[bytes]:
    found, at, stop = [], 0, len(data)
    while at < stop:
        number, wire, at = read_tag(data, at, stop)
        if wire == CHUNK:
            begin, at = read_chunk(data, at, stop)
            if number == wanted:
                found.append(data[begin:at])
        else:
            at = skip(data, at, stop, wire)
    return found


def _flag_of(data: bytes, wanted: int) -> bool:
    at, stop, flag = 0, len(data), False
    while at < stop:
        number, wire, at = read_tag(data, at, stop)
        if wire == VARINT and number == wanted:
            value, at = read_varint(data, at, stop)
            flag = bool(value)
        else:
            at = skip(data, at, stop, wire)
    return flag


def _write(doc: Doc, table: Mapping[str, Known]) -> bytes:
    parts: list[bytes] = []
    for name, known in table.items():
        if name in doc:
            values = doc[name] if known.form in _LISTS else [doc[name]]
            parts += [_written(known.number, known.form, value) for value in values]
    return b"".join(parts)


def _written(number: int, form: Form, value: Any) -> bytes:
    match form:
        case Form.FLAG | Form.WHOLE:
            return write_number(number, int(value))
        case Form.NUMBER:
            return write_varint(number << 3 | FIXED64) + struct.pack("<d", value)
        case Form.TEXT | Form.TEXTS:
            return write_chunk(number, value.encode())
        case Form.ANY | Form.ANYS:
            return write_chunk(number, write_chunk(1, _encode_json(value)))
        case Form.SCHEMA_MAP:
            return b"".join(
                write_chunk(
                    number, write_chunk(1, key.encode()) + write_chunk(2, _write(s, FIELDS))
                )
                for key, s in value.items()
            )
        case Form.SCHEMA_OR_FLAG:
            if isinstance(value, bool):
                return write_chunk(number, write_number(1, int(value)))
            inner = write_number(1, 1) + write_chunk(2, _write(value, FIELDS))
            return write_chunk(number, inner)
        case Form.SCHEMA_OR_LIST:
            if isinstance(value, list):
                many = b"".join(write_chunk(2, _write(each, FIELDS)) for each in value)
                return write_chunk(number, many)
            return write_chunk(number, write_chunk(1, _write(value, FIELDS)))
        case _:
            return write_chunk(number, _write(value, _TABLES[form]))
