"""What a StatefulSet may say, and what of it may change."""

from collections.abc import Iterable

from mooring.apiserver.kinds.claim import validate_spec as validate_claim_spec
from mooring.apiserver.kinds.immutability import same
from mooring.apiserver.kinds.int_or_percent import (
    amount,
    validate_at_most_all,
    validate_int_or_percent,
)
from mooring.apiserver.kinds.workload import (
    not_negative,
    validate_collisions,
    validate_selected_template,
    validate_selector,
)
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported
from mooring.model.names import dns_label
from mooring.model.quantity import ZERO, Quantity, parse
from mooring.model.wellknown import Annotation

ORDERED_READY, PARALLEL = "OrderedReady", "Parallel"
ROLLING_UPDATE, ON_DELETE = "RollingUpdate", "OnDelete"
RETAIN, DELETE = "Retain", "Delete"

_MUTABLE = (
    *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
    *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
)
_FIXED = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)
_HINT = (
    f"; volumeClaimTemplates may grow with the annotation {Annotation.GROW_CLAIMS}: "
    '"true", which grows the existing claims, too'
)
_OF_REPLICAS = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
_COUNTS = ("replicas", *_OF_REPLICAS, "observedGeneration", "collisionCount")


def validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    policy = spec.get("podManagementPolicy", "")
    if policy not in {ORDERED_READY, PARALLEL}:
        why = f"must be '{ORDERED_READY}' or '{PARALLEL}'"
        yield invalid("spec.podManagementPolicy", policy, why)
    yield from _validate_strategy(spec.get("updateStrategy", {}))
    retention = spec.get("persistentVolumeClaimRetentionPolicy", {})
    for field in ("whenDeleted", "whenScaled"):
        if (said := retention.get(field, "")) not in {RETAIN, DELETE}:
            path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            yield not_supported(path, said, (RETAIN, DELETE))
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        path = f"spec.volumeClaimTemplates[{index}].spec"
        yield from validate_claim_spec(claim.get("spec", {}), path)
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from not_negative(spec.get("ordinals") or {}, "spec.ordinals", "start")
    if service := spec.get("serviceName"):
        for problem in dns_label(service):
            yield invalid("spec.serviceName", service, problem)
    yield from validate_selector(spec.get("selector"), "statefulset")
    yield from validate_selected_template({**spec, "template": _with_claims(spec)}, "StatefulSet")


def _validate_strategy(strategy: Doc) -> Iterable[FieldError]:
    path, kind, rolling = "spec.updateStrategy", strategy.get("type"), strategy.get("rollingUpdate")
    match kind:
        case "RollingUpdate":
            if rolling is not None:
                yield from _validate_rolling(rolling, f"{path}.rollingUpdate")
        case "OnDelete":
            if rolling is not None:
                shown = {
                    "Partition": rolling.get("partition", 0),
                    "MaxUnavailable": rolling.get("maxUnavailable"),
                }
                why = f"only allowed for updateStrategy '{ROLLING_UPDATE}'"
                yield invalid(f"{path}.rollingUpdate", shown, why)
        case _:
            shown = {"Type": kind, "RollingUpdate": rolling}
            yield invalid(path, shown, f"must be '{ROLLING_UPDATE}' or '{ON_DELETE}'")


def _validate_rolling(rolling: Doc, path: str) -> Iterable[FieldError]:
    yield from not_negative(rolling, path, "partition")
    if (most := rolling.get("maxUnavailable")) is not None:
        at = f"{path}.maxUnavailable"
        yield from validate_int_or_percent(most, at)
        if amount(most) == 0:
            yield invalid(at, most, "cannot be 0")
        yield from validate_at_most_all(most, at)


def _with_claims(spec: Doc) -> Doc:
    """The template as its pods will be: with the claims as volumes, and names of their own."""
    template: Doc = spec.get("template") or {}
    claims = {
        name: {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for claim in spec.get("volumeClaimTemplates") or ()
        if (name := claim.get("metadata", {}).get("name", ""))
    }
    inner = dict(template.get("spec") or {})
    for own in ("hostname", "subdomain"):
        inner.pop(own, None)
    others = [v for v in inner.get("volumes") or () if v.get("name") not in claims]
    if claims:
        inner["volumes"] = [*claims.values(), *others]
    return {**template, "spec": inner}


def validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    now, before = _fixed(new), _fixed(old)
    if same(now, before):
        return
    claims = now.pop("volumeClaimTemplates", None) or []
    former = before.pop("volumeClaimTemplates", None) or []
    if not same(now, before) or not same(_sizeless(claims), _sizeless(former)):
        yield forbidden("spec", _FIXED)
        return
    smaller = [i for i, claim in enumerate(claims) if _size(claim) < _size(former[i])]
    if not may_grow_claims(new):
        yield forbidden("spec", _FIXED if smaller else _FIXED + _HINT)
        return
    for index in smaller:
        path = f"spec.volumeClaimTemplates[{index}].spec.resources.requests.storage"
        yield forbidden(path, "may only grow: the claims cannot be made smaller")


def may_grow_claims(doc: Doc) -> bool:
    annotations = doc["metadata"].get("annotations") or {}
    return bool(annotations.get(Annotation.GROW_CLAIMS) == "true")


def _fixed(doc: Doc) -> Doc:
    return {field: value for field, value in doc["spec"].items() if field not in _MUTABLE}


def _sizeless(claims: list[Doc]) -> list[Doc]:
    """The templates but for the storage that they ask for."""
    return [{**claim, "spec": _without_size(claim.get("spec", {}))} for claim in claims]


def _without_size(spec: Doc) -> Doc:
    resources = spec.get("resources") or {}
    requests = {k: v for k, v in (resources.get("requests") or {}).items() if k != "storage"}
    return {**spec, "resources": {**resources, "requests": requests}}


def _size(claim: Doc) -> Quantity:
    requests = (claim.get("spec", {}).get("resources") or {}).get("requests") or {}
    return parse(requests["storage"]) if "storage" in requests else ZERO


def validate_status(new: Doc, old: Doc) -> Iterable[FieldError]:
    status = new.get("status", {})
    yield from not_negative(status, "status", *_COUNTS)
    replicas, available = status.get("replicas", 0), status.get("availableReplicas", 0)
    for field in _OF_REPLICAS:
        if (count := status.get(field, 0)) > replicas:
            yield invalid(f"status.{field}", count, "cannot be greater than status.replicas")
    if available > status.get("readyReplicas", 0):
        why = "cannot be greater than status.readyReplicas"
        yield invalid("status.availableReplicas", available, why)
    yield from validate_collisions(status, old.get("status", {}))
