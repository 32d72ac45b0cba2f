"""StorageClass: a class of storage, and its provisioner."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind, Row
from mooring.apiserver.kinds.immutability import IMMUTABLE, same, validate_unchanged
from mooring.apiserver.kinds.node_affinity import deprecated_label
from mooring.apiserver.kinds.parameters import validate_parameters
from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.model.names import qualified_name

DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)

_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")


def is_default(doc: Doc) -> bool:
    """Whether claims that name no class get this one."""
    annotations = doc["metadata"].get("annotations") or {}
    return any(annotations.get(key) == "true" for key in DEFAULT_ANNOTATIONS)


def _defaults(doc: Doc) -> None:
    doc.setdefault("reclaimPolicy", "Delete")
    doc.setdefault("volumeBindingMode", "Immediate")


def _validate(doc: Doc) -> Iterable[FieldError]:
    yield from validate_provisioner(doc.get("provisioner", ""), "provisioner")
    yield from validate_parameters(doc.get("parameters") or {}, "parameters")
    if (policy := doc["reclaimPolicy"]) and policy not in _POLICIES:
        yield not_supported("reclaimPolicy", policy, _POLICIES)
    if (mode := doc["volumeBindingMode"]) not in _BINDING_MODES:
        yield not_supported("volumeBindingMode", mode, _BINDING_MODES)
    yield from _validate_topologies(doc.get("allowedTopologies") or ())


def validate_provisioner(name: str, field: str) -> Iterable[FieldError]:
    if not name:
        yield required(field)
        return
    lower = name.lower()
    for problem in qualified_name(lower):
        yield invalid(field, lower, problem)


def _validate_topologies(terms: Iterable[Doc]) -> Iterable[FieldError]:
    # a term that says nothing is no term
    seen: set[frozenset[tuple[str, frozenset[str]]]] = {frozenset()}
    for index, term in enumerate(terms):
        path = f"allowedTopologies[{index}].matchLabelExpressions"
        allowed: dict[str, frozenset[str]] = {}
        for position, expression in enumerate(term.get("matchLabelExpressions") or ()):
            key, values = expression.get("key", ""), expression.get("values") or []
            yield from _validate_expression(key, values, f"{path}[{position}]")
            if key in allowed:
                yield duplicate(f"{path}[{position}].key", key)
            allowed[key] = frozenset(values)
        words = frozenset(allowed.items())
        if words in seen:
            yield duplicate(path, "")
        seen.add(words)


def _validate_expression(key: str, values: list[str], path: str) -> Iterable[FieldError]:
    if not values:
        yield required(f"{path}.values")
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield duplicate(f"{path}.values[{index}]", value)
        seen.add(value)
    for problem in qualified_name(key):
        yield invalid(f"{path}.key", key, problem)


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        if not same(new.get(field), old.get(field)):
            yield invalid(field, None, IMMUTABLE)


def _validate_update_before(new: Doc, old: Doc) -> Iterable[FieldError]:
    for field in ("parameters", "provisioner", "reclaimPolicy"):
        if not same(new.get(field), old.get(field)):
            yield forbidden(field, f"updates to {field} are forbidden.")
    field = "volumeBindingMode"
    yield from validate_unchanged(field, new.get(field), old.get(field))


def _warnings(doc: Doc) -> Iterable[str]:
    for index, term in enumerate(doc.get("allowedTopologies") or ()):
        for position, expression in enumerate(term.get("matchLabelExpressions") or ()):
            if word := deprecated_label(expression.get("key", "")):
                path = f"allowedTopologies[{index}].matchLabelExpressions[{position}]"
                yield f"{path}.key: {word}"


def _row(doc: Doc, now: str) -> list[Any]:
    return _cells(doc, now, is_marked=False)


def _row_before(doc: Doc, now: str) -> list[Any]:
    return _cells(doc, now, is_marked=is_default(doc))


def _list_row(docs: Sequence[Doc]) -> Row:
    """Of several defaults the newest is the one that counts, and is marked; then the first name."""
    newest = ""
    defaults = sorted(filter(is_default, docs), key=name_of)
    if defaults:
        newest = name_of(max(defaults, key=lambda doc: doc["metadata"]["creationTimestamp"]))
    return lambda doc, now: _cells(doc, now, is_marked=name_of(doc) == newest)


def _cells(doc: Doc, now: str, *, is_marked: bool) -> list[Any]:
    return [
        f"{name_of(doc)} (default)" if is_marked else name_of(doc),
        doc.get("provisioner", ""),
        doc.get("reclaimPolicy", "Delete"),
        doc.get("volumeBindingMode", "Immediate"),
        doc.get("allowVolumeExpansion", False),
        age_of(doc, now),
    ]


STORAGE_CLASS = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="StorageClass",
    plural="storageclasses",
    message="storage.v1.StorageClass",
    namespaced=False,
    short_names=("sc",),
    columns=(
        NAME,
        Column("Provisioner"),
        Column("ReclaimPolicy"),
        Column("VolumeBindingMode"),
        Column("AllowVolumeExpansion"),
        AGE,
    ),
    row=_row,
    list_row=_list_row,
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
    warnings=_warnings,
)

STORAGE_CLASS_BEFORE = replace(
    STORAGE_CLASS, row=_row_before, list_row=None, validate_update=_validate_update_before
)
