"""ConfigMap: small data that is no secret."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind
from mooring.apiserver.kinds.data_keys import FROZEN, MOST_DATA_BYTES, data_key, decoded_size
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, too_long


def _validate(doc: Doc) -> Iterable[FieldError]:
    data: dict[str, str] = doc.get("data") or {}
    binary: dict[str, str] = doc.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        for problem in data_key(key):
            yield invalid(f"data[{key}]", key, problem)
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += len(value) if value.isascii() else len(value.encode())
    for key, value in binary.items():
        for problem in data_key(key):
            yield invalid(f"binaryData[{key}]", key, problem)
        size += decoded_size(value)
    if size > MOST_DATA_BYTES:
        yield too_long("[]", MOST_DATA_BYTES)  # no field: it is about the whole object


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", FROZEN)
    for field in ("data", "binaryData"):
        if (new.get(field) or {}) != (old.get(field) or {}):
            yield forbidden(field, FROZEN)


def _row(doc: Doc, now: str) -> list[Any]:
    entries = len(doc.get("data") or ()) + len(doc.get("binaryData") or ())
    return [name_of(doc), entries, age_of(doc, now)]


CONFIG_MAP = Kind(
    group="",
    version="v1",
    kind="ConfigMap",
    plural="configmaps",
    message="core.v1.ConfigMap",
    namespaced=True,
    short_names=("cm",),
    columns=(NAME, Column("Data", description="How many entries there are."), AGE),
    row=_row,
    validate=_validate,
    validate_update=_validate_update,
    deleted_as_status=True,
)
