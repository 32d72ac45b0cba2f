"""Event (events.k8s.io/v1): the stored core events in other words, with stricter rules for writers.

Every function of this kind takes documents in its own words. `to_stored` and `from_stored` are each
other's inverse and copy no more than the outermost level.
"""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds import event
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.immutability import validate_unchanged
from mooring.apiserver.kinds.selectable import text, text_in
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required

_STORED_NAME = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_SHOWN_NAME = {stored: shown for shown, stored in _STORED_NAME.items()}
_ALWAYS_STORED = ("reportingComponent", "reportingInstance")
_FOR_OLD_REPORTERS = ("firstTimestamp", "lastTimestamp", "count")
_UNCHANGING = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
)


def to_stored(doc: Doc) -> Doc:
    """An event as it is stored, from how this kind shows it."""
    stored = {_STORED_NAME.get(field, field): value for field, value in doc.items()}
    for field in _ALWAYS_STORED:
        stored.setdefault(field, "")
    stored["apiVersion"] = event.EVENT.api_version
    return stored


def from_stored(doc: Doc) -> Doc:
    """An event as this kind shows it, from how it is stored."""
    shown = {
        _SHOWN_NAME.get(field, field): value
        for field, value in doc.items()
        if value or field not in _ALWAYS_STORED
    }
    shown["apiVersion"] = EVENT_V1.api_version
    return shown


def _defaults(doc: Doc) -> None:
    for field in ("regarding", "deprecatedSource"):
        doc.setdefault(field, {})
    for field in ("eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"):
        doc.setdefault(field, None)


def _validate(doc: Doc) -> Iterable[FieldError]:
    """Complaints, which upstream puts in the stored form's words."""
    stored = to_stored(doc)
    yield from event.validate_event(stored, "reportingController")
    yield from _validate_series(stored.get("series"))
    if not stored.get("eventTime"):
        yield required("eventTime")
    if stored.get("type") not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {stored.get('type', '')}")
    for field in _FOR_OLD_REPORTERS:
        if stored.get(field):
            yield invalid(field, "", "needs to be unset")
    source = stored.get("source", {})
    if source.get("component") or source.get("host"):
        yield invalid("source", "", "needs to be unset")


def _validate_series(series: Doc | None) -> Iterable[FieldError]:
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    """What happened once stays as it was; only the series it belongs to grows."""
    now, before = to_stored(new), to_stored(old)
    for field in _UNCHANGING:
        yield from validate_unchanged(field, now.get(field), before.get(field))
    yield from validate_unchanged(
        "reportingController", now["reportingComponent"], before["reportingComponent"]
    )
    yield from validate_unchanged(
        "reportingInstance", now["reportingInstance"], before["reportingInstance"]
    )


def _row(doc: Doc, now: str) -> list[Any]:
    return event.row(to_stored(doc), now)


EVENT_V1 = Kind(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    plural="events",
    message="events.v1.Event",
    namespaced=True,
    short_names=("ev",),
    table=event.TABLE,
    columns=event.COLUMNS,
    row=_row,
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
    fields={
        **{f"regarding.{field}": text_in("regarding", field) for field in event.FIELDS_OF_OBJECT},
        "reason": text("reason"),
        "reportingController": text("reportingController"),
        "type": text("type"),
    },
    update_creates=True,
    deleted_as_status=True,
    to_stored=to_stored,
    from_stored=from_stored,
)
