"""DaemonSet: a pod on every node that fits."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import NONE, age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.immutability import same, validate_unchanged
from mooring.apiserver.kinds.int_or_percent import (
    amount,
    validate_at_most_all,
    validate_int_or_percent,
)
from mooring.apiserver.kinds.pod.template import default_template, template_warnings
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.workload import (
    SELECTOR,
    TEMPLATE,
    TEMPLATE_COLUMNS,
    not_negative,
    selector_cell,
    template_cells,
    validate_collisions,
    validate_selected_template,
    validate_selector,
)
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported, required
from mooring.model.wellknown import Annotation

ROLLING_UPDATE, ON_DELETE = "RollingUpdate", "OnDelete"

_HISTORY = 10
_SHOWN_COUNTS = (
    *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
)
_COUNTS = (
    *_SHOWN_COUNTS,
    *("observedGeneration", "updatedNumberScheduled", "numberAvailable"),
    *("numberUnavailable", "collisionCount"),
)


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("revisionHistoryLimit", _HISTORY)
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = ROLLING_UPDATE
    if strategy["type"] == ROLLING_UPDATE:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    default_template(spec.setdefault("template", {}))


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = dict.fromkeys(_SHOWN_COUNTS, 0)
    _say_template_generation(doc, max(1, _template_generation(doc)))


def _prepare_update(new: Doc, old: Doc, context: Context) -> None:
    keep_status(new, old, context)
    changed = not same(new["spec"].get("template"), old["spec"].get("template"))
    _say_template_generation(new, _template_generation(old) + changed)


def _template_generation(doc: Doc) -> int:
    annotations = doc["metadata"].get("annotations") or {}
    said = annotations.get(Annotation.TEMPLATE_GENERATION, "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 19 else 0


def _say_template_generation(doc: Doc, count: int) -> None:
    annotations = dict(doc["metadata"].get("annotations") or {})
    annotations[Annotation.TEMPLATE_GENERATION] = str(count)
    doc["metadata"]["annotations"] = annotations


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    yield from validate_selector(spec.get("selector"), "daemonset")
    yield from validate_selected_template(spec, "DaemonSet")
    yield from not_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit")
    yield from _validate_strategy(spec.get("updateStrategy", {}))


def _validate_strategy(strategy: Doc) -> Iterable[FieldError]:
    path, kind = "spec.updateStrategy", strategy.get("type")
    if kind == ON_DELETE:
        return
    if kind != ROLLING_UPDATE:
        shown = {"Type": kind, "RollingUpdate": strategy.get("rollingUpdate")}
        yield not_supported(path, shown, (ROLLING_UPDATE, ON_DELETE))
        return
    rolling = strategy.get("rollingUpdate", {})
    fields = ("maxUnavailable", "maxSurge")
    for check in (validate_int_or_percent, validate_at_most_all):
        for field in fields:
            yield from check(rolling.get(field, 0), f"{path}.rollingUpdate.{field}")
    unavailable, surge = (amount(rolling.get(field, 0)) for field in fields)
    if unavailable and surge:
        why = "may not be set when maxUnavailable is non-zero"
        yield invalid(f"{path}.rollingUpdate.maxSurge", rolling["maxSurge"], why)
    elif not unavailable and not surge:
        yield required(f"{path}.rollingUpdate.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    return validate_unchanged(SELECTOR, new["spec"].get("selector"), old["spec"].get("selector"))


def _validate_status(new: Doc, old: Doc) -> Iterable[FieldError]:
    status = new.get("status", {})
    yield from not_negative(status, "status", *_COUNTS)
    yield from validate_collisions(status, old.get("status", {}))


def _warnings(doc: Doc) -> Iterable[str]:
    yield from template_warnings(doc["spec"].get("template", {}), TEMPLATE)


def _row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc["spec"], doc.get("status", {})
    nodes = spec.get("template", {}).get("spec", {}).get("nodeSelector") or {}
    return [
        name_of(doc),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        ",".join(f"{key}={value}" for key, value in sorted(nodes.items())) or NONE,
        age_of(doc, now),
        *template_cells(doc),
        selector_cell(spec.get("selector")),
    ]


DAEMON_SET = Kind(
    group="apps",
    version="v1",
    kind="DaemonSet",
    plural="daemonsets",
    message="apps.v1.DaemonSet",
    namespaced=True,
    short_names=("ds",),
    categories=("all",),
    status=True,
    columns=(
        NAME,
        Column("Desired", type="integer"),
        Column("Current", type="integer"),
        Column("Ready", type="integer"),
        Column("Up-to-date", type="integer"),
        Column("Available", type="integer"),
        Column("Node Selector"),
        AGE,
        *TEMPLATE_COLUMNS,
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
    generation=True,
    deleted_as_status=True,
)
