"""VolumeAttachment: a volume that shall be attached to a node, and the attacher's status."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.immutability import IMMUTABLE, same, validate_unchanged
from mooring.apiserver.kinds.parameters import MOST_BYTES, validate_size
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.volume import validate_inline_spec
from mooring.apiserver.kinds.volume_sources import default_sources
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, required, too_long
from mooring.model.names import caseless_subdomain, csi_driver_name_errors, dns_subdomain

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
    yield from _validate_place(doc["spec"])
    attacher = doc["spec"].get("attacher", "")
    yield from csi_driver_name_errors("spec.attacher", attacher, caseless_subdomain)
    yield from _validate_status(doc, doc)


def _validate_before(doc: Doc) -> Iterable[FieldError]:
    yield from csi_driver_name_errors("spec.attacher", doc["spec"].get("attacher", ""))
    yield from _validate_place(doc["spec"])
    yield from _validate_status_before(doc, doc)


def _validate_place(spec: Doc) -> Iterable[FieldError]:
    yield from _validate_source(spec["source"])
    node = spec.get("nodeName", "")
    for problem in dns_subdomain(node):
        yield invalid("spec.nodeName", node, problem)


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
    yield from _validate_told(new["status"], _MOST_MESSAGE_BYTES)


def _validate_status_before(new: Doc, _: Doc) -> Iterable[FieldError]:
    yield from _validate_told(new["status"], MOST_BYTES)


def _validate_told(status: Doc, told_limit: int) -> Iterable[FieldError]:
    """`told_limit` is what a message that is too long is refused with: once not the real one."""
    if metadata := status.get("attachmentMetadata"):
        yield from validate_size(metadata, "status.attachmentMetadata")
    for field in ("attachError", "detachError"):
        error = status.get(field) or {}
        if len(error.get("message", "").encode()) > _MOST_MESSAGE_BYTES:
            yield too_long(f"status.{field}.message", told_limit)
        if (code := error.get("errorCode", 0)) < 0:
            yield invalid(
                f"status.{field}.errorCode", code, "must be between 0 and 2147483647, inclusive"
            )


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    if not same(new["spec"], old["spec"]):
        yield invalid("spec", None, IMMUTABLE)


def _validate_update_before(new: Doc, old: Doc) -> Iterable[FieldError]:
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

ATTACHMENT_BEFORE = replace(
    ATTACHMENT,
    validate=_validate_before,
    validate_update=_validate_update_before,
    validate_status=_validate_status_before,
)
