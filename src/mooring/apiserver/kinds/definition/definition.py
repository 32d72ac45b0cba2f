"""CustomResourceDefinition: a kind that its author defines. `apiserver/custom/` serves it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from mooring.apiserver.kinds.cells import name_of
from mooring.apiserver.kinds.contract import NAME, Column, Context, Kind
from mooring.apiserver.kinds.definition.approval import validate_approval
from mooring.apiserver.kinds.definition.conditions import (
    ESTABLISHED,
    TERMINATING,
    condition,
    conditions,
    is_true,
    with_conditions,
)
from mooring.apiserver.kinds.definition.conversion import NONE, validate_bundle, validate_conversion
from mooring.apiserver.kinds.definition.names import (
    validate_group,
    validate_names,
    validate_required_names,
)
from mooring.apiserver.kinds.definition.schemas import schema_warnings, validate_schemas
from mooring.apiserver.kinds.definition.selectable_fields import validate_selectable_fields
from mooring.apiserver.kinds.definition.stored_versions import after, validate_stored_versions
from mooring.apiserver.kinds.definition.versions import (
    validate_columns,
    validate_kept,
    validate_scope,
    validate_subresources,
    validate_versions,
)
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.model.document import Doc
from mooring.model.field_error import FieldError

GROUP = "apiextensions.k8s.io"
PLURAL = "customresourcedefinitions"
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_WEBHOOK_PORT = 443


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    names = spec.setdefault("names", {})
    if kind := names.get("kind"):
        if not names.get("singular"):
            names["singular"] = kind.lower()
        if not names.get("listKind"):
            names["listKind"] = f"{kind}List"
    conversion = spec.setdefault("conversion", {})
    if not conversion.get("strategy"):
        conversion["strategy"] = NONE
    config = (conversion.get("webhook") or {}).get("clientConfig") or {}
    if "service" in config:
        config["service"].setdefault("port", _WEBHOOK_PORT)


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": after(doc["spec"], ()),
    }


def _prepare_update(new: Doc, old: Doc, context: Context) -> None:
    keep_status(new, old, context)
    status = new.get("status") or {}
    stored = status.get("storedVersions") or []
    new["status"] = {**status, "storedVersions": after(new["spec"], stored)}


def _spec_problems(doc: Doc) -> Iterator[FieldError]:
    spec = doc["spec"]
    yield from validate_group(doc)
    yield from validate_scope(spec)
    yield from validate_versions(spec)
    names = spec.get("names", {})
    yield from validate_required_names(names, "spec.names")
    yield from validate_names(names, "spec.names")
    yield from validate_columns(spec)
    yield from validate_subresources(spec)
    yield from validate_conversion(spec["conversion"])


def _validate(doc: Doc) -> Iterable[FieldError]:
    return chain(
        _spec_problems(doc),
        validate_selectable_fields(doc["spec"]),
        validate_schemas(doc["spec"], None),
        validate_stored_versions(doc),
        validate_approval(doc),
    )


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    spec, before = new["spec"], old["spec"]
    yield from _spec_problems(new)
    if _selectable(spec) != _selectable(before):
        yield from validate_selectable_fields(spec)
    yield from validate_schemas(spec, before)
    is_established = is_true(old, ESTABLISHED)
    yield from validate_kept(spec, before, is_established=is_established)
    if is_established:
        yield from validate_bundle(spec["conversion"], before.get("conversion") or {})
    yield from validate_stored_versions(new)
    yield from validate_approval(new, old)


def _selectable(spec: Doc) -> list[Any]:
    return [version.get("selectableFields") for version in spec.get("versions") or ()]


def _validate_status(new: Doc, _: Doc) -> Iterable[FieldError]:
    accepted = (new.get("status") or {}).get("acceptedNames") or {}
    yield from validate_names(accepted, "status.acceptedNames")
    yield from validate_stored_versions(new)


def _warnings(doc: Doc) -> Iterable[str]:
    return schema_warnings(doc["spec"], None)


def _update_warnings(new: Doc, old: Doc) -> Iterable[str]:
    return schema_warnings(new["spec"], old["spec"])


def _is_kept(doc: Doc) -> bool:
    """A deletion always begins with a mark: the objects of the kind go first."""
    return "deletionTimestamp" not in doc["metadata"]


def _begin_deletion(doc: Doc) -> None:
    metadata = doc["metadata"]
    finalizers = metadata.setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)
    pending = condition(
        TERMINATING,
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    )
    status = doc.setdefault("status", {})
    now = metadata["deletionTimestamp"]
    status["conditions"] = with_conditions(conditions(doc), [pending], now)


def _row_before(doc: Doc, _: str) -> list[Any]:
    return [name_of(doc), doc["metadata"].get("creationTimestamp", "")]


def _row(doc: Doc, _: str) -> list[Any]:
    spec = doc["spec"]
    served = (version for version in spec["versions"] if version["served"])
    labels = (f"{one['name']}(storage)" if one["storage"] else one["name"] for one in served)
    return [
        name_of(doc),
        spec["scope"],
        ",".join(sorted(labels)),
        doc["metadata"].get("creationTimestamp", ""),
        spec["group"],
        spec["names"]["kind"],
        ",".join(spec["names"].get("shortNames") or ()),
        is_true(doc, ESTABLISHED),
    ]


DEFINITION = Kind(
    group=GROUP,
    version="v1",
    kind="CustomResourceDefinition",
    plural=PLURAL,
    message="apiextensions.v1.CustomResourceDefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    status=True,
    columns=(
        NAME,
        Column("Scope"),
        Column("Versions"),
        Column("Created At", type="date"),
        Column("Group", wide=True),
        Column("Kind", wide=True),
        Column("ShortNames", wide=True),
        Column("Established", type="boolean", wide=True),
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=keep_all_but_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    warnings=_warnings,
    update_warnings=_update_warnings,
    generation=True,
    update_needs_version=True,
    judges_update_whole=True,
    also_held=_is_kept,
    begin_deletion=_begin_deletion,
)

DEFINITION_BEFORE = replace(
    DEFINITION, columns=(NAME, Column("Created At", type="date")), row=_row_before
)
