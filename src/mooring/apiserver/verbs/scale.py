"""GET, PUT and PATCH of .../scale: how many are wanted, apart from all else about an object."""

from collections.abc import Callable, Mapping
from typing import Protocol

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.documents.document import decode, encode
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.patching.json_patch import json_patch
from mooring.apiserver.patching.merge import merge_patch
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.options import check_patch, write_options
from mooring.apiserver.request.refusals import invalid_as, not_found
from mooring.apiserver.schema.json_text import read_json
from mooring.apiserver.schema.reader import conform_whole
from mooring.apiserver.verbs.backend import Backend, Call, Verb
from mooring.apiserver.verbs.before_write import manager_of, prepare_change
from mooring.apiserver.verbs.changing import write_change
from mooring.apiserver.verbs.decoding import body_options, check_size, decode_body
from mooring.apiserver.verbs.update import check_name
from mooring.errors import BadRequest, UnsupportedMedia
from mooring.model.document import Doc
from mooring.model.field_error import invalid

MESSAGE = "autoscaling.v1.Scale"
API_VERSION = "autoscaling/v1"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class Scaled(Protocol):
    """Where the objects of some kinds have their numbers."""

    merges: tuple[str, ...]  # media types of patches that are merged; a scale has no lists

    def unsupported(self) -> UnsupportedMedia:
        """For a patch of another type."""
        ...

    def scale_of(self, kind: Kind, doc: Doc) -> Doc: ...

    def before(self, kind: Kind, doc: Doc) -> Doc:
        """The document that a patch sees: with a number, if it has none yet."""
        ...

    def check(self, kind: Kind, old: Doc, scale: Doc) -> None:
        """Refuse a scale that does not fit the stored document."""
        ...

    def scaled(self, kind: Kind, old: Doc, replicas: int) -> Doc:
        """A new document, with so many replicas."""
        ...


def scale_verbs(by: Scaled) -> Mapping[str, Verb]:
    """By method."""

    async def get(backend: Backend, call: Call) -> Response:
        return Response(200, encode(by.scale_of(call.kind, await _stored(backend, call))))

    async def update(backend: Backend, call: Call) -> Response:
        options = body_options(call, "UpdateOptions")
        asked, _ = decode_body(
            call, options.validation, message=MESSAGE, kind="Scale", api_version=API_VERSION
        )
        check_name(call, asked.setdefault("metadata", {}).get("name", ""))
        manager = manager_of(call, options.manager)
        return await _write(backend, call, by, lambda _: asked, manager, dry_run=options.dry_run)

    async def patch(backend: Backend, call: Call) -> Response:
        media = (call.request.header("content-type") or "").partition(";")[0].strip().lower()
        if media not in (*by.merges, JSON_PATCH):
            raise by.unsupported()
        check_size(call)
        options = write_options(call.request.query, "PatchOptions")
        check_patch(options, is_apply=False)
        patched = _patching(call, is_merge=media in by.merges)
        manager = manager_of(call, options.manager)
        return await _write(backend, call, by, patched, manager, dry_run=options.dry_run)

    return {"GET": get, "PUT": update, "PATCH": patch}


def scale_document(doc: Doc, replicas: int, current: int, selector: str) -> Doc:
    metadata = doc["metadata"]
    return {
        "kind": "Scale",
        "apiVersion": API_VERSION,
        "metadata": {field: metadata[field] for field in _KEPT if field in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": current, **({"selector": selector} if selector else {})},
    }


def _patching(call: Call, *, is_merge: bool) -> Callable[[Doc], Doc]:
    try:
        patch = read_json(call.request.body).value
    except ValueError as error:
        raise BadRequest(f"error decoding patch: {error}") from error
    by = merge_patch if is_merge else json_patch

    def patched(scale: Doc) -> Doc:
        new = by(scale, patch)
        try:
            conform_whole(new, MESSAGE)
        except ValueError as error:
            raise invalid_as("", "", "", [invalid("patch", "", str(error))]) from error
        return new

    return patched


async def _write(
    backend: Backend,
    call: Call,
    by: Scaled,
    asked: Callable[[Doc], Doc],
    manager: str,
    *,
    dry_run: bool,
) -> Response:
    kind = call.kind

    async def prepare(old: Doc) -> Doc | None:
        shown = by.scale_of(kind, by.before(kind, old))
        scale = asked(shown)
        by.check(kind, old, scale)
        replicas = scale.get("spec", {}).get("replicas", 0)
        if replicas < 0:
            problem = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise invalid_as("Scale", "autoscaling", call.name, [problem])
        new = by.scaled(kind, old, replicas)
        attributes = AdmissionAttributes(
            Operation.UPDATE,
            kind,
            call.user,
            call.namespace,
            call.name,
            call.route.subresource,
            by.scale_of(kind, new),
            shown,
            dry_run=dry_run,
        )
        await backend.webhooks.judge(attributes)
        return await prepare_change(backend, call, old, new, manager=manager, warnings=[])

    if dry_run:
        old = await _stored(backend, call)
        return Response(200, encode(by.scale_of(kind, await prepare(old) or old)))
    changed = await write_change(backend, call, prepare)
    doc = decode(kind, changed.entry) if changed.gone is None else changed.gone
    return Response(200, encode(by.scale_of(kind, doc)))


async def _stored(backend: Backend, call: Call) -> Doc:
    entry = backend.store.get(call.kind.store_table, call.store_name)
    if entry is None:
        raise not_found(call.kind, call.name)
    return decode(call.kind, await backend.conversions.readable_one(call.kind, entry))
