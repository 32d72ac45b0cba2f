"""PriorityClass: a name for a priority that pods may have; two of them exist in every cluster."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.immutability import validate_unchanged
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, not_supported

GROUP: Final = "scheduling.k8s.io"
SYSTEM_PREFIX: Final = "system-"
HIGHEST_OF_USERS: Final = 1_000_000_000
POLICY: Final = "PreemptLowerPriority"
_POLICIES = ("Never", POLICY)

SYSTEM_CLASSES: Final[Mapping[str, Doc]] = {
    "system-node-critical": {
        "metadata": {"name": "system-node-critical"},
        "value": 2_000_001_000,
        "description": (
            "Used for system critical pods that must not be moved from their current node."
        ),
    },
    "system-cluster-critical": {
        "metadata": {"name": "system-cluster-critical"},
        "value": 2_000_000_000,
        "description": (
            "Used for system critical pods that must run in the cluster, but can be moved to "
            "another node if necessary."
        ),
    },
}


def _defaults(doc: Doc) -> None:
    doc.setdefault("preemptionPolicy", POLICY)


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["metadata"]["generation"] = 1  # and so it stays: nothing that counts can be changed


def _validate(doc: Doc) -> Iterable[FieldError]:
    name, value = doc["metadata"].get("name", ""), doc.get("value", 0)
    if name.startswith(SYSTEM_PREFIX):
        if problem := _system_problem(name, value, is_default=doc.get("globalDefault", False)):
            yield forbidden(
                "metadata.name",
                f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use "
                f"only. error: {problem}",
            )
    elif value > HIGHEST_OF_USERS:
        why = f"maximum allowed value of a user defined priority is {HIGHEST_OF_USERS}"
        yield forbidden("value", why)
    if (policy := doc.get("preemptionPolicy")) not in _POLICIES:
        yield not_supported("preemptionPolicy", policy, _POLICIES)


def _system_problem(name: str, value: int, *, is_default: bool) -> str:
    known = SYSTEM_CLASSES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if known["value"] != value:
        return f"value of {name} PriorityClass must be {known['value']}"
    if is_default:
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    if new.get("value", 0) != old.get("value", 0):
        yield forbidden("value", "may not be changed in an update.")
    field = "preemptionPolicy"
    yield from validate_unchanged(field, new.get(field), old.get(field))


def _row(doc: Doc, now: str) -> list[Any]:
    return [
        name_of(doc),
        doc.get("value", 0),
        doc.get("globalDefault", False),
        age_of(doc, now),
        doc.get("preemptionPolicy", ""),
    ]


PRIORITY_CLASS = Kind(
    group=GROUP,
    version="v1",
    kind="PriorityClass",
    plural="priorityclasses",
    message="scheduling.v1.PriorityClass",
    namespaced=False,
    short_names=("pc",),
    columns=(
        NAME,
        Column("Value", type="integer"),
        Column("Global-Default", type="boolean"),
        AGE,
        Column("PreemptionPolicy"),
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    validate=_validate,
    validate_update=_validate_update,
    deleted_as_status=True,
)
