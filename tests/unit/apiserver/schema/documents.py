"""Random documents that conform to a message, in the spelling that the server keeps."""

import base64
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.schema.contract import Field, Scalar, Shape
from mooring.apiserver.schema.json_fields import json_fields, list_form
from mooring.apiserver.schema.parse import load
from mooring.model.quantity import canonical, canonical_resource

Doc = dict[str, Any]

KINDS = sorted(
    name
    for name, message in load().messages.items()
    if "kind" in message.fields and "metadata" in message.fields and name != "meta.v1.Status"
)
_CUSTOM = {kind.message for kind in builtin().all() if kind.custom}  # JSON only, as upstream
ON_PROTOBUF = [name for name in KINDS if name not in _CUSTOM]

_moments = st.datetimes(datetime(1900, 1, 1), datetime(2300, 1, 1))  # noqa: DTZ001 - made UTC below
_amounts = st.builds(
    "{}{}".format, st.integers(0, 10**6), st.sampled_from(["", "m", "k", "G", "Ki", "Gi", "u"])
)
_SCALARS: dict[Scalar, st.SearchStrategy[Any]] = {
    Scalar.STRING: st.text(max_size=8),
    Scalar.INT32: st.integers(-(2**31), 2**31 - 1),
    Scalar.INT64: st.integers(-(2**63), 2**63 - 1),
    Scalar.BOOL: st.booleans(),
    Scalar.BYTES: st.binary(max_size=8).map(lambda data: base64.b64encode(data).decode()),
    Scalar.QUANTITY: _amounts.map(canonical),
    Scalar.TIME: _moments.map(
        lambda at: at.replace(microsecond=0, tzinfo=UTC).isoformat()[:19] + "Z"
    ),
    Scalar.MICRO_TIME: _moments.map(lambda at: at.isoformat(timespec="microseconds") + "Z"),
    Scalar.INT_OR_STRING: st.integers(-(2**31), 2**31 - 1) | st.text(max_size=4),
    Scalar.ANY: st.just({"spec": {"replicas": 1, "note": "é"}}),
    Scalar.JSON_SCHEMA: st.recursive(
        st.fixed_dictionaries({"type": st.sampled_from(("string", "integer", "boolean"))}),
        lambda inner: st.fixed_dictionaries(
            {"type": st.just("object")},
            optional={
                "properties": st.dictionaries(st.text(min_size=1, max_size=4), inner, min_size=1),
                "items": inner,
                "additionalProperties": inner | st.booleans(),
                "maximum": st.integers(-9, 9) | st.just(0.5),
                "enum": st.lists(st.integers() | st.none() | st.text(max_size=3), min_size=1),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "x-kubernetes-preserve-unknown-fields": st.booleans(),
                "x-kubernetes-validations": st.just([{"rule": "true", "message": "m"}]),
            },
        ),
        max_leaves=4,
    ),
    Scalar.FIELDS_V1: st.just({"f:spec": {"f:a": {}, ".": {}}}),
}


@st.composite
def documents(draw: st.DrawFn, message: str, depth: int = 0) -> Doc:
    """A document of `message` with a few of its fields, none of them empty without meaning."""
    fields = [
        field
        for field in json_fields(message).values()
        if not field.off and not _names_a_kind(field, depth)
    ]
    most = max(1, 4 - depth)
    chosen = draw(st.lists(st.sampled_from(fields), max_size=most, unique_by=lambda f: f.name))
    doc = {field.name: draw(values(field, depth)) for field in chosen}
    return {field.name: doc[field.name] for field in chosen if has_meaning(doc[field.name], field)}


def _names_a_kind(field: Field, depth: int) -> bool:
    """Below the top, kind and apiVersion of a DeleteOptions do not survive protobuf."""
    return depth > 0 and field.number == 0 and field.name in ("kind", "apiVersion")


def values(field: Field, depth: int) -> st.SearchStrategy[Any]:
    one = _one(field, depth)
    if field.shape is Shape.LIST:
        return st.lists(one, min_size=1, max_size=2)
    if field.shape is Shape.MAP:
        return st.dictionaries(st.text(max_size=5), one, min_size=1, max_size=2)
    return one


def has_meaning(value: Any, field: Field) -> bool:
    """Whether protobuf can tell this value from an absent one."""
    number = field.type in (Scalar.INT32, Scalar.INT64, Scalar.BOOL)
    is_int_or_text = field.type is Scalar.INT_OR_STRING
    return bool(value) or field.pointer or is_int_or_text or (number and field.required)


def _one(field: Field, depth: int) -> st.SearchStrategy[Any]:
    if isinstance(field.type, Scalar):
        if field.type is Scalar.QUANTITY and field.shape is Shape.MAP:
            return _amounts.map(canonical_resource)
        return _SCALARS[field.type]
    inner = list_form(field.type)
    return documents(field.type, depth + 1) if inner is None else values(inner, depth)
