"""StorageVersionMigration: all objects of a resource written anew, so that an older version can go.

Of Kubernetes 1.37 (v1); `lifecycle/storage_migration/` carries it out.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from mooring.apiserver.kinds.cells import name_of
from mooring.apiserver.kinds.contract import Column, Context, Kind
from mooring.apiserver.kinds.immutability import IMMUTABLE, validate_unchanged
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
)
from mooring.model.names import dns_1035_label, dns_subdomain, qualified_name

GROUP: Final = "storagemigration.k8s.io"
RUNNING, SUCCEEDED, FAILED = "Running", "Succeeded", "Failed"
STATUSES = ("False", "True", "Unknown")
LONGEST_REASON, LONGEST_MESSAGE = 1024, 32 * 1024
_VERSION = re.compile(r"[1-9][0-9]*", re.ASCII)
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_NO_REASON = (
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. "
    "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex "
    "used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)


def conditions_of(migration: Doc) -> Sequence[Doc]:
    return (migration.get("status") or {}).get("conditions") or ()


def is_true(migration: Doc, condition: str) -> bool:
    return any(
        each.get("type") == condition and each.get("status") == "True"
        for each in conditions_of(migration)
    )


def _validate(doc: Doc) -> Iterable[FieldError]:
    resource, path = doc["spec"]["resource"], "spec.resource"
    name, group = resource.get("resource", ""), resource.get("group", "")
    if not name:
        yield required(f"{path}.resource", "resource is required to be set")
    elif problems := list(dns_1035_label(name)):
        yield invalid(f"{path}.resource", name, ",".join(problems))
    if group and (problems := list(dns_subdomain(group))):
        yield invalid(f"{path}.group", group, ",".join(problems))


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    yield from validate_unchanged("spec", new["spec"], old["spec"])


def _validate_status(new: Doc, old: Doc) -> Iterable[FieldError]:
    path, version = "status.resourceVersion", _version(new)
    if version and not _VERSION.fullmatch(version):
        yield invalid(path, version, f"resource version is not well formed: {version}")
    yield from _validate_conditions(conditions_of(new), "status.conditions")
    if _version(old) and version != _version(old):
        yield invalid(path, version, IMMUTABLE)
    shown = list(conditions_of(new))
    if is_true(new, SUCCEEDED) and is_true(new, FAILED):
        told = "Both success and failed conditions cannot be true at the same time"
        yield invalid("status.conditions", shown, told)
    for condition, word in ((SUCCEEDED, "Success"), (FAILED, "Failed")):
        if is_true(old, condition) and not is_true(new, condition):
            told = f"{word} condition cannot be set to false once it is true"
            yield invalid("status.conditions", shown, told)


def _version(doc: Doc) -> str:
    return str((doc.get("status") or {}).get("resourceVersion", ""))


def _validate_conditions(conditions: Sequence[Doc], path: str) -> Iterable[FieldError]:
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        at, kind = f"{path}[{index}]", condition.get("type", "")
        if kind in seen:
            yield duplicate(at, kind)
        seen.add(kind)
        yield from _validate_condition(condition, at)


def _validate_condition(condition: Doc, path: str) -> Iterable[FieldError]:
    kind, status = condition.get("type", ""), condition.get("status", "")
    if not kind:
        yield required(f"{path}.type", "is required")
    for problem in qualified_name(kind) if kind else ():
        yield invalid(f"{path}.type", kind, problem)
    if not status:
        yield required(f"{path}.status")
    elif status not in STATUSES:
        yield not_supported(f"{path}.status", status, STATUSES)
    if (generation := condition.get("observedGeneration", 0)) < 0:
        told = "must be greater than or equal to zero"
        yield invalid(f"{path}.observedGeneration", generation, told)
    if not condition.get("lastTransitionTime"):
        yield required(f"{path}.lastTransitionTime")
    reason = condition.get("reason", "")
    if not reason:
        yield required(f"{path}.reason")
    elif not _REASON.fullmatch(reason):
        yield invalid(f"{path}.reason", reason, _NO_REASON)
    if len(reason.encode()) > LONGEST_REASON:
        yield too_long(f"{path}.reason", LONGEST_REASON)
    if len(condition.get("message", "").encode()) > LONGEST_MESSAGE:
        yield too_long(f"{path}.message", LONGEST_MESSAGE)


def _defaults(doc: Doc) -> None:
    resource = doc.setdefault("spec", {}).setdefault("resource", {})
    for field in ("group", "resource"):
        resource.setdefault(field, "")


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {}


def _row(doc: Doc, _: str) -> list[Any]:
    resource = doc["spec"]["resource"]
    shown = ".".join(filter(None, (resource["resource"], resource["group"])))
    told = [one for one in conditions_of(doc) if one.get("status") == "True"]
    known = [one["type"] for one in told if one.get("type") in (RUNNING, SUCCEEDED, FAILED)]
    return [name_of(doc), shown, known[-1] if known else "Unknown"]


STORAGE_VERSION_MIGRATION = Kind(
    group=GROUP,
    version="v1",
    kind="StorageVersionMigration",
    plural="storageversionmigrations",
    message="storagemigration.v1.StorageVersionMigration",
    namespaced=False,
    status=True,
    columns=(Column("Name"), Column("Resource"), Column("Status")),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    update_needs_version=True,
    deleted_as_status=True,
    status_keeps_metadata=True,
)
