"""Event (core v1): what happened to an object. Stored so; events.k8s.io is a view on it."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import name_of
from mooring.apiserver.kinds.contract import Column, Kind
from mooring.apiserver.kinds.selectable import text, text_in
from mooring.model.age import age
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required
from mooring.model.names import path_segment, qualified_name

TABLE = "events"

# In characters, for events that carry an eventTime: those are written by newer reporters.
MOST_REASON = 128
MOST_ACTION = 128
MOST_REPORTING_INSTANCE = 128
MOST_MESSAGE = 1024

FIELDS_OF_OBJECT = (
    "kind",
    "namespace",
    "name",
    "uid",
    "apiVersion",
    "resourceVersion",
    "fieldPath",
)

COLUMNS = (
    Column("Last Seen", description="When it happened last."),
    Column("Type", description="Normal or Warning."),
    Column("Reason", description="Why it happened, in one word."),
    Column("Object", description="To whom it happened."),
    Column("Subobject", description="To which part of it.", wide=True),
    Column("Source", description="Who reported it.", wide=True),
    Column("Message", description="What happened."),
    Column("First Seen", description="When it happened first.", wide=True),
    Column("Count", description="How often it happened.", wide=True),
    Column("Name", format="name", description="The name of the event itself.", wide=True),
)


def _defaults(doc: Doc) -> None:
    """Unknown times are shown as null, and `source` and `reportingComponent` always exist."""
    for field in ("involvedObject", "source"):
        doc.setdefault(field, {})
    for field in ("firstTimestamp", "lastTimestamp", "eventTime"):
        doc.setdefault(field, None)
    for field in ("reportingComponent", "reportingInstance"):
        doc.setdefault(field, "")


def _validate(doc: Doc) -> Iterable[FieldError]:
    return validate_event(doc, "reportingComponent")


def validate_event(doc: Doc, reporter_field: str) -> Iterable[FieldError]:
    """Complaints about an event in stored form; the two views call its reporter differently."""
    if doc.get("eventTime"):
        yield from _validate_new_style(doc, reporter_field)
        return
    namespace = doc.get("metadata", {}).get("namespace", "")
    involved = doc.get("involvedObject", {}).get("namespace", "")
    # Events about cluster-wide objects live in `default`, for want of a namespace of their own.
    if namespace != involved and not (not involved and namespace == "default"):
        yield _wrong_namespace(involved)


def _validate_new_style(doc: Doc, reporter_field: str) -> Iterable[FieldError]:
    namespace = doc.get("metadata", {}).get("namespace", "")
    involved = doc.get("involvedObject", {}).get("namespace", "")
    if not involved and namespace not in ("default", "kube-system"):
        yield _wrong_namespace(involved)
    reporter = doc.get("reportingComponent", "")
    if not reporter:
        yield required(reporter_field)
    for problem in qualified_name(reporter):
        yield invalid(reporter_field, reporter, problem)
    for field, most in (
        ("reportingInstance", MOST_REPORTING_INSTANCE),
        ("action", MOST_ACTION),
        ("reason", MOST_REASON),
    ):
        if not doc.get(field):
            yield required(field)
        yield from _validate_length(field, doc.get(field, ""), most)
    yield from _validate_length("message", doc.get("message", ""), MOST_MESSAGE)


def _validate_length(field: str, value: str, most: int) -> Iterable[FieldError]:
    if len(value.encode()) > most:
        yield invalid(field, "", f"can have at most {most} characters")


def _wrong_namespace(involved: str) -> FieldError:
    return invalid("involvedObject.namespace", involved, "does not match event.namespace")


def row(doc: Doc, now: str) -> list[Any]:
    """The cells of an event in stored form."""
    involved = doc.get("involvedObject", {})
    kind = involved.get("kind", "").lower()
    series = doc.get("series")
    first = _since(doc.get("firstTimestamp") or doc.get("eventTime"), now)
    last = _since(doc["lastTimestamp"], now) if doc.get("lastTimestamp") else first
    if series:
        last = _since(series.get("lastObservedTime"), now)
    count = series.get("count", 0) if series else doc.get("count") or 1
    return [
        last,
        doc.get("type", ""),
        doc.get("reason", ""),
        f"{kind}/{involved['name']}" if involved.get("name") else kind,
        involved.get("fieldPath", ""),
        _reporter(doc),
        doc.get("message", "").strip(),
        first,
        count,
        name_of(doc),
    ]


def _since(moment: str | None, now: str) -> str:
    return age(moment or "", now)


def _component(doc: Doc) -> str:
    component: str = doc.get("source", {}).get("component") or doc.get("reportingComponent", "")
    return component


def _reporter(doc: Doc) -> str:
    host = doc.get("source", {}).get("host") or doc.get("reportingInstance")
    return f"{_component(doc)}, {host}" if host else _component(doc)


EVENT = Kind(
    group="",
    version="v1",
    kind="Event",
    plural="events",
    message="core.v1.Event",
    namespaced=True,
    short_names=("ev",),
    table=TABLE,
    columns=COLUMNS,
    row=row,
    defaults=_defaults,
    validate=_validate,
    name_rule=path_segment,
    fields={
        **{
            f"involvedObject.{field}": text_in("involvedObject", field)
            for field in FIELDS_OF_OBJECT
        },
        "reason": text("reason"),
        "reportingComponent": text("reportingComponent"),
        "source": _component,
        "type": text("type"),
    },
    update_creates=True,
    deleted_as_status=True,
)
