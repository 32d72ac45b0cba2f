"""CSIDriver: the capabilities of a driver, and how the cluster treats its volumes."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mooring.apiserver.kinds.cells import NONE, age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.immutability import same, validate_unchanged
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, not_supported

_DEFAULTS = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES = ("Persistent", "Ephemeral")
_LEAST_UPDATE_PERIOD_SECONDS = 10
_LEAST_TOKEN_SECONDS = 600
_MOST_TOKEN_SECONDS = 2**32


def _defaults(doc: Doc) -> None:
    _defaults_without_opt_in(doc)
    doc["spec"].setdefault("preventPodSchedulingIfMissing", False)


def _defaults_without_opt_in(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    for field, value in _DEFAULTS.items():
        spec.setdefault(field, value)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]
    for request in spec.get("tokenRequests") or ():
        request.setdefault("audience", "")


def _prepare_update(new: Doc, old: Doc, _: Context) -> None:
    """Count a change of spec. Not `Kind.generation`: a new driver has none, not 1."""
    if not same(new["spec"], old["spec"]):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    if (policy := spec["fsGroupPolicy"]) not in _GROUP_POLICIES:
        yield not_supported("spec.fsGroupPolicy", policy, _GROUP_POLICIES)
    requests = spec.get("tokenRequests") or ()
    yield from _validate_token_requests(requests)
    for mode in spec["volumeLifecycleModes"]:
        if mode not in _LIFECYCLE_MODES:
            yield not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLE_MODES)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _LEAST_UPDATE_PERIOD_SECONDS:
        yield invalid(
            "spec.nodeAllocatableUpdatePeriodSeconds",
            period,
            "must be greater than or equal to 10 seconds",
        )
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not requests:
        yield invalid(
            "spec.serviceAccountTokenInSecrets",
            in_secrets,
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
        )


def _validate_token_requests(requests: Iterable[Doc]) -> Iterable[FieldError]:
    audiences: set[str] = set()
    for index, request in enumerate(requests):
        path = f"spec.tokenRequests[{index}]"
        audience = request["audience"]
        if audience in audiences:
            yield duplicate(f"{path}.audience", audience)
            continue
        audiences.add(audience)
        seconds = request.get("expirationSeconds", _LEAST_TOKEN_SECONDS)
        if seconds < _LEAST_TOKEN_SECONDS:
            yield invalid(
                f"{path}.expirationSeconds",
                seconds,
                "may not specify a duration less than 10 minutes",
            )
        if seconds > _MOST_TOKEN_SECONDS:
            yield invalid(
                f"{path}.expirationSeconds",
                seconds,
                "may not specify a duration larger than 2^32 seconds",
            )


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    now, before = new["spec"], old["spec"]
    field = "attachRequired"
    yield from validate_unchanged("spec.attachedRequired", now[field], before.get(field))
    field = "volumeLifecycleModes"
    yield from validate_unchanged(f"spec.{field}", now[field], before.get(field))


def _warnings(doc: Doc) -> Iterable[str]:
    spec = doc["spec"]
    if spec.get("tokenRequests") and "serviceAccountTokenInSecrets" not in spec:
        yield (
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to "
            "true to prevent possible logging of tokens in volume attributes"
        )


def _update_warnings(new: Doc, old: Doc) -> Iterable[str]:
    """What was said of the tokens once is not said again while they stay."""
    if new["spec"].get("tokenRequests") != old["spec"].get("tokenRequests"):
        yield from _warnings(new)


def _row(doc: Doc, now: str) -> list[Any]:
    spec = doc["spec"]
    requests = spec.get("tokenRequests")
    audiences = "<unset>" if requests is None else ",".join(r["audience"] for r in requests)
    return [
        name_of(doc),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        audiences,
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age_of(doc, now),
    ]


CSI_DRIVER = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="CSIDriver",
    plural="csidrivers",
    message="storage.v1.CSIDriver",
    namespaced=False,
    columns=(
        NAME,
        Column("AttachRequired", type="boolean"),
        Column("PodInfoOnMount", type="boolean"),
        Column("StorageCapacity", type="boolean"),
        Column("TokenRequests"),
        Column("RequiresRepublish", type="boolean"),
        Column("Modes"),
        AGE,
    ),
    row=_row,
    defaults=_defaults,
    prepare_update=_prepare_update,
    validate=_validate,
    validate_update=_validate_update,
    warnings=_warnings,
    update_warnings=_update_warnings,
    update_needs_version=True,
)

CSI_DRIVER_WITHOUT_OPT_IN = replace(CSI_DRIVER, defaults=_defaults_without_opt_in)
"""Before drivers could ask that no pod goes where they are missing."""
