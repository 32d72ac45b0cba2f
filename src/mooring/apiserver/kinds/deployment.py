"""Deployment: keeps a number of pods of one template running, and replaces them when it changes."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.immutability import same, validate_unchanged
from mooring.apiserver.kinds.int_or_percent import (
    amount,
    validate_at_most_all,
    validate_int_or_percent,
)
from mooring.apiserver.kinds.pod.template import default_template
from mooring.apiserver.kinds.separation import keep, keep_all_but_status, keep_status
from mooring.apiserver.kinds.workload import (
    SCALE,
    SELECTOR,
    TEMPLATE_COLUMNS,
    not_negative,
    selector_cell,
    template_cells,
    validate_collisions,
    validate_counts,
    validate_selected_template,
    validate_selector,
    workload_warnings,
)
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported

_STRATEGY = "spec.strategy"
_ROLLING = f"{_STRATEGY}.rollingUpdate"
_STRATEGIES = ("Recreate", "RollingUpdate")
_QUARTER = "25%"
_COUNTS = (
    *("observedGeneration", "replicas", "updatedReplicas", "readyReplicas"),
    *("availableReplicas", "unavailableReplicas", "terminatingReplicas", "collisionCount"),
)


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_template(spec.setdefault("template", {}))
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", _QUARTER)
        rolling.setdefault("maxSurge", _QUARTER)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {}


def _prepare_update(new: Doc, old: Doc, context: Context) -> None:
    """Annotations count for the generation too: they are copied to replica sets."""
    keep_status(new, old, context)
    now, before = new["metadata"], old["metadata"]
    if not same(now.get("annotations"), before.get("annotations")):
        now["generation"] = before.get("generation", 0) + 1


def _prepare_status(new: Doc, old: Doc, context: Context) -> None:
    keep_all_but_status(new, old, context)
    keep(new["metadata"], old["metadata"], "labels")


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    yield from not_negative(spec, "spec", "replicas")
    yield from validate_selector(spec.get("selector"), "deployment")
    yield from validate_selected_template(spec, "ReplicaSet")  # sic
    yield from _validate_strategy(spec["strategy"])
    yield from not_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit")
    yield from not_negative(spec, "spec", "progressDeadlineSeconds")
    deadline = spec["progressDeadlineSeconds"]
    if deadline <= spec.get("minReadySeconds", 0):
        why = "must be greater than minReadySeconds"
        yield invalid("spec.progressDeadlineSeconds", deadline, why)


def _validate_strategy(strategy: Doc) -> Iterable[FieldError]:
    rolling = strategy.get("rollingUpdate")
    match strategy["type"]:
        case "Recreate":
            if rolling is not None:
                why = "may not be specified when strategy `type` is 'Recreate'"
                yield forbidden(_ROLLING, why)
        case "RollingUpdate":
            yield from _validate_rolling(strategy["rollingUpdate"])
        case unknown:
            shown = {"Type": unknown, "RollingUpdate": rolling}
            yield not_supported(_STRATEGY, shown, _STRATEGIES)


def _validate_rolling(rolling: Doc) -> Iterable[FieldError]:
    path = f"{_ROLLING}.maxUnavailable"
    unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
    yield from validate_int_or_percent(unavailable, path)
    yield from validate_int_or_percent(surge, f"{_ROLLING}.maxSurge")
    if not amount(unavailable) and not amount(surge):
        yield invalid(path, unavailable, "may not be 0 when `maxSurge` is 0")
    yield from validate_at_most_all(unavailable, path)


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    return validate_unchanged(SELECTOR, new["spec"].get("selector"), old["spec"].get("selector"))


def _validate_status(new: Doc, old: Doc) -> Iterable[FieldError]:
    status = new.get("status", {})
    yield from not_negative(status, "status", *_COUNTS)
    yield from validate_counts(status, "updatedReplicas", "readyReplicas", "availableReplicas")
    yield from validate_collisions(status, old.get("status", {}))


def _update_warnings(new: Doc, old: Doc) -> Iterable[str]:
    """Of the template alone, and of what changes."""
    if same(new["spec"], old["spec"]):
        return ()
    return (each for each in workload_warnings(new) if not each.startswith("metadata.name"))


def _row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc["spec"], doc.get("status", {})
    return [
        name_of(doc),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age_of(doc, now),
        *template_cells(doc),
        selector_cell(spec.get("selector")),
    ]


DEPLOYMENT = Kind(
    group="apps",
    version="v1",
    kind="Deployment",
    plural="deployments",
    message="apps.v1.Deployment",
    namespaced=True,
    short_names=("deploy",),
    categories=("all",),
    status=True,
    subresources=(SCALE,),
    columns=(
        NAME,
        Column("Ready"),
        Column("Up-to-date"),
        Column("Available"),
        AGE,
        *TEMPLATE_COLUMNS,
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=_prepare_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    warnings=workload_warnings,
    update_warnings=_update_warnings,
    generation=True,
    deleted_as_status=True,
)
