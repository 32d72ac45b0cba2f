"""VolumeAttachment: a volume that shall be attached to a node, and the attacher's status."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.immutability import validate_unchanged
from mooring.apiserver.kinds.parameters import MOST_BYTES, validate_size
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.volume import validate_inline_spec
from mooring.apiserver.kinds.volume_sources import default_sources
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, required, too_long
from mooring.model.names import csi_driver_name_errors, dns_subdomain

_MOST_MESSAGE_BYTES = 1024
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def _defaults(doc: Doc) -> None:
    inline = doc.setdefault("spec", {}).setdefault("source", {}).get("inlineVolumeSpec")
    if inline is not None:
        default_sources(inline)
    doc.setdefault("status", {}).setdefault("attached", False)


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {"attached": False}


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    yield from csi_driver_name_errors("spec.attacher", spec.get("attacher", ""))
    yield from _validate_source(spec["source"])
    node = spec.get("nodeName", "")
    for problem in dns_subdomain(node):
        yield invalid("spec.nodeName", node, problem)
    yield from _validate_status(doc, doc)


def _validate_source(source: Doc) -> Iterable[FieldError]:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        yield required("spec.source", _ONE_SOURCE)
    elif inline is None:
        if not name:
            yield required(
                "spec.source.persistentVolumeName", "must specify non empty persistentVolumeName"
            )
        for problem in dns_subdomain(name or ""):
            yield invalid("spec.source.persistentVolumeName", name, problem)
    elif name is None:
        yield from validate_inline_spec(inline, "spec.source.inlineVolumeSpec")
    else:
        yield forbidden("spec.source", _ONE_SOURCE)


def _validate_status(new: Doc, _: Doc) -> Iterable[FieldError]:
    status = new["status"]
    if metadata := status.get("attachmentMetadata"):
        yield from validate_size(metadata, "status.attachmentMetadata")
    for field in ("attachError", "detachError"):
        error = status.get(field) or {}
        if len(error.get("message", "").encode()) > _MOST_MESSAGE_BYTES:
            yield too_long(f"status.{field}.message", MOST_BYTES)  # as upstream: not the limit
        if (code := error.get("errorCode", 0)) < 0:
            yield invalid(
                f"status.{field}.errorCode", code, "must be between 0 and 2147483647, inclusive"
            )


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    yield from validate_unchanged("spec", new["spec"], old["spec"])


def _row(doc: Doc, now: str) -> list[Any]:
    spec = doc["spec"]
    return [
        name_of(doc),
        spec.get("attacher", ""),
        spec["source"].get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        doc["status"]["attached"],
        age_of(doc, now),
    ]


ATTACHMENT = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="VolumeAttachment",
    plural="volumeattachments",
    message="storage.v1.VolumeAttachment",
    namespaced=False,
    status=True,
    columns=(
        NAME,
        Column("Attacher", format="name"),
        Column("PV"),
        Column("Node"),
        Column("Attached", type="boolean"),
        AGE,
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    update_needs_version=True,
    status_keeps_metadata=True,
)
