"""PersistentVolumeClaim: a request for storage, and the volume it got."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mooring.apiserver.kinds.access_modes import abbreviate, validate_access_modes
from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.data_source import settle_data_sources, validate_data_sources
from mooring.apiserver.kinds.immutability import IMMUTABLE, changes, same
from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.apiserver.kinds.recurring import is_good
from mooring.apiserver.kinds.resources import (
    is_positive,
    not_positive,
    same_amounts,
    validate_capacity,
    warn_of_fraction,
)
from mooring.apiserver.kinds.separation import keep, keep_all_but_status
from mooring.apiserver.kinds.volume_health import validate_health
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required
from mooring.model.names import dns_subdomain, qualified_name
from mooring.model.quantity import ZERO, Quantity, parse

BETA_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
CLASS_DEPRECATED = (
    f"metadata.annotations[{BETA_CLASS_ANNOTATION}]: "
    'deprecated since v1.8; use "storageClassName" attribute instead'
)
VOLUME_MODES = ("Block", "Filesystem")

_NULLABLE = ("storageClassName", "volumeAttributesClassName")  # absent and empty differ in meaning
_RESIZE_STATES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def _defaults(doc: Doc) -> None:
    default_spec(doc.setdefault("spec", {}))
    status = doc.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"


def default_spec(spec: Doc) -> None:
    spec.setdefault("volumeMode", "Filesystem")


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {"phase": "Pending"}
    settle_data_sources(doc["spec"])


def _prepare_update(new: Doc, old: Doc, _: Context) -> None:
    keep(new, old, "status")
    settle_data_sources(new["spec"], old["spec"])


def _validate(doc: Doc) -> Iterable[FieldError]:
    return validate_spec(doc["spec"], "spec")


def validate_spec(spec: Doc, path: str) -> Iterable[FieldError]:
    """Complaints about the spec of a claim, or of the template of an ephemeral one, at `path`."""
    if modes := spec.get("accessModes"):
        yield from validate_access_modes(modes, path)
    else:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    if (selector := spec.get("selector")) is not None:
        yield from validate_label_selector(selector, f"{path}.selector")
    amount = _requested(spec)
    if amount is None:
        yield required(f"{path}.resources[storage]")
    elif not is_positive(amount):
        yield not_positive(f"{path}.resources[storage]", amount)
    for field in _NULLABLE:
        if (name := spec.get(field)) and not is_good(dns_subdomain, name):
            problems = dns_subdomain(name)
            yield from [invalid(f"{path}.{field}", name, problem) for problem in problems]
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        yield not_supported(f"{path}.volumeMode", mode, VOLUME_MODES)
    if "dataSource" in spec or "dataSourceRef" in spec:
        yield from validate_data_sources(spec, path)


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    now, before = new["spec"], old["spec"]
    beta_now, beta_before = _beta_class(new), _beta_class(old)
    if now == before and beta_now == beta_before:
        return
    wanted = now.get("storageClassName")
    first_class = wanted is not None and "storageClassName" not in before
    moved = first_class and beta_now is None and wanted == beta_before
    if (beta_now or "") != (beta_before or "") and not moved:
        yield invalid(f"metadata.annotations.{BETA_CLASS_ANNOTATION}", beta_now or "", IMMUTABLE)
    yield from _validate_frozen(
        new, old, may_set_class=first_class and beta_before in (None, wanted)
    )
    asked = _amount(now)
    if asked < _amount(before) and asked <= _capacity(old):
        yield forbidden(
            "spec.resources.requests.storage", "field can not be less than status.capacity"
        )
    if now.get("volumeMode") != before.get("volumeMode"):
        yield invalid("volumeMode", now.get("volumeMode"), IMMUTABLE)
    yield from _validate_attributes_class(new, old)


def _validate_frozen(new: Doc, old: Doc, *, may_set_class: bool) -> Iterable[FieldError]:
    """The spec but for what may change: once `volumeName`, size and attributes when bound."""
    now, before = dict(new["spec"]), dict(old["spec"])
    mutable = ["storageClassName"] if may_set_class else []
    if not before.get("volumeName"):
        mutable.append("volumeName")
    bound = old["status"].get("phase") == "Bound"
    if bound:
        mutable.append("volumeAttributesClassName")
    for field in mutable:
        now.pop(field, None)
        before.pop(field, None)
    if _same_resources(now.get("resources") or {}, before.get("resources") or {}, resizable=bound):
        now.pop("resources", None)
        before.pop("resources", None)
    if same(now, before) and all(now.get(field) == before.get(field) for field in _NULLABLE):
        return
    yield forbidden(
        "spec",
        "spec is immutable after creation except resources.requests and volumeAttributesClassName "
        f"for bound claims\n{changes(now, before, 'spec')}",
    )


def _same_resources(new: Doc, old: Doc, *, resizable: bool) -> bool:
    now, before = new.get("requests") or {}, old.get("requests") or {}
    if resizable and "storage" in now and "storage" in before:
        now = {**now, "storage": before["storage"]}
    return same_amounts(now, before) and same_amounts(
        new.get("limits") or {}, old.get("limits") or {}
    )


def _validate_attributes_class(new: Doc, old: Doc) -> Iterable[FieldError]:
    """An attributes class that a volume has taken on can be replaced, not taken away."""
    wanted = new["spec"].get("volumeAttributesClassName")
    if wanted == old["spec"].get("volumeAttributesClassName"):
        return
    if old["status"].get("currentVolumeAttributesClassName") is None or wanted:
        return
    empty = "nil" if wanted is None else "empty string"
    yield forbidden(
        "spec.volumeAttributesClassName",
        f"update to {empty} is forbidden when status.currentVolumeAttributesClassName is not nil",
    )


def _validate_status(new: Doc, _: Doc) -> Iterable[FieldError]:
    status = new.get("status", {})
    yield from validate_capacity("status.capacity", status.get("capacity") or {})
    path = "status.allocatedResourceStatuses"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        yield from _validate_resource_name(name, path)
        if state not in _RESIZE_STATES:
            yield not_supported(path, name, _RESIZE_STATES)  # upstream shows whose state it is
    path = "status.allocatedResources"
    allocated = status.get("allocatedResources") or {}
    for name in allocated:
        yield from _validate_resource_name(name, path)
    yield from validate_capacity(path, allocated)
    yield from validate_health(status.get("healthStatus") or {}, "status.healthStatus")


def _validate_resource_name(name: str, path: str) -> Iterable[FieldError]:
    """`storage`, or a name in a domain that is not Kubernetes' own."""
    problems = list(qualified_name(name))
    for problem in problems:
        yield invalid(path, name, problem)
    native = "/" not in name or "kubernetes.io/" in name
    if not problems and native and name != "storage":
        yield not_supported(path, name, ("storage",))


