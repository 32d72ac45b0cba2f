"""VolumePopulator: a kind of objects that a populator fills volumes from."""

import json
from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import name_of
from mooring.apiserver.kinds.contract import NAME, Column
from mooring.apiserver.kinds.custom_rules import custom_kind, missing
from mooring.model.document import Doc
from mooring.model.field_error import FieldError


def _validate(doc: Doc) -> Iterable[FieldError]:
    yield from missing(doc, "", "sourceKind")
    if "sourceKind" in doc:
        yield from missing(doc["sourceKind"], "sourceKind.", "group", "kind")


def _row(doc: Doc, _: str) -> list[Any]:
    return [name_of(doc), json.dumps(doc.get("sourceKind"), separators=(",", ":"))]


VOLUME_POPULATOR = custom_kind(
    group="populator.storage.k8s.io",
    version="v1beta1",
    kind="VolumePopulator",
    plural="volumepopulators",
    message="populator.v1beta1.VolumePopulator",
    namespaced=False,
    columns=(NAME, Column("SourceKind")),
    row=_row,
    validate=_validate,
)
