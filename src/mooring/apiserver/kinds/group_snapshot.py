"""VolumeGroupSnapshot: a request for snapshots of several claims at one moment."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
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
from mooring.model.field_error import FieldError

_SELECTOR, _CONTENT = "selector", "volumeGroupSnapshotContentName"


def _validate(doc: Doc) -> Iterable[FieldError]:
    return schema_then_rules(_schema(doc), _rules(doc))


def _schema(doc: Doc) -> Iterable[FieldError]:
    yield from missing(doc, "", "spec")
    if "spec" not in doc:
        return
    yield from missing(doc["spec"], "spec.", "source")
    selector = doc["spec"].get("source", {}).get(_SELECTOR, {})
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        path = f"spec.source.selector.matchExpressions[{index}]."
        yield from missing(expression, path, "key", "operator")


def _rules(doc: Doc) -> Iterator[FieldError]:
    spec = doc["spec"]
    yield from not_exactly_one(spec["source"], "spec.source", _SELECTOR, _CONTENT)
    yield from empty_when_set(spec, "spec", "volumeGroupSnapshotClassName")


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    now, before = new.get("spec", {}).get("source"), old["spec"]["source"]
    if now is None:
        return
    yield from changed(now, before, "spec.source.", _SELECTOR, _CONTENT)
    yield from taken_away(now, before, "spec.source", _SELECTOR, _CONTENT)


def _validate_status(new: Doc, old: Doc) -> Iterable[FieldError]:
    return changed(
        new.get("status", {}),
        old.get("status", {}),
        "status.",
        "boundVolumeGroupSnapshotContentName",
        rule="{} is immutable once set",
    )


def _row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc.get("spec", {}), doc.get("status", {})
    return [
        name_of(doc),
        status.get("readyToUse"),
        spec.get("volumeGroupSnapshotClassName"),
        status.get("boundVolumeGroupSnapshotContentName"),
        date_cell(status.get("creationTime"), now),
        age_of(doc, now),
    ]


GROUP_SNAPSHOT = custom_kind_with_status(
    group="groupsnapshot.storage.k8s.io",
    version="v1beta2",
    kind="VolumeGroupSnapshot",
    plural="volumegroupsnapshots",
    message="groupsnapshot.v1beta2.VolumeGroupSnapshot",
    namespaced=True,
    short_names=("vgs",),
    columns=(
        NAME,
        Column("ReadyToUse", type="boolean"),
        Column("VolumeGroupSnapshotClass"),
        Column("VolumeGroupSnapshotContent"),
        Column("CreationTime", type="date"),
        CUSTOM_AGE,
    ),
    row=_row,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
)

# The same objects, as snapshotters from 8.6 on ask for them.
GROUP_SNAPSHOT_V1 = replace(
    GROUP_SNAPSHOT, version="v1", message="groupsnapshot.v1.VolumeGroupSnapshot"
)
