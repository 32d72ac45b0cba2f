"""A Swagger document as the protobuf that kubectl asks for (gnostic's `openapi.v2.Document`).

Written is what clients read: the schemas, and per operation its kind and its query parameters.
Field numbers stand beside what they number; there is no wire type but "length-delimited".
"""

from collections.abc import Mapping

import msgspec

from mooring.model.document import Doc

_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
_TEXTS = {"$ref": 1, "format": 2, "description": 4}


def encode(swagger: Doc) -> bytes:
    info = _text(1, swagger["info"]["title"]) + _text(2, swagger["info"]["version"])
    paths = (_pair(2, path, _path_item(item)) for path, item in swagger["paths"].items())
    definitions = (_pair(1, name, _schema(s)) for name, s in swagger["definitions"].items())
    return b"".join(
        (
            _text(1, swagger["swagger"]),
            _field(2, info),
            _field(8, b"".join(paths)),
            _field(9, b"".join(definitions)),
        )
    )


def _path_item(item: Doc) -> bytes:
    return b"".join(
        _field(number, _operation(item[method]))
        for method, number in _METHODS.items()
        if method in item
    )


def _operation(operation: Doc) -> bytes:
    queried = (p for p in operation["parameters"] if p["in"] == "query")
    return b"".join(
        (
            *(_field(8, _query_parameter(parameter)) for parameter in queried),
            _field(9, b""),  # responses: required, though no client reads them
            _extensions(13, operation),
        )
    )


def _query_parameter(parameter: Doc) -> bytes:
    query = b"".join(
        (
            _text(2, parameter["in"]),
            _text(3, parameter["description"]),
            _text(4, parameter["name"]),
            _text(6, parameter["type"]),
        )
    )
    return _field(1, _field(2, _field(3, query)))  # parameter, non-body parameter, query


def _schema(schema: Doc) -> bytes:
    parts = [_text(number, schema[key]) for key, number in _TEXTS.items() if key in schema]
    parts += [_text(19, name) for name in schema.get("required", ())]
    if "additionalProperties" in schema:
        parts.append(_field(21, _field(1, _schema(schema["additionalProperties"]))))
    if "type" in schema:
        parts.append(_field(22, _text(1, schema["type"])))
    if "items" in schema:
        parts.append(_field(23, _field(1, _schema(schema["items"]))))
    if "properties" in schema:
        parts.append(_field(25, _properties(schema["properties"])))
    return b"".join((*parts, _extensions(31, schema)))


def _properties(properties: Mapping[str, Doc]) -> bytes:
    return b"".join(_pair(1, name, _schema(schema)) for name, schema in properties.items())


def _extensions(number: int, described: Doc) -> bytes:
    """What begins with `x-`, its value as YAML, which JSON is."""
    return b"".join(
        _pair(number, name, _field(2, msgspec.json.encode(value)))
        for name, value in described.items()
        if name.startswith("x-")
    )


def _pair(number: int, name: str, value: bytes) -> bytes:
    return _field(number, _text(1, name) + _field(2, value))


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
