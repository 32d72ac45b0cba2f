"""Namespace: what holds the namespaced kinds, and empties itself before it goes.

Its end is in `spec.finalizers`, not `metadata.finalizers`: the `finalize` subresource takes them
away, and the main path cannot.
"""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import (
    AGE,
    NAME,
    READ_WRITE,
    Column,
    Context,
    Kind,
    Subresource,
)
from mooring.apiserver.kinds.metadata import STANDARD_FINALIZERS
from mooring.apiserver.kinds.selectable import text_in
from mooring.apiserver.kinds.separation import keep, keep_all_but_status
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid
from mooring.model.names import dns_label, qualified_name

FINALIZER = "kubernetes"
NAME_LABEL = "kubernetes.io/metadata.name"


def _defaults(doc: Doc) -> None:
    if name := doc.get("metadata", {}).get("name"):
        doc["metadata"].setdefault("labels", {})[NAME_LABEL] = name
    doc.setdefault("spec", {})
    doc.setdefault("status", {}).setdefault("phase", "Active")


def _prepare_create(doc: Doc, _: Context) -> None:
    finalizers = doc["spec"].get("finalizers", [])
    if FINALIZER not in finalizers:
        doc["spec"]["finalizers"] = [*finalizers, FINALIZER]
    doc["status"] = {"phase": "Active"}


def _prepare_update(new: Doc, old: Doc, _: Context) -> None:
    keep(new["spec"], old["spec"], "finalizers")
    keep(new, old, "status")


def _validate(doc: Doc) -> Iterable[FieldError]:
    path = "spec.finalizers"
    for finalizer in doc.get("spec", {}).get("finalizers", ()):
        for problem in qualified_name(finalizer):
            yield invalid(path, finalizer, problem)
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            yield invalid(
                path,
                finalizer,
                "name is neither a standard finalizer name nor is it fully qualified",
            )


def _validate_status(new: Doc, _: Doc) -> Iterable[FieldError]:
    phase = _phase(new)
    deleting = "deletionTimestamp" in new["metadata"]
    if deleting and phase != "Terminating":
        yield invalid(
            "status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"
        )
    if not deleting and phase != "Active":
        yield invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")


_phase = text_in("status", "phase")


def _is_held(doc: Doc) -> bool:
    return bool(doc.get("spec", {}).get("finalizers"))


def _begin_deletion(doc: Doc) -> None:
    del doc["metadata"]["deletionGracePeriodSeconds"]  # namespaces have none, not even of nothing
    doc["status"] = {**doc.get("status", {}), "phase": "Terminating"}


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), _phase(doc), age_of(doc, now)]


NAMESPACE = Kind(
    group="",
    version="v1",
    kind="Namespace",
    plural="namespaces",
    message="core.v1.Namespace",
    namespaced=False,
    short_names=("ns",),
    verbs=tuple(verb for verb in READ_WRITE if verb != "deletecollection"),
    status=True,
    subresources=(Subresource("finalize", ("update",), "Namespace"),),
    columns=(NAME, Column("Status", description="Whether it is in use or going away."), AGE),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=keep_all_but_status,
    validate=_validate,
    validate_status=_validate_status,
    name_rule=dns_label,
    also_held=_is_held,
    begin_deletion=_begin_deletion,
    fields={"status.phase": _phase},
)