def _warnings(doc: Doc) -> Iterable[str]:
    if BETA_CLASS_ANNOTATION in (doc["metadata"].get("annotations") or ()):
        yield CLASS_DEPRECATED
    resources = doc["spec"].get("resources") or {}
    for part in ("requests", "limits"):
        if amount := (resources.get(part) or {}).get("storage"):
            yield from warn_of_fraction(f"spec.resources.{part}[storage]", amount)


def _row(doc: Doc, now: str) -> list[Any]:
    metadata, spec, status = doc["metadata"], doc["spec"], doc["status"]
    volume = spec.get("volumeName", "")
    beta_class = _beta_class(doc)
    return [
        name_of(doc),
        "Terminating" if "deletionTimestamp" in metadata else status.get("phase", ""),
        volume,
        (status.get("capacity") or {}).get("storage", "0") if volume else "",
        abbreviate(status.get("accessModes") or ()) if volume else "",
        spec.get("storageClassName", "") if beta_class is None else beta_class,
        spec.get("volumeAttributesClassName", "<unset>"),
        age_of(doc, now),
        spec.get("volumeMode", "<unset>"),
    ]


def _requested(spec: Doc) -> str | None:
    resources = spec.get("resources")
    requests = resources.get("requests") if resources else None
    amount: str | None = requests.get("storage") if requests else None
    return amount


def _amount(spec: Doc) -> Quantity:
    requested = _requested(spec)
    return ZERO if requested is None else parse(requested)


def _capacity(doc: Doc) -> Quantity:
    capacity = (doc["status"].get("capacity") or {}).get("storage")
    return ZERO if capacity is None else parse(capacity)


def _beta_class(doc: Doc) -> str | None:
    annotation: str | None = (doc["metadata"].get("annotations") or {}).get(BETA_CLASS_ANNOTATION)
    return annotation


CLAIM = Kind(
    group="",
    version="v1",
    kind="PersistentVolumeClaim",
    plural="persistentvolumeclaims",
    message="core.v1.PersistentVolumeClaim",
    namespaced=True,
    short_names=("pvc",),
    status=True,
    columns=(
        NAME,
        Column("Status"),
        Column("Volume"),
        Column("Capacity"),
        Column("Access Modes"),
        Column("StorageClass"),
        Column("VolumeAttributesClass"),
        AGE,
        Column("VolumeMode", wide=True),
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
)


def _prepare_create_across(doc: Doc, _: Context) -> None:
    doc["status"] = {"phase": "Pending"}
    settle_data_sources(doc["spec"], cross_namespace=True)


def _prepare_update_across(new: Doc, old: Doc, _: Context) -> None:
    keep(new, old, "status")
    settle_data_sources(new["spec"], old["spec"], cross_namespace=True)


CLAIM_ACROSS_NAMESPACES = replace(
    CLAIM, prepare_create=_prepare_create_across, prepare_update=_prepare_update_across
)
"""With the feature gate CrossNamespaceVolumeDataSource: `dataSourceRef.namespace` is kept."""
