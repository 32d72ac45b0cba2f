"""VolumeSnapshotContent: a snapshot as the driver has it."""

from collections.abc import Iterable, Iterator
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import NAME, Column
from mooring.apiserver.kinds.custom_rules import (
    CUSTOM_AGE,
    broken,
    changed,
    custom_kind_with_status,
    missing,
    not_exactly_one,
    policy_unknown,
    schema_then_rules,
    taken_away,
)
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid

_VOLUME, _SNAPSHOT = "volumeHandle", "snapshotHandle"
_REQUIRED = ("deletionPolicy", "driver", "source", "volumeSnapshotRef")


def _validate(doc: Doc) -> Iterable[FieldError]:
    return schema_then_rules(_schema(doc), _rules(doc))


def _schema(doc: Doc) -> Iterable[FieldError]:
    yield from missing(doc, "", "spec")
    if "spec" in doc:
        yield from missing(doc["spec"], "spec.", *_REQUIRED)
        yield from policy_unknown(doc["spec"], "spec.")


def _rules(doc: Doc) -> Iterator[FieldError]:
    spec = doc["spec"]
    yield from not_exactly_one(spec["source"], "spec.source", _VOLUME, _SNAPSHOT)
    reference = spec["volumeSnapshotRef"]
    if "name" not in reference or "namespace" not in reference:
        yield broken(
            "spec.volumeSnapshotRef",
            reference,
            "both spec.volumeSnapshotRef.name and spec.volumeSnapshotRef.namespace must be set",
        )


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    now, before = new.get("spec", {}), old["spec"]
    yield from taken_away(now, before, "spec", "sourceVolumeMode")
    yield from changed(now, before, "spec.", "sourceVolumeMode")
    if "source" in now:
        source, known = now["source"], before["source"]
        yield from changed(source, known, "spec.source.", _VOLUME, _SNAPSHOT)
        yield from taken_away(source, known, "spec.source", _VOLUME, _SNAPSHOT)


def _validate_status(new: Doc, _: Doc) -> Iterable[FieldError]:
    size = new.get("status", {}).get("restoreSize", 0)
    if size < 0:
        field = "status.restoreSize"
        yield invalid(field, size, f"{field} in body should be greater than or equal to 0")


def _row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc.get("spec", {}), doc.get("status", {})
    reference = spec.get("volumeSnapshotRef", {})
    return [
        name_of(doc),
        status.get("readyToUse"),
        status.get("restoreSize"),
        spec.get("deletionPolicy"),
        spec.get("driver"),
        spec.get("volumeSnapshotClassName"),
        reference.get("name"),
        reference.get("namespace"),
        age_of(doc, now),
    ]


SNAPSHOT_CONTENT = custom_kind_with_status(
    group="snapshot.storage.k8s.io",
    version="v1",
    kind="VolumeSnapshotContent",
    plural="volumesnapshotcontents",
    message="snapshot.v1.VolumeSnapshotContent",
    namespaced=False,
    short_names=("vsc", "vscs"),
    columns=(
        NAME,
        Column("ReadyToUse", type="boolean"),
        Column("RestoreSize", type="integer"),
        Column("DeletionPolicy"),
        Column("Driver"),
        Column("VolumeSnapshotClass"),
        Column("VolumeSnapshot"),
        Column("VolumeSnapshotNamespace"),
        CUSTOM_AGE,
    ),
    row=_row,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
)
