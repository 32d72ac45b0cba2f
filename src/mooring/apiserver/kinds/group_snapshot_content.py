"""VolumeGroupSnapshotContent: a group of snapshots as the driver has it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
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
from mooring.model.field_error import FieldError

_VOLUMES, _GROUP = "volumeHandles", "groupSnapshotHandles"
_REQUIRED = ("deletionPolicy", "driver", "source", "volumeGroupSnapshotRef")
_ONCE_SET = "{} is immutable once set"


def _validate(doc: Doc) -> Iterable[FieldError]:
    return schema_then_rules(_schema(doc), _rules(doc))


def _schema(doc: Doc) -> Iterable[FieldError]:
    yield from missing(doc, "", "spec")
    if "spec" not in doc:
        return
    spec = doc["spec"]
    yield from missing(spec, "spec.", *_REQUIRED)
    yield from policy_unknown(spec, "spec.")
    if (group := spec.get("source", {}).get(_GROUP)) is not None:
        yield from missing(
            group,
            "spec.source.groupSnapshotHandles.",
            "volumeGroupSnapshotHandle",
            "volumeSnapshotHandles",
        )


def _rules(doc: Doc) -> Iterator[FieldError]:
    spec = doc["spec"]
    yield from not_exactly_one(spec["source"], "spec.source", _VOLUMES, _GROUP)
    reference = spec["volumeGroupSnapshotRef"]
    if "name" not in reference or "namespace" not in reference:
        yield broken(
            "spec.volumeGroupSnapshotRef",
            reference,
            "both volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace must be set",
        )


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    now, before = new.get("spec", {}), old["spec"]
    yield from changed(
        now, before, "spec.", "driver", "volumeGroupSnapshotClassName", rule=_ONCE_SET
    )
    if "source" in now:
        source, known = now["source"], before["source"]
        yield from changed(source, known, "spec.source.", _VOLUMES, _GROUP)
        yield from taken_away(source, known, "spec.source", _VOLUMES, _GROUP)
    if "volumeGroupSnapshotRef" in now:
        yield from _other_owner(now["volumeGroupSnapshotRef"], before["volumeGroupSnapshotRef"])


def _other_owner(now: Doc, before: Doc) -> Iterable[FieldError]:
    path = "spec.volumeGroupSnapshotRef"
    if any(now.get(field) != before.get(field) for field in ("name", "namespace")):
        yield broken(
            path,
            now,
            "volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace are immutable",
        )
    if "uid" in before and now.get("uid") != before["uid"]:
        yield broken(path, now, "volumeGroupSnapshotRef.uid is immutable once set")


def _validate_status(new: Doc, old: Doc) -> Iterable[FieldError]:
    return changed(
        new.get("status", {}),
        old.get("status", {}),
        "status.",
        "volumeGroupSnapshotHandle",
        rule=_ONCE_SET,
    )


def _row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc.get("spec", {}), doc.get("status", {})
    reference = spec.get("volumeGroupSnapshotRef", {})
    return [
        name_of(doc),
        status.get("readyToUse"),
        spec.get("deletionPolicy"),
        spec.get("driver"),
        spec.get("volumeGroupSnapshotClassName"),
        reference.get("namespace"),
        reference.get("name"),
        age_of(doc, now),
    ]


GROUP_SNAPSHOT_CONTENT = custom_kind_with_status(
    group="groupsnapshot.storage.k8s.io",
    version="v1beta2",
    kind="VolumeGroupSnapshotContent",
    plural="volumegroupsnapshotcontents",
    message="groupsnapshot.v1beta2.VolumeGroupSnapshotContent",
    namespaced=False,
    short_names=("vgsc", "vgscs"),
    columns=(
        NAME,
        Column("ReadyToUse", type="boolean"),
        Column("DeletionPolicy"),
        Column("Driver"),
        Column("VolumeGroupSnapshotClass"),
        Column("VolumeGroupSnapshotNamespace"),
        Column("VolumeGroupSnapshot"),
        CUSTOM_AGE,
    ),
    row=_row,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
)

# The same objects, as snapshotters from 8.6 on ask for them.
GROUP_SNAPSHOT_CONTENT_V1 = replace(
    GROUP_SNAPSHOT_CONTENT,
    version="v1",
    message="groupsnapshot.v1.VolumeGroupSnapshotContent",
)
