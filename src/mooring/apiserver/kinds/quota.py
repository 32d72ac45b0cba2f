"""ResourceQuota: how much the objects of a namespace may take together."""

import re
from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.quota_scopes import validate_same_scopes, validate_scopes
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid
from mooring.model.names import qualified_name
from mooring.model.quantity import ZERO, parse

_AMOUNTS = ("cpu", "memory", "ephemeral-storage")
_WHOLE = frozenset(
    (
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    )
)
_COUNTED = _WHOLE | {
    *_AMOUNTS,
    *(f"{part}.{name}" for part in ("requests", "limits") for name in _AMOUNTS),
    "requests.storage",
}
_HUGE_PAGES = re.compile(r"(requests\.)?hugepages-")


def _defaults(doc: Doc) -> None:
    doc.setdefault("spec", {})


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {}


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    hard = spec.get("hard") or {}
    for name, amount in hard.items():
        yield from _validate_amount(name, amount, "spec.hard")
    yield from validate_scopes(spec, filter(_is_standard, hard))


def _is_standard(name: str) -> bool:
    return name in _COUNTED or bool(_HUGE_PAGES.match(name))


def _validate_amount(name: str, amount: str, path: str) -> Iterable[FieldError]:
    for problem in _problems_of_name(name):
        yield invalid(f"{path}[{name}]", name, problem)
    quantity = parse(amount)
    if quantity < ZERO:
        why = "must be greater than or equal to 0"
        yield invalid(f"{path}[{name}]", amount, why)
    if name in _WHOLE and quantity.value.denominator != 1:
        yield invalid(f"{path}[{name}]", amount, "must be an integer")


def _problems_of_name(name: str) -> Iterable[str]:
    """Without a prefix a name is one of those that are counted: a typo would count nothing."""
    problems = tuple(qualified_name(name))
    yield from problems
    if problems or "/" in name or _is_standard(name):
        return
    if name != "storage":
        yield "must be a standard resource type or fully qualified"
    yield "must be a standard resource for quota"


def _validate_status(new: Doc, _: Doc) -> Iterable[FieldError]:
    for part in ("hard", "used"):
        for name, amount in (new.get("status", {}).get(part) or {}).items():
            yield from _validate_amount(name, amount, f"status.{part}")


def _row(doc: Doc, now: str) -> list[Any]:
    status = doc.get("status", {})
    hard, used = status.get("hard") or {}, status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name in sorted(hard):
        told = f"{name}: {used.get(name, '0')}/{hard[name]}"
        (limits if name.startswith("limits") else requests).append(told)
    return [name_of(doc), ", ".join(requests), ", ".join(limits), age_of(doc, now)]


RESOURCE_QUOTA = Kind(
    group="",
    version="v1",
    kind="ResourceQuota",
    plural="resourcequotas",
    message="core.v1.ResourceQuota",
    namespaced=True,
    short_names=("quota",),
    status=True,
    columns=(NAME, Column("Request"), Column("Limit"), AGE),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
    validate=_validate,
    validate_update=validate_same_scopes,
    validate_status=_validate_status,
)
