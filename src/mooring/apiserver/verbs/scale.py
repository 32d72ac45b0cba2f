"""GET, PUT and PATCH of .../scale: how many are wanted, apart from all else about an object."""

from collections.abc import Callable

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.documents.document import decode, encode
from mooring.apiserver.kinds.workload import selector_text
from mooring.apiserver.patching.json_patch import json_patch
from mooring.apiserver.patching.merge import merge_patch
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.options import check_patch, write_options
from mooring.apiserver.request.refusals import invalid_as, not_found
from mooring.apiserver.schema.json_text import read_json
from mooring.apiserver.schema.reader import conform_whole
from mooring.apiserver.store.contract import Change, Entry
from mooring.apiserver.verbs.at_once import write_decided
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.before_write import check_version, manager_of, prepare_change
from mooring.apiserver.verbs.changing import change_of
from mooring.apiserver.verbs.decoding import body_options, check_size, decode_body
from mooring.apiserver.verbs.update import check_name
from mooring.errors import BadRequest, UnsupportedMedia
from mooring.model.document import Doc
from mooring.model.field_error import invalid

MESSAGE = "autoscaling.v1.Scale"
API_VERSION = "autoscaling/v1"

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_MERGED = ("application/merge-patch+json", "application/strategic-merge-patch+json")


async def get_scale(backend: Backend, call: Call) -> Response:
    return Response(200, encode(scale_of(_stored(backend, call))))


async def update_scale(backend: Backend, call: Call) -> Response:
    options = body_options(call, "UpdateOptions")
    asked, _ = decode_body(
        call, options.validation, message=MESSAGE, kind="Scale", api_version=API_VERSION
    )
    check_name(call, asked.setdefault("metadata", {}).get("name", ""))
    manager = manager_of(call, options.manager)
    return await _write(backend, call, lambda _: asked, manager, dry_run=options.dry_run)


async def patch_scale(backend: Backend, call: Call) -> Response:
    """A scale has no lists, so that a strategic patch is a merge."""
    media = (call.request.header("content-type") or "").partition(";")[0].strip().lower()
    if media not in (*_MERGED, "application/json-patch+json"):
        raise UnsupportedMedia("415: Unsupported Media Type", details={})
    check_size(call)
    options = write_options(call.request.query, "PatchOptions")
    check_patch(options, is_apply=False)
    try:
        patch = read_json(call.request.body).value
    except ValueError as error:
        raise BadRequest(f"error decoding patch: {error}") from error
    by = merge_patch if media in _MERGED else json_patch

    def patched(scale: Doc) -> Doc:
        new = by(scale, patch)
        try:
            conform_whole(new, MESSAGE)
        except ValueError as error:
            raise invalid_as("", "", "", [invalid("patch", "", str(error))]) from error
        return new

    manager = manager_of(call, options.manager)
    return await _write(backend, call, patched, manager, dry_run=options.dry_run)


def scale_of(doc: Doc) -> Doc:
    """The scale of an object that keeps a number of pods."""
    metadata, spec = doc["metadata"], doc["spec"]
    selector = _selector_text(spec.get("selector") or {})
    replicas = spec.get("replicas", 0)
    return {
        "kind": "Scale",
        "apiVersion": API_VERSION,
        "metadata": {field: metadata[field] for field in _KEPT if field in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {
            "replicas": doc.get("status", {}).get("replicas", 0),
            **({"selector": selector} if selector else {}),
        },
    }


def _selector_text(selector: Doc) -> str:
    """A replication controller has a map of labels, all others have a LabelSelector."""
    if all(isinstance(value, str) for value in selector.values()):
        selector = {"matchLabels": selector}
    return selector_text(selector)


async def _write(
    backend: Backend, call: Call, asked: Callable[[Doc], Doc], manager: str, *, dry_run: bool
) -> Response:
    kind = call.kind

    async def prepare(old: Doc) -> Doc | None:
        scale = asked(scale_of(old))
        replicas = scale.get("spec", {}).get("replicas", 0)
        if replicas < 0:
            problem = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise invalid_as("Scale", "autoscaling", call.name, [problem])
        said = {"metadata": dict(scale.get("metadata", {}))}
        check_version(kind, old, said, is_put=True)
        new = {**old, "metadata": dict(old["metadata"]), "spec": {**old["spec"]}}
        new["spec"]["replicas"] = replicas
        shown = AdmissionAttributes(
            Operation.UPDATE,
            kind,
            call.user,
            call.namespace,
            call.name,
            call.route.subresource,
            scale_of(new),
            scale_of(old),
            dry_run=dry_run,
        )
        await backend.webhooks.judge(shown)
        return await prepare_change(backend, call, old, new, manager=manager, warnings=[])

    async def decide(entry: Entry | None) -> Change:
        if entry is None:
            raise not_found(kind, call.name)
        new = await prepare(decode(kind, entry))
        return None if new is None else change_of(kind, new, entry)

    if dry_run:
        old = _stored(backend, call)
        return Response(200, encode(scale_of(await prepare(old) or old)))
    entry = await write_decided(backend.store, kind.store_table, call.store_name, decide)
    assert entry is not None  # noqa: S101  decide refuses what is absent
    return Response(200, encode(scale_of(decode(kind, entry))))


def _stored(backend: Backend, call: Call) -> Doc:
    entry = backend.store.get(call.kind.store_table, call.store_name)
    if entry is None:
        raise not_found(call.kind, call.name)
    return decode(call.kind, entry)
