"""CSINode: the drivers on a node, what they call it and how much it can take."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.immutability import IMMUTABLE, same
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.volume_health import validate_storage_health
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, required
from mooring.model.names import csi_driver_name_errors, qualified_name

_MOST_NODE_ID_BYTES = 256


def _defaults(doc: Doc) -> None:
    doc.setdefault("spec", {}).setdefault("drivers", [])
    for driver in _drivers(doc):
        driver["topologyKeys"] = driver.get("topologyKeys") or None


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {}


def _prepare_update(new: Doc, old: Doc, context: Context) -> None:
    """Drivers that are gone leave a null behind, as in Kubernetes."""
    keep_status(new, old, context)
    if not _drivers(new):
        new["spec"]["drivers"] = None if _drivers(old) else old["spec"]["drivers"]


def _drivers(doc: Doc) -> list[Doc]:
    return doc["spec"]["drivers"] or []


def _validate(doc: Doc) -> Iterable[FieldError]:
    names: set[str] = set()
    for index, driver in enumerate(_drivers(doc)):
        path = f"spec.drivers[{index}]"
        name = driver.get("name", "")
        yield from csi_driver_name_errors(f"{path}.name", name)
        yield from _validate_node_id(driver.get("nodeID", ""), f"{path}.nodeID")
        if (count := (driver.get("allocatable") or {}).get("count", 0)) < 0:
            yield invalid(f"{path}.allocatable.count", count, "must be greater than or equal to 0")
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
        yield from _validate_topology_keys(driver.get("topologyKeys") or (), path)


def _validate_node_id(node_id: str, field: str) -> Iterable[FieldError]:
    if not node_id:
        yield required(field)
    if len(node_id.encode()) > _MOST_NODE_ID_BYTES:
        yield invalid(field, node_id, f"must be {_MOST_NODE_ID_BYTES} characters or less")


def _validate_topology_keys(keys: Iterable[str], path: str) -> Iterable[FieldError]:
    """Errors of topology keys; reported at the driver's path, without the key's index."""
    seen: set[str] = set()
    for key in keys:
        if not key:
            yield required(path)
        if key in seen:
            yield duplicate(path, key)
        seen.add(key)
        for problem in qualified_name(key):
            yield invalid(path, key, problem)


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    """Drivers come and go as a whole; of one that stays, only the limit may change."""
    known = {driver.get("name"): driver for driver in _drivers(old)}
    for driver in _drivers(new):
        before = known.get(driver.get("name"))
        if before is not None and not same(_without_limit(driver), _without_limit(before)):
            yield invalid("spec.drivers", _without_limit(driver), IMMUTABLE)


def _validate_status(new: Doc, _: Doc) -> Iterable[FieldError]:
    yield from validate_storage_health(new.get("status") or {})


def _without_limit(driver: Doc) -> Doc:
    """As it is compared and shown; a null is nothing."""
    kept = driver.items()
    return {field: value for field, value in kept if field != "allocatable" and value is not None}


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), len(_drivers(doc)), age_of(doc, now)]


CSI_NODE = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="CSINode",
    plural="csinodes",
    message="storage.v1.CSINode",
    namespaced=False,
    status=True,
    columns=(NAME, Column("Drivers", type="integer"), AGE),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=keep_all_but_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    update_needs_version=True,
)

CSI_NODE_WITHOUT_STATUS = replace(CSI_NODE, status=False, prepare_create=lambda *_: None)
"""Before Kubernetes 1.37."""
