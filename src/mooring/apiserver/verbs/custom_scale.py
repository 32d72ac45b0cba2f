"""The scale of a custom object, whose definition says where its numbers are."""

from collections.abc import Callable
from typing import Any

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.custom.paths import find, put
from mooring.apiserver.documents.document import decode, encode
from mooring.apiserver.kinds.contract import Kind, ScalePaths
from mooring.apiserver.patching.json_patch import json_patch
from mooring.apiserver.patching.merge import merge_patch
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.options import check_patch, write_options
from mooring.apiserver.request.refusals import invalid_as, not_found, unknown_resource
from mooring.apiserver.schema.json_text import read_json
from mooring.apiserver.schema.reader import conform_whole
from mooring.apiserver.store.contract import Change, Entry
from mooring.apiserver.verbs.at_once import write_decided
from mooring.apiserver.verbs.backend import Backend, Call, Verb
from mooring.apiserver.verbs.before_write import check_version, manager_of, prepare_change
from mooring.apiserver.verbs.changing import change_of
from mooring.apiserver.verbs.decoding import body_options, check_size, decode_body
from mooring.apiserver.verbs.update import check_name
from mooring.errors import BadRequest, ServerError, UnsupportedMedia
from mooring.model.document import Doc
from mooring.model.field_error import invalid

MESSAGE = "autoscaling.v1.Scale"
API_VERSION = "autoscaling/v1"
_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_MERGE_PATCH = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"


async def get_custom_scale(backend: Backend, call: Call) -> Response:
    return Response(200, encode(_scale_of(call.kind, _stored(backend, call))))


async def update_custom_scale(backend: Backend, call: Call) -> Response:
    options = body_options(call, "UpdateOptions")
    asked, _ = decode_body(
        call, options.validation, message=MESSAGE, kind="Scale", api_version=API_VERSION
    )
    check_name(call, asked.setdefault("metadata", {}).get("name", ""))
    manager = manager_of(call, options.manager)
    return await _write(backend, call, lambda _: asked, manager, dry_run=options.dry_run)


async def patch_custom_scale(backend: Backend, call: Call) -> Response:
    media = (call.request.header("content-type") or "").partition(";")[0].strip().lower()
    if media not in (_MERGE_PATCH, _JSON_PATCH):
        raise UnsupportedMedia(
            "the body of the request was in an unknown format - "
            f"accepted media types include: {_JSON_PATCH}, {_MERGE_PATCH}"
        )
    check_size(call)
    options = write_options(call.request.query, "PatchOptions")
    check_patch(options, is_apply=False)
    try:
        patch = read_json(call.request.body).value
    except ValueError as error:
        raise BadRequest(f"error decoding patch: {error}") from error
    by = merge_patch if media == _MERGE_PATCH else json_patch

    def patched(scale: Doc) -> Doc:
        new = by(scale, patch)
        try:
            conform_whole(new, MESSAGE)
        except ValueError as error:
            raise invalid_as("", "", "", [invalid("patch", "", str(error))]) from error
        return new

    manager = manager_of(call, options.manager)
    return await _write(backend, call, patched, manager, dry_run=options.dry_run)


ON_CUSTOM_SCALE: dict[str, Verb] = {
    "GET": get_custom_scale,
    "PUT": update_custom_scale,
    "PATCH": patch_custom_scale,
}


def _paths(kind: Kind) -> ScalePaths:
    if kind.scale is None:
        raise unknown_resource()
    return kind.scale


def _scale_of(kind: Kind, doc: Doc) -> Doc:
    """Raises: ServerError when the object does not say how many replicas it wants."""
    paths = _paths(kind)
    replicas = find(doc, paths.replicas)
    if not isinstance(replicas, int):
        raise ServerError(f'the spec replicas field "{_dotted(paths.replicas)}" does not exist')
    running = find(doc, paths.status_replicas)
    selector: Any = find(doc, paths.selector) if paths.selector else ""
    metadata = doc["metadata"]
    return {
        "kind": "Scale",
        "apiVersion": API_VERSION,
        "metadata": {field: metadata[field] for field in _KEPT if field in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {
            "replicas": running if type(running) is int else 0,
            **({"selector": selector} if selector and isinstance(selector, str) else {}),
        },
    }


def _with_replicas(doc: Doc, paths: ScalePaths, replicas: int) -> Doc:
    new = {**doc, "metadata": dict(doc["metadata"])}
    put(new, paths.replicas, replicas)
    return new


def _dotted(names: tuple[str, ...]) -> str:
    return "." + ".".join(names)


async def _write(
    backend: Backend, call: Call, asked: Callable[[Doc], Doc], manager: str, *, dry_run: bool
) -> Response:
    kind, paths = call.kind, _paths(call.kind)

    async def prepare(old: Doc) -> Doc | None:
        is_set = isinstance(find(old, paths.replicas), int)
        shown = old if is_set else _with_replicas(old, paths, 0)
        scale = asked(_scale_of(kind, shown))
        if not is_set and "replicas" not in scale.get("spec", {}):
            path = _dotted(paths.replicas)
            raise BadRequest(f'the spec replicas field "{path}" cannot be empty')
        replicas = scale.get("spec", {}).get("replicas", 0)
        if replicas < 0:
            problem = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise invalid_as("Scale", "autoscaling", call.name, [problem])
        if version := scale.get("metadata", {}).get("resourceVersion"):
            said = {"metadata": {"resourceVersion": version}}
            check_version(kind, old, said, is_put=False)
        new = _with_replicas(old, paths, replicas)
        attributes = AdmissionAttributes(
            Operation.UPDATE,
            kind,
            call.user,
            call.namespace,
            call.name,
            call.route.subresource,
            _scale_of(kind, new),
            _scale_of(kind, shown),
            dry_run=dry_run,
        )
        await backend.webhooks.judge(attributes)
        return await prepare_change(backend, call, old, new, manager=manager, warnings=[])

    async def decide(entry: Entry | None) -> Change:
        if entry is None:
            raise not_found(kind, call.name)
        new = await prepare(decode(kind, entry))
        return None if new is None else change_of(kind, new, entry)

    if dry_run:
        old = _stored(backend, call)
        return Response(200, encode(_scale_of(kind, await prepare(old) or old)))
    entry = await write_decided(backend.store, kind.store_table, call.store_name, decide)
    assert entry is not None  # noqa: S101  decide refuses what is absent
    return Response(200, encode(_scale_of(kind, decode(kind, entry))))


def _stored(backend: Backend, call: Call) -> Doc:
    entry = backend.store.get(call.kind.store_table, call.store_name)
    if entry is None:
        raise not_found(call.kind, call.name)
    return decode(call.kind, entry)
