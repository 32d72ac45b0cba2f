"""CSIStorageCapacity: how much of a class is left in one part of the topology."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import name_of
from mooring.apiserver.kinds.contract import NAME, Column, Kind
from mooring.apiserver.kinds.immutability import validate_unchanged
from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.apiserver.kinds.node_affinity import deprecated_label
from mooring.apiserver.kinds.resources import validate_not_negative
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid
from mooring.model.names import dns_subdomain


def _defaults(doc: Doc) -> None:
    doc.setdefault("storageClassName", "")


def _validate(doc: Doc) -> Iterable[FieldError]:
    if (topology := doc.get("nodeTopology")) is not None:
        yield from validate_label_selector(topology, "nodeTopology")
    name = doc["storageClassName"]
    for problem in dns_subdomain(name):
        yield invalid("storageClassName", name, problem)
    if (capacity := doc.get("capacity")) is not None:
        yield from validate_not_negative("capacity", capacity)


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    """What the driver was asked about stays; only its answer changes."""
    for field in ("nodeTopology", "storageClassName"):
        yield from validate_unchanged(field, new.get(field), old.get(field))


def _warnings(doc: Doc) -> Iterable[str]:
    topology = doc.get("nodeTopology") or {}
    for index, requirement in enumerate(topology.get("matchExpressions") or ()):
        key = requirement.get("key", "")
        if word := deprecated_label(key):
            yield f"nodeTopology.matchExpressions[{index}].key: {key} is {word}"
    for label in topology.get("matchLabels") or ():
        if word := deprecated_label(label):
            yield f"nodeTopology.matchLabels.{label}: {word}"


def _row(doc: Doc, _: str) -> list[Any]:
    return [name_of(doc), doc.get("storageClassName", ""), doc.get("capacity", "<unset>")]


STORAGE_CAPACITY = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="CSIStorageCapacity",
    plural="csistoragecapacities",
    message="storage.v1.CSIStorageCapacity",
    namespaced=True,
    columns=(NAME, Column("StorageClassName"), Column("Capacity")),
    row=_row,
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
    warnings=_warnings,
    update_needs_version=True,
    deleted_as_status=True,
)
