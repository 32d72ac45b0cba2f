"""SnapshotMetadataService: where the changed blocks of a driver's snapshots are asked for."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import NAME
from mooring.apiserver.kinds.custom_rules import CUSTOM_AGE, custom_kind, missing
from mooring.model.document import Doc
from mooring.model.field_error import FieldError


def _validate(doc: Doc) -> Iterable[FieldError]:
    yield from missing(doc, "", "spec")
    if "spec" in doc:
        yield from missing(doc["spec"], "spec.", "address", "audience", "caCert")


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), age_of(doc, now)]


SNAPSHOT_METADATA_SERVICE = custom_kind(
    group="cbt.storage.k8s.io",
    version="v1beta1",
    kind="SnapshotMetadataService",
    plural="snapshotmetadataservices",
    message="cbt.v1beta1.SnapshotMetadataService",
    namespaced=False,
    short_names=("sms",),
    columns=(NAME, CUSTOM_AGE),
    row=_row,
    validate=_validate,
)
