"""The status of a Job: what no writer may say of it."""

from collections.abc import Iterable

from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, required

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_TERMINAL = ("Failed", "Complete", "FailureTarget")
_CONDITIONS = "status.conditions"
_EXCLUSIVE = (
    ("Complete", "Failed", "cannot set Complete=True and Failed=true conditions"),
    ("Complete", "FailureTarget", "cannot set Complete=True and FailureTarget=true conditions"),
    (
        "SuccessCriteriaMet",
        "Failed",
        "cannot set SuccessCriteriaMet=True and Failed=true conditions",
    ),
    (
        "SuccessCriteriaMet",
        "FailureTarget",
        "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    ),
)
_PRECEDED = (
    (
        "Failed",
        "FailureTarget",
        "cannot set Failed=True condition without the FailureTarget=true condition",
    ),
    (
        "Complete",
        "SuccessCriteriaMet",
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    ),
)


def has_condition(doc: Doc, kind: str) -> bool:
    conditions = doc.get("status", {}).get("conditions") or ()
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions)


def is_finished(doc: Doc) -> bool:
    return has_condition(doc, "Complete") or has_condition(doc, "Failed")


def validate_job_status(new: Doc, old: Doc) -> Iterable[FieldError]:
    status = new.get("status", {})
    for field in _COUNTS:
        if (status.get(field) or 0) < 0:
            yield invalid(f"status.{field}", status[field], "must be greater than or equal to 0")
    yield from _validate_uncounted(status.get("uncountedTerminatedPods") or {})
    for one, other, why in _EXCLUSIVE:
        if has_condition(new, one) and has_condition(new, other):
            yield _about_conditions(why)
    for one, first, why in _PRECEDED:
        if has_condition(new, one) and not has_condition(new, first):
            yield _about_conditions(why)
    yield from _validate_times(new, old)
    if is_finished(new):
        yield from _validate_finished(status)
    ready = status.get("ready")
    if ready is not None and ready > (status.get("active") or 0):
        yield invalid("status.ready", ready, "cannot set more ready pods than active")
    yield from _validate_progress(new, old)


def _about_conditions(why: str) -> FieldError:
    return FieldError(_CONDITIONS, "FieldValueInvalid", f"Invalid value: {why}")


def _validate_uncounted(uncounted: Doc) -> Iterable[FieldError]:
    seen: set[str] = set()
    for part in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(part) or ()):
            path = f"status.uncountedTerminatedPods.{part}[{index}]"
            if not uid:
                yield invalid(path, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(path, uid)
            seen.add(uid)


def _validate_times(new: Doc, old: Doc) -> Iterable[FieldError]:
    status, before = new.get("status", {}), old.get("status", {})
    start, end = status.get("startTime"), status.get("completionTime")
    field, is_complete = "status.completionTime", has_condition(new, "Complete")
    if end and not is_complete:
        why = "cannot set completionTime when there is no Complete=True condition"
        yield invalid(field, end, why)
    if is_complete and not end:
        yield required(field, "completionTime is required for Complete jobs")
    if start and end and end < start:
        yield invalid(field, end, "must be equal to or after `startTime`")
    if end and before.get("completionTime") and end != before["completionTime"]:
        yield invalid(field, end, "field is immutable")
    began = before.get("startTime")
    if began and start != began and not new["spec"].get("suspend"):
        is_resumed = not has_condition(new, "Suspended") and has_condition(old, "Suspended")
        if not is_resumed:
            why = "field is immutable for unsuspended job once set"
            yield invalid("status.startTime", start, why)


def _validate_finished(status: Doc) -> Iterable[FieldError]:
    if status.get("active", 0) > 0:
        yield invalid("status.active", status["active"], "active>0 is invalid for finished job")
    if not status.get("startTime"):
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or {}
    if uncounted.get("succeeded") or uncounted.get("failed"):
        path = "status.uncountedTerminatedPods"
        yield invalid(path, uncounted, "must be empty for finished job")
    if (status.get("terminating") or 0) > 0:
        why = "terminating>0 is invalid for finished job"
        yield invalid("status.terminating", status["terminating"], why)


def _validate_progress(new: Doc, old: Doc) -> Iterable[FieldError]:
    status, before = new.get("status", {}), old.get("status", {})
    for kind in _TERMINAL:
        if has_condition(old, kind) and not has_condition(new, kind):
            yield _about_conditions(f"cannot disable the terminal {kind}=True condition")
    if has_condition(old, "SuccessCriteriaMet") and not has_condition(new, "SuccessCriteriaMet"):
        yield _about_conditions("cannot disable the SuccessCriteriaMet=True condition")
    if status.get("failed", 0) < before.get("failed", 0):
        why = "cannot decrease the failed counter"
        yield invalid("status.failed", status.get("failed", 0), why)
    is_elastic = new["spec"].get("completionMode") == "Indexed"
    if not is_elastic and status.get("succeeded", 0) < before.get("succeeded", 0):
        why = "cannot decrease the succeeded counter"
        yield invalid("status.succeeded", status.get("succeeded", 0), why)
