"""ReplicationController: keeps a number of pods of one template running."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.pod.template import default_template
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.workload import (
    SCALE,
    TEMPLATE,
    TEMPLATE_COLUMNS,
    not_negative,
    selector_cell,
    template_cells,
    validate_counts,
    validate_lasting_template,
    workload_warnings,
)
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, required
from mooring.model.selector import LabelSelector, Operator, Requirement

_COUNTS = (
    *("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    "observedGeneration",
)


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    if not (template := spec.get("template")):
        return
    default_template(template)
    if labels := template.get("metadata", {}).get("labels"):
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not doc.get("metadata", {}).get("labels"):
            doc.setdefault("metadata", {})["labels"] = dict(labels)


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {"replicas": 0}


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    yield from not_negative(spec, "spec", "minReadySeconds", "replicas")
    selector = spec.get("selector")
    if not selector:
        yield required("spec.selector")
    if (template := spec.get("template")) is None:
        yield required(TEMPLATE)
        return
    by_labels = LabelSelector(
        tuple(
            Requirement(key, Operator.EQUALS, (value,)) for key, value in (selector or {}).items()
        )
    )
    yield from validate_lasting_template(template, by_labels, "ReplicationController")


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
        selector_cell({"matchLabels": spec.get("selector", {})}),
    ]


def _replicas(doc: Doc) -> str:
    return str(doc.get("status", {}).get("replicas", 0))


REPLICATION_CONTROLLER = Kind(
    group="",
    version="v1",
    kind="ReplicationController",
    plural="replicationcontrollers",
    message="core.v1.ReplicationController",
    namespaced=True,
    short_names=("rc",),
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
    validate_status=_validate_status,
    warnings=workload_warnings,
    fields={"status.replicas": _replicas},
    generation=True,
    deleted_as_status=True,
    orphans_by_default=True,
)
