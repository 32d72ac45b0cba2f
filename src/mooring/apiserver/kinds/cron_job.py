"""CronJob: makes jobs by the clock."""

import re
from collections.abc import Iterable
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mooring.apiserver.kinds.cells import NONE, age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.job_spec import default_job_spec, validate_job_spec
from mooring.apiserver.kinds.metadata import validate_annotations, validate_labels
from mooring.apiserver.kinds.pod.template import template_warnings
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.workload import TEMPLATE_COLUMNS, selector_cell, template_cells
from mooring.model import cron
from mooring.model.age import age
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported, required
from mooring.model.names import dns_subdomain

_POLICIES = ("Allow", "Forbid", "Replace")
_LONGEST_NAME = 52  # so that the names of its jobs are short enough
_JOB = "spec.jobTemplate"
_zone_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}", re.ASCII).fullmatch
_COUNTS = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    template = spec.setdefault("jobTemplate", {})
    job = template.setdefault("spec", {})
    is_said = job.get("manualSelector") is not None
    default_job_spec(job)
    if not is_said:
        job.pop("manualSelector")  # each job gets its own


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {}


def _validate(doc: Doc) -> Iterable[FieldError]:
    name, spec = doc["metadata"].get("name", ""), doc["spec"]
    if len(name) > _LONGEST_NAME:
        yield invalid("metadata.name", name, f"must be no more than {_LONGEST_NAME} characters")
    if not (schedule := spec.get("schedule")):
        yield required("spec.schedule")
    else:
        yield from _validate_schedule(schedule)
    for field in _COUNTS:
        if (number := spec.get(field)) is not None and number < 0:
            yield invalid(f"spec.{field}", number, "must be greater than or equal to 0")
    if (zone := spec.get("timeZone")) is not None:
        yield from _validate_zone(zone, "spec.timeZone")
    if (policy := spec["concurrencyPolicy"]) not in _POLICIES:
        yield not_supported("spec.concurrencyPolicy", policy, _POLICIES)
    yield from _validate_job(spec["jobTemplate"])


def _validate_schedule(schedule: str) -> Iterable[FieldError]:
    try:
        cron.parse(schedule.partition(" ")[2] if "TZ" in schedule else schedule)
    except ValueError as error:
        yield invalid("spec.schedule", schedule, str(error))
    if "TZ" in schedule:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid("spec.schedule", schedule, why)


def _validate_zone(zone: str, path: str) -> Iterable[FieldError]:
    if not zone:
        yield invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _zone_part(part):
            yield invalid(path, zone, f"unknown time zone {zone}")
            return
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid(path, zone, why)
        return
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        yield invalid(path, zone, f"unknown time zone {zone}")


def _validate_job(template: Doc) -> Iterable[FieldError]:
    metadata, spec = template.get("metadata", {}), template["spec"]
    yield from validate_labels(metadata.get("labels", {}), f"{_JOB}.labels")
    yield from validate_annotations(metadata.get("annotations", {}), f"{_JOB}.annotations")
    yield from validate_job_spec(spec, f"{_JOB}.spec")
    if spec.get("manualSelector"):
        why = 'Unsupported value: true: supported values: "nil", "false"'
        yield FieldError(f"{_JOB}.spec.manualSelector", "FieldValueNotSupported", why)
    if spec.get("selector") is not None:
        why = "Invalid value: " + "`selector` will be auto-generated"
        yield FieldError(f"{_JOB}.spec.selector", "FieldValueInvalid", why)


def _warnings(doc: Doc) -> Iterable[str]:
    if problems := list(dns_subdomain(doc["metadata"].get("name", ""))):
        yield f"metadata.name: {' '.join(problems)}"
    template = doc["spec"]["jobTemplate"]["spec"]["template"]
    yield from template_warnings(template, f"{_JOB}.spec.template")


def _row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc["spec"], doc.get("status", {})
    job = spec.get("jobTemplate", {}).get("spec", {})
    last = status.get("lastScheduleTime")
    return [
        name_of(doc),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        "True" if spec.get("suspend") else "False",
        len(status.get("active") or ()),
        age(last, now) if last else NONE,
        age_of(doc, now),
        *template_cells({"spec": job}),
        selector_cell(job.get("selector")),
    ]


CRON_JOB = Kind(
    group="batch",
    version="v1",
    kind="CronJob",
    plural="cronjobs",
    message="batch.v1.CronJob",
    namespaced=True,
    short_names=("cj",),
    categories=("all",),
    status=True,
    columns=(
        NAME,
        Column("Schedule"),
        Column("Timezone"),
        Column("Suspend", type="boolean"),
        Column("Active", type="integer"),
        Column("Last Schedule"),
        AGE,
        *TEMPLATE_COLUMNS,
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
    validate=_validate,
    warnings=_warnings,
    generation=True,
    deleted_as_status=True,
)
