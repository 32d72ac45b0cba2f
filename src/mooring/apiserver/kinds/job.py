"""Job: runs pods until as many as wanted have succeeded."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.immutability import same, validate_unchanged
from mooring.apiserver.kinds.job_spec import default_job_spec, validate_job_spec
from mooring.apiserver.kinds.job_status import has_condition, validate_job_status
from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.workload import (
    TEMPLATE_COLUMNS,
    selector_cell,
    template_cells,
    workload_warnings,
)
from mooring.model.age import duration
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required
from mooring.model.names import dns_label
from mooring.model.selector import from_document

UID_LABEL: Final = "batch.kubernetes.io/controller-uid"
NAME_LABEL: Final = "batch.kubernetes.io/job-name"
_UID_LABELS = (UID_LABEL, "controller-uid")
_NAME_LABELS = (NAME_LABEL, "job-name")
_STATES = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
_FIXED = (
    *("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"),
)
_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")
_LABELS = "spec.template.metadata.labels"


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    default_job_spec(spec)
    labels = spec["template"].get("metadata", {}).get("labels")
    if labels and not doc.get("metadata", {}).get("labels"):
        doc.setdefault("metadata", {})["labels"] = dict(labels)


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {}
    spec, metadata = doc["spec"], doc["metadata"]
    if spec["manualSelector"]:
        return
    labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    are_shared = metadata.get("labels", {}) == labels  # the job was given none of its own
    for label in _NAME_LABELS:
        labels.setdefault(label, metadata.get("name", ""))
    for label in _UID_LABELS:
        labels.setdefault(label, metadata.get("uid", ""))
    if are_shared:
        metadata["labels"] = dict(labels)
    selector = spec.get("selector") or {}
    matched = {**(selector.get("matchLabels") or {})}
    matched.setdefault(UID_LABEL, metadata.get("uid", ""))
    spec["selector"] = {**selector, "matchLabels": matched}


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    yield from _validate_generated(doc)
    yield from validate_job_spec(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    else:
        yield from validate_label_selector(selector, "spec.selector")
    labels = spec["template"].get("metadata", {}).get("labels") or {}
    if not _matches(selector, labels):
        yield invalid(_LABELS, labels or None, "`selector` does not match template `labels`")
    yield from _validate_hostname(doc)


def _matches(selector: Doc | None, labels: Doc) -> bool:
    try:
        return from_document(selector or {}).matches(labels)
    except ValueError:
        return True  # that it is no selector is told elsewhere


def _validate_generated(doc: Doc) -> Iterable[FieldError]:
    spec, metadata = doc["spec"], doc["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    labels = spec["template"].get("metadata", {}).get("labels") or {}
    expected = dict.fromkeys(_UID_LABELS, metadata.get("uid", ""))
    expected |= dict.fromkeys(_NAME_LABELS, metadata.get("name", ""))
    for label, wanted in expected.items():
        said = labels.get(label)
        if said is None:
            yield required(_LABELS.removesuffix(".labels") + ".labels", f"must be '{wanted}'")
        elif said != wanted:
            yield invalid(_LABELS, labels, f"must be '{wanted}'")
    if not _matches(spec["selector"], expected):
        yield invalid("spec.selector", spec["selector"], "`selector` not auto-generated")


def _validate_hostname(doc: Doc) -> Iterable[FieldError]:
    spec, name = doc["spec"], doc["metadata"].get("name", "")
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        longest = f"{name}-{completions - 1}"
        if list(dns_label(longest)):
            why = f"will not able to create pod with invalid DNS label: {longest}"
            yield invalid("metadata.name", name, why)


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    spec, before = new["spec"], old["spec"]
    if not same(spec.get("completions"), before.get("completions")):
        is_elastic = (
            spec.get("completionMode") == "Indexed"
            and spec.get("completions") == spec.get("parallelism")
            and before.get("completions") == before.get("parallelism")
        )
        if not is_elastic:
            field = "spec.completions"
            yield from validate_unchanged(field, spec.get("completions"), before.get("completions"))
    yield from validate_unchanged("spec.selector", spec.get("selector"), before.get("selector"))
    yield from _validate_template(spec["template"], before["template"], old)
    for field in _FIXED:
        yield from validate_unchanged(f"spec.{field}", spec.get(field), before.get(field))


def _validate_template(template: Doc, before: Doc, old: Doc) -> Iterable[FieldError]:
    is_open = old["spec"].get("suspend") and not old.get("status", {}).get("startTime")
    if is_open:  # where its pods may go can still be chosen
        before = {**before, "spec": dict(before["spec"])}
        for field in _DIRECTIVES:
            before["spec"].pop(field, None)
            if field in template["spec"]:
                before["spec"][field] = template["spec"][field]
        if "metadata" in template:
            before["metadata"] = template["metadata"]
        wanted = (template["spec"].get("affinity") or {}).get("nodeAffinity")
        had = {**(before["spec"].get("affinity") or {}), "nodeAffinity": wanted}
        before["spec"]["affinity"] = {field: each for field, each in had.items() if each}
    yield from validate_unchanged("spec.template", template, before)


def _row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc["spec"], doc.get("status", {})
    succeeded, parallelism = status.get("succeeded", 0), spec.get("parallelism") or 0
    if (completions := spec.get("completions")) is not None:
        done = f"{succeeded}/{completions}"
    else:
        done = f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"
    return [
        name_of(doc),
        _state(doc),
        done,
        _lasted(status, now),
        age_of(doc, now),
        *template_cells(doc),
        selector_cell(spec.get("selector")),
    ]


def _state(doc: Doc) -> str:
    for state in ("Complete", "Failed"):
        if has_condition(doc, state):
            return state
    if "deletionTimestamp" in doc["metadata"]:
        return "Terminating"
    return next((state for state in _STATES if has_condition(doc, state)), "Running")


def _lasted(status: Doc, now: str) -> str:
    if not (start := status.get("startTime")):
        return ""
    end = status.get("completionTime") or now
    lasted = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return duration(lasted.total_seconds())


def _successful(doc: Doc) -> str:
    return str(doc.get("status", {}).get("succeeded", 0))


JOB = Kind(
    group="batch",
    version="v1",
    kind="Job",
    plural="jobs",
    message="batch.v1.Job",
    namespaced=True,
    categories=("all",),
    status=True,
    columns=(
        NAME,
        Column("Status"),
        Column("Completions"),
        Column("Duration"),
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
    validate_status=validate_job_status,
    warnings=workload_warnings,
    fields={"status.successful": _successful},
    generation=True,
    deleted_as_status=True,
    orphans_by_default=True,
    deletion_warning=(
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning"
    ),
)
