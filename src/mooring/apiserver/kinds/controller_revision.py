"""ControllerRevision: what a stateful set or a daemon set was at a time."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import NONE, age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind
from mooring.apiserver.kinds.immutability import IMMUTABLE
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required


def _validate(doc: Doc) -> Iterable[FieldError]:
    if doc.get("revision", 0) < 0:
        yield invalid("revision", doc["revision"], "must be greater than or equal to 0")
    data = doc.get("data")
    if data is None:
        yield required("data", "data is mandatory")
    elif not isinstance(data, dict):
        yield required("data", "data must be a valid JSON object")


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    if new.get("data") != old.get("data"):
        yield invalid("data", new.get("data"), IMMUTABLE)


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), _controller(doc), doc.get("revision", 0), age_of(doc, now)]


def _controller(doc: Doc) -> str:
    """`statefulset.apps/web`."""
    for owner in doc["metadata"].get("ownerReferences", ()):
        if owner.get("controller"):
            group, _, _ = owner["apiVersion"].rpartition("/")
            kind = owner["kind"].lower()
            return f"{kind}.{group}/{owner['name']}" if group else f"{kind}/{owner['name']}"
    return NONE


CONTROLLER_REVISION = Kind(
    group="apps",
    version="v1",
    kind="ControllerRevision",
    plural="controllerrevisions",
    message="apps.v1.ControllerRevision",
    namespaced=True,
    columns=(NAME, Column("Controller"), Column("Revision"), AGE),
    row=_row,
    validate=_validate,
    validate_update=_validate_update,
    deleted_as_status=True,
)
