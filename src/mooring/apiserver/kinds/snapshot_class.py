"""VolumeSnapshotClass: the driver of snapshots, and their deletion policy."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import NAME, Column
from mooring.apiserver.kinds.custom_rules import (
    CUSTOM_AGE,
    custom_kind,
    missing,
    policy_unknown,
)
from mooring.model.document import Doc
from mooring.model.field_error import FieldError


def _validate(doc: Doc) -> Iterable[FieldError]:
    yield from missing(doc, "", "deletionPolicy", "driver")
    yield from policy_unknown(doc, "")


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), doc.get("driver"), doc.get("deletionPolicy"), age_of(doc, now)]


SNAPSHOT_CLASS = custom_kind(
    group="snapshot.storage.k8s.io",
    version="v1",
    kind="VolumeSnapshotClass",
    plural="volumesnapshotclasses",
    message="snapshot.v1.VolumeSnapshotClass",
    namespaced=False,
    short_names=("vsclass", "vsclasses"),
    columns=(NAME, Column("Driver"), Column("DeletionPolicy"), CUSTOM_AGE),
    row=_row,
    validate=_validate,
)
