"""StatefulSet: numbered pods, each with a name and claims that it keeps."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.claim import default_spec as default_claim_spec
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.pod.template import default_template, template_warnings
from mooring.apiserver.kinds.resources import warn_of_fraction
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.stateful_set_rules import (
    ORDERED_READY,
    RETAIN,
    ROLLING_UPDATE,
    validate,
    validate_status,
    validate_update,
)
from mooring.apiserver.kinds.workload import SCALE, TEMPLATE, TEMPLATE_COLUMNS, template_cells
from mooring.model.document import Doc
from mooring.model.names import dns_label

_HISTORY = 10


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", _HISTORY)
    if not spec.get("podManagementPolicy"):
        spec["podManagementPolicy"] = ORDERED_READY
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = ROLLING_UPDATE
        strategy.setdefault("rollingUpdate", {})
    if (
        strategy["type"] == ROLLING_UPDATE
        and (rolling := strategy.get("rollingUpdate")) is not None
    ):
        rolling.setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for field in ("whenDeleted", "whenScaled"):
        if not retention.get(field):
            retention[field] = RETAIN
    default_template(spec.setdefault("template", {}))
    for claim in spec.get("volumeClaimTemplates") or ():
        default_claim_spec(claim.setdefault("spec", {}))
        status = claim.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Pending"


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {"replicas": 0, "availableReplicas": 0}


def _warnings(doc: Doc) -> Iterable[str]:
    spec = doc["spec"]
    yield from template_warnings(spec.get("template", {}), TEMPLATE)
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        resources = claim.get("spec", {}).get("resources") or {}
        for part in ("requests", "limits"):
            if amount := (resources.get(part) or {}).get("storage"):
                path = f"spec.volumeClaimTemplates[{index}].spec.resources.{part}[storage]"
                yield from warn_of_fraction(path, amount)
    if spec.get("revisionHistoryLimit", 0) < 0:
        yield (
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
            "a value >= 0 is recommended"
        )


def _row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc["spec"], doc.get("status", {})
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name_of(doc), ready, age_of(doc, now), *template_cells(doc)]


STATEFUL_SET = Kind(
    group="apps",
    version="v1",
    kind="StatefulSet",
    plural="statefulsets",
    message="apps.v1.StatefulSet",
    namespaced=True,
    short_names=("sts",),
    categories=("all",),
    status=True,
    subresources=(SCALE,),
    columns=(
        NAME,
        Column("Ready"),
        AGE,
        *TEMPLATE_COLUMNS[:2],
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=_warnings,
    name_rule=dns_label,
    generation=True,
    deleted_as_status=True,
)
