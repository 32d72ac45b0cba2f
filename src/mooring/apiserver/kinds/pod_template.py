"""PodTemplate: a template kept for clients, which no controller makes pods from."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind
from mooring.apiserver.kinds.pod.template import (
    default_template,
    template_warnings,
    validate_template,
)
from mooring.apiserver.kinds.workload import template_cells
from mooring.model.document import Doc
from mooring.model.field_error import FieldError

_TEMPLATE = "template"


def _defaults(doc: Doc) -> None:
    default_template(doc.setdefault(_TEMPLATE, {}))


def _validate(doc: Doc) -> Iterable[FieldError]:
    yield from validate_template(doc[_TEMPLATE], _TEMPLATE)


def _warnings(doc: Doc) -> Iterable[str]:
    yield from template_warnings(doc[_TEMPLATE], _TEMPLATE)


def _row(doc: Doc, now: str) -> list[Any]:
    labels = (doc[_TEMPLATE].get("metadata") or {}).get("labels") or {}
    shown = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return [name_of(doc), *template_cells({"spec": doc}), shown, age_of(doc, now)]


POD_TEMPLATE = Kind(
    group="",
    version="v1",
    kind="PodTemplate",
    plural="podtemplates",
    message="core.v1.PodTemplate",
    namespaced=True,
    columns=(NAME, Column("Containers"), Column("Images"), Column("Pod Labels"), AGE),
    row=_row,
    defaults=_defaults,
    validate=_validate,
    warnings=_warnings,
    generation=True,
)
