"""ReplicaSet: keeps a number of pods of one template running."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.immutability import validate_unchanged
from mooring.apiserver.kinds.pod.template import default_template
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.workload import (
    SCALE,
    SELECTOR,
    TEMPLATE_COLUMNS,
    not_negative,
    selector_cell,
    template_cells,
    validate_counts,
    validate_selected_template,
    validate_selector,
    workload_warnings,
)
from mooring.model.document import Doc
from mooring.model.field_error import FieldError

_COUNTS = (
    *("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    *("observedGeneration", "terminatingReplicas"),
)


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_template(spec.setdefault("template", {}))


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {"replicas": 0}


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from validate_selector(spec.get("selector"), "deployment")  # sic
    yield from validate_selected_template(spec, "ReplicaSet")


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    return validate_unchanged(SELECTOR, new["spec"].get("selector"), old["spec"].get("selector"))


def _validate_status(new: Doc, _: Doc) -> Iterable[FieldError]:
    status = new.get("status", {})
    yield from not_negative(status, "status", *_COUNTS)
    yield from validate_counts(status, "fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def _row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc["spec"], doc.get("status", {})
    return [
        name_of(doc),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age_of(doc, now),
        *template_cells(doc),
        selector_cell(spec.get("selector")),
    ]


REPLICA_SET = Kind(
    group="apps",
    version="v1",
    kind="ReplicaSet",
    plural="replicasets",
    message="apps.v1.ReplicaSet",
    namespaced=True,
    short_names=("rs",),
    categories=("all",),
    status=True,
    subresources=(SCALE,),
    columns=(
        NAME,
        Column("Desired", type="integer"),
        Column("Current", type="integer"),
        Column("Ready", type="integer"),
        AGE,
        *TEMPLATE_COLUMNS,
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    warnings=workload_warnings,
    generation=True,
    deleted_as_status=True,
)
