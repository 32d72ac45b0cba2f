"""VolumeAttributesClass: attributes that a volume may take on while it is in use."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind
from mooring.apiserver.kinds.immutability import same
from mooring.apiserver.kinds.parameters import validate_parameters
from mooring.apiserver.kinds.storage_class import validate_provisioner
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, required


def _validate(doc: Doc) -> Iterable[FieldError]:
    yield from validate_provisioner(doc.get("driverName", ""), "driverName")
    parameters = doc.get("parameters") or {}
    yield from validate_parameters(parameters, "parameters")
    if not parameters:
        yield required("parameters", "must contain at least one key/value pair")


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    for field in ("driverName", "parameters"):
        if not same(new.get(field), old.get(field)):
            yield forbidden(field, f"updates to {field} are forbidden.")


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), doc.get("driverName", ""), age_of(doc, now)]


ATTRIBUTES_CLASS = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="VolumeAttributesClass",
    plural="volumeattributesclasses",
    message="storage.v1.VolumeAttributesClass",
    namespaced=False,
    short_names=("vac",),
    columns=(NAME, Column("DriverName"), AGE),
    row=_row,
    validate=_validate,
    validate_update=_validate_update,
)
