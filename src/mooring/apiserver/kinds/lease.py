"""Lease: the holder of a role, or the heartbeat of a node, and for how long it is valid."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid


def _defaults(doc: Doc) -> None:
    doc.setdefault("spec", {})


def _prepare_create(doc: Doc, _: Context) -> None:
    """Elections that the server decides are not held: upstream leaves them off, too."""
    for field in ("strategy", "preferredHolder"):
        doc["spec"].pop(field, None)


def _prepare_update(new: Doc, _: Doc, context: Context) -> None:
    _prepare_create(new, context)


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    transitions = spec.get("leaseTransitions", 0)
    if transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), doc["spec"].get("holderIdentity", ""), age_of(doc, now)]


LEASE = Kind(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    message="coordination.v1.Lease",
    namespaced=True,
    columns=(NAME, Column("Holder"), AGE),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate=_validate,
    update_needs_version=True,
    update_creates=True,
    deleted_as_status=True,
)
