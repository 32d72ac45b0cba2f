"""VolumeSnapshot: the request for a snapshot of a claim, and its status."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import NAME, Column
from mooring.apiserver.kinds.custom_rules import (
    CUSTOM_AGE,
    changed,
    custom_kind_with_status,
    date_cell,
    empty_when_set,
    missing,
    not_exactly_one,
    schema_then_rules,
    taken_away,
)
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid

_CLAIM, _CONTENT = "persistentVolumeClaimName", "volumeSnapshotContentName"
_AMOUNT = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_is_amount = re.compile(_AMOUNT).search


def _validate(doc: Doc) -> Iterable[FieldError]:
    return schema_then_rules(_schema(doc), _rules(doc))


def _schema(doc: Doc) -> Iterable[FieldError]:
    yield from missing(doc, "", "spec")
    if "spec" in doc:
        yield from missing(doc["spec"], "spec.", "source")


def _rules(doc: Doc) -> Iterator[FieldError]:
    spec = doc["spec"]
    yield from not_exactly_one(spec["source"], "spec.source", _CONTENT, _CLAIM)
    yield from empty_when_set(spec, "spec", "volumeSnapshotClassName")


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    now, before = new.get("spec", {}).get("source"), old["spec"]["source"]
    if now is None:
        return
    yield from changed(now, before, "spec.source.", _CLAIM, _CONTENT)
    yield from taken_away(now, before, "spec.source", _CLAIM, _CONTENT)


def _validate_status(new: Doc, _: Doc) -> Iterable[FieldError]:
    size = new.get("status", {}).get("restoreSize")
    if isinstance(size, str) and not _is_amount(size):
        field = "status.restoreSize"
        yield invalid(field, size, f"{field} in body should match '{_AMOUNT}'")


def _row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc.get("spec", {}), doc.get("status", {})
    source = spec.get("source", {})
    return [
        name_of(doc),
        status.get("readyToUse"),
        source.get(_CLAIM),
        source.get(_CONTENT),
        status.get("restoreSize"),
        spec.get("volumeSnapshotClassName"),
        status.get("boundVolumeSnapshotContentName"),
        date_cell(status.get("creationTime"), now),
        age_of(doc, now),
    ]


SNAPSHOT = custom_kind_with_status(
    group="snapshot.storage.k8s.io",
    version="v1",
    kind="VolumeSnapshot",
    plural="volumesnapshots",
    message="snapshot.v1.VolumeSnapshot",
    namespaced=True,
    short_names=("vs",),
    columns=(
        NAME,
        Column("ReadyToUse", type="boolean"),
        Column("SourcePVC"),
        Column("SourceSnapshotContent"),
        Column("RestoreSize"),
        Column("SnapshotClass"),
        Column("SnapshotContent"),
        Column("CreationTime", type="date"),
        CUSTOM_AGE,
    ),
    row=_row,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
)
