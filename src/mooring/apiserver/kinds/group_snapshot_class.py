"""VolumeGroupSnapshotClass: the driver of group snapshots, and their deletion policy."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import NAME, Column
from mooring.apiserver.kinds.custom_rules import (
    CUSTOM_AGE,
    changed,
    custom_kind,
    missing,
    policy_unknown,
    schema_then_rules,
)
from mooring.model.document import Doc
from mooring.model.field_error import FieldError


def _validate(doc: Doc) -> Iterable[FieldError]:
    return schema_then_rules(_schema(doc), iter(()))


def _schema(doc: Doc) -> Iterable[FieldError]:
    yield from missing(doc, "", "deletionPolicy", "driver")
    yield from policy_unknown(doc, "")


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    yield from changed(new, old, "", "deletionPolicy", "driver", rule="{} is immutable once set")
    yield from changed(new, old, "", "parameters", rule="{} are immutable once set")


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), doc.get("driver"), doc.get("deletionPolicy"), age_of(doc, now)]


GROUP_SNAPSHOT_CLASS = custom_kind(
    group="groupsnapshot.storage.k8s.io",
    version="v1beta2",
    kind="VolumeGroupSnapshotClass",
    plural="volumegroupsnapshotclasses",
    message="groupsnapshot.v1beta2.VolumeGroupSnapshotClass",
    namespaced=False,
    short_names=("vgsclass", "vgsclasses"),
    columns=(NAME, Column("Driver"), Column("DeletionPolicy"), CUSTOM_AGE),
    row=_row,
    validate=_validate,
    validate_update=_validate_update,
)

# The same objects, as snapshotters from 8.6 on ask for them.
GROUP_SNAPSHOT_CLASS_V1 = replace(
    GROUP_SNAPSHOT_CLASS, version="v1", message="groupsnapshot.v1.VolumeGroupSnapshotClass"
)
