"""What is said of a value that does not fit its field."""

import json
from typing import Any

from mooring.apiserver.schema.contract import Field, Scalar, Shape
from mooring.apiserver.schema.json_fields import embedding, json_fields, list_form, short_name

Trail = list[str | int]
"""The way from the root of a document to a value: names, map keys and indices."""

_GO_SCALARS = {
    Scalar.STRING: "string",
    Scalar.INT32: "int32",
    Scalar.INT64: "int64",
    Scalar.BOOL: "bool",
    Scalar.BYTES: "[]uint8",
    Scalar.DOUBLE: "float64",
    Scalar.QUANTITY: "resource.Quantity",
    Scalar.TIME: "string",
    Scalar.MICRO_TIME: "string",
    Scalar.INT_OR_STRING: "int32",
    Scalar.FIELDS_V1: "v1.FieldsV1",
    Scalar.ANY: "interface {}",
}
_WHOLE_NUMBERS = (Scalar.INT32, Scalar.INT64, Scalar.INT_OR_STRING)

_OPENAPI_SCALARS = {
    Scalar.INT32: "integer",
    Scalar.INT64: "integer",
    Scalar.BOOL: "boolean",
    Scalar.DOUBLE: "number",
    Scalar.FIELDS_V1: "object",
}


class WrongType(ValueError):
    """A value does not fit its field. The text is in the words of a Go decoder.

    `path`, `found` and `wanted` say the same in the words of OpenAPI.
    """

    def __init__(self, text: str, *, path: str, found: str, wanted: str) -> None:
        super().__init__(text)
        self.path = path
        self.found = found
        self.wanted = wanted


def wrong_container(value: Any, field: Field, root: str, trail: Trail, path: str) -> WrongType:
    """For a value that should have been a list or a map."""
    entry = _go_entry(field)
    if field.shape is Shape.LIST:
        go_type, wanted = f"[]{entry}", "array"
    elif field.type is Scalar.QUANTITY:
        go_type, wanted = "v1.ResourceList", "object"
    else:
        go_type, wanted = f"map[string]{entry}", "object"
    text = _cannot(go_found(value), root, trail, go_type)
    return WrongType(text, path=path, found=_openapi_found(value), wanted=wanted)


def wrong_value(value: Any, field: Field, root: str, trail: Trail, path: str) -> WrongType:
    """For a single value, or an entry of a list or map."""
    found = go_found(value)
    if found == "number" and field.type in _WHOLE_NUMBERS:
        found = f"number {json.dumps(value)}"
    text = _cannot(found, root, trail, _go_entry(field))
    return wrong_text(text, value, field, path)


def wrong_text(text: str, value: Any, field: Field, path: str) -> WrongType:
    """For a value of the right type that cannot be read."""
    return WrongType(text, path=path, found=_openapi_found(value), wanted=_openapi_entry(field))


def _cannot(found: str, root: str, trail: Trail, go_type: str) -> str:
    where = _go_path(root, trail)
    return f"json: cannot unmarshal {found} into Go struct field {where} of type {go_type}"


def _go_path(root: str, trail: Trail) -> str:
    """`CSIPersistentVolumeSource.spec.PersistentVolumeSource.csi.driver`

    The struct that has the field, then the way to it, without indices and map keys.
    """
    struct, names = root, list[str]()
    message, is_key = root, False
    for step in trail:
        if is_key or isinstance(step, int):
            is_key = False
            continue
        field = json_fields(message)[step]
        struct = message
        names += [*embedding(message, step), step]
        is_key = field.shape is Shape.MAP
        if isinstance(field.type, str):
            message = field.type
    return ".".join([short_name(struct), *names])


def _go_entry(field: Field) -> str:
    if isinstance(field.type, Scalar):
        return _GO_SCALARS[field.type]
    _, version, name = field.type.split(".")
    return f"{version}.{name}"


def _openapi_entry(field: Field) -> str:
    if isinstance(field.type, Scalar):
        return _OPENAPI_SCALARS.get(field.type, "string")
    return "array" if list_form(field.type) else "object"


def go_found(value: Any) -> str:
    """What a JSON value is called in the errors of Go."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _openapi_found(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
