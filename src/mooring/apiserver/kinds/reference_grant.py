"""ReferenceGrant: objects of one namespace that those of another may refer to (Gateway API)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import NAME
from mooring.apiserver.kinds.custom_rules import CUSTOM_AGE, custom_kind, missing
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid

MOST = 16

_FIELDS = {"from": ("group", "kind", "namespace"), "to": ("group", "kind")}


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc.get("spec")
    if spec is None:
        yield from missing(doc, "", "spec")
        return
    yield from missing(spec, "spec.", *_FIELDS)
    for field, needed in _FIELDS.items():
        entries, path = spec.get(field), f"spec.{field}"
        if entries is None:
            continue
        if not entries:
            yield invalid(path, 0, f"{path} in body should have at least 1 items")
        if len(entries) > MOST:
            text = f"Too many: {len(entries)}: must have at most {MOST} items"
            yield FieldError(path, "FieldValueTooMany", text)
        for index, entry in enumerate(entries):
            yield from missing(entry, f"{path}[{index}].", *needed)
            for name in ("kind", "namespace"):
                if name in needed and entry.get(name) == "":
                    at = f"{path}[{index}].{name}"
                    yield invalid(at, "", f"{at} in body should be at least 1 chars long")


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), age_of(doc, now)]


REFERENCE_GRANT = custom_kind(
    group="gateway.networking.k8s.io",
    version="v1beta1",
    kind="ReferenceGrant",
    plural="referencegrants",
    message="gateway.v1beta1.ReferenceGrant",
    namespaced=True,
    short_names=("refgrant",),
    categories=("gateway-api",),
    columns=(NAME, CUSTOM_AGE),
    row=_row,
    validate=_validate,
)

# The same objects, under the version of newer releases.
REFERENCE_GRANT_V1 = replace(REFERENCE_GRANT, version="v1", message="gateway.v1.ReferenceGrant")
