"""PodDisruptionBudget: how many pods of an application evictions must leave running."""

from collections.abc import Iterable
from typing import Any, Final

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.int_or_percent import validate_at_most_all, validate_int_or_percent
from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported

GROUP: Final = "policy"
_BOUNDS = ("minAvailable", "maxUnavailable")
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _defaults(doc: Doc) -> None:
    doc.setdefault("spec", {})


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = dict.fromkeys(_COUNTS, 0)


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    given = [field for field in _BOUNDS if spec.get(field) is not None]
    if len(given) == len(_BOUNDS):
        yield invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for field in given:
        yield from validate_int_or_percent(spec[field], f"spec.{field}")
        yield from validate_at_most_all(spec[field], f"spec.{field}")
    yield from validate_label_selector(spec.get("selector") or {}, "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        yield not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES)


def _validate_status(new: Doc, _: Doc) -> Iterable[FieldError]:
    status = new.get("status", {})
    for field in _COUNTS:
        if status.get(field, 0) < 0:
            yield invalid(f"status.{field}", status[field], "must be greater than or equal to 0")


def _row(doc: Doc, now: str) -> list[Any]:
    spec = doc["spec"]
    least, most = (spec.get(field) for field in _BOUNDS)
    return [
        name_of(doc),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        doc.get("status", {}).get("disruptionsAllowed", 0),
        age_of(doc, now),
    ]


DISRUPTION_BUDGET = Kind(
    group=GROUP,
    version="v1",
    kind="PodDisruptionBudget",
    plural="poddisruptionbudgets",
    message="policy.v1.PodDisruptionBudget",
    namespaced=True,
    short_names=("pdb",),
    status=True,
    columns=(
        NAME,
        Column("Min Available"),
        Column("Max Unavailable"),
        Column("Allowed Disruptions", type="integer"),
        AGE,
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
    validate=_validate,
    validate_status=_validate_status,
    generation=True,
    update_needs_version=True,
    deleted_as_status=True,
)
