"""PATCH: JSON patch, merge patch, strategic merge patch, and server-side apply."""

import json
from collections.abc import Callable

from mooring.apiserver.backend import Backend, Call
from mooring.apiserver.codec.body import wrong_type
from mooring.apiserver.codec.identity import Identity
from mooring.apiserver.codec.json_body import read_json
from mooring.apiserver.codec.pairs import Read, repeated
from mooring.apiserver.codec.yaml_body import read_yaml
from mooring.apiserver.http.message import Response
from mooring.apiserver.kinds.contract import Doc, Kind
from mooring.apiserver.options import WriteOptions, check_patch, write_options
from mooring.apiserver.patching.apply import apply, check_applied, check_declared
from mooring.apiserver.patching.json_patch import json_patch
from mooring.apiserver.patching.merge import merge_patch
from mooring.apiserver.patching.strategic import strategic
from mooring.apiserver.refusals import conflict, invalid_as
from mooring.apiserver.schema.check import WrongType, conform, spell_path
from mooring.apiserver.verbs.changing import change
from mooring.apiserver.verbs.create import create_document
from mooring.apiserver.verbs.decoding import check_size
from mooring.apiserver.verbs.preparing import (
    check_version,
    manager_of,
    match_namespace,
    prepare_change,
    single_owners,
)
from mooring.errors import AlreadyExists, BadRequest, NotFound, ServerError, UnsupportedMedia
from mooring.model.field_error import invalid

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY_YAML = "application/apply-patch+yaml"
MOST_TRIES = 5

Patch = Callable[[Doc], Doc]


async def patch(backend: Backend, call: Call) -> Response:
    media = (call.request.header("content-type") or "").partition(";")[0].strip().lower()
    accepted = [JSON_PATCH, MERGE_PATCH, APPLY_YAML]
    if not call.kind.custom:
        accepted.insert(2, STRATEGIC)
    if media not in accepted:
        raise UnsupportedMedia(
            "the body of the request was in an unknown format - "
            f"accepted media types include: {', '.join(accepted)}"
        )
    check_size(call)
    options = write_options(call.request.query, "PatchOptions")
    check_patch(options, is_apply=media == APPLY_YAML)
    if media == APPLY_YAML:
        return await _apply(backend, call, options)
    try:
        read = read_json(call.request.body)
    except ValueError as error:
        raise BadRequest(f"error decoding patch: {error}") from error
    return await _patch(backend, call, options, read, _patch_by(backend, call.kind, media, read))


def _patch_by(backend: Backend, kind: Kind, media: str, read: Read) -> Patch:
    """The patch as a function; its body is read once, however often it is tried."""
    body = read.value
    if media == JSON_PATCH:
        return lambda doc: json_patch(doc, body)
    if media == MERGE_PATCH:
        return lambda doc: merge_patch(doc, body)
    return lambda doc: strategic(doc, body, kind.message, backend.schema)


async def _patch(
    backend: Backend, call: Call, options: WriteOptions, read: Read, patched: Patch
) -> Response:
    manager = manager_of(call, options.manager)
    doubled = _doubled(read)
    warnings: list[str] = []

    def prepare(old: Doc) -> Doc | None:
        new = patched(old)
        found = _conformed(call, new, doubled, options.validation)
        _check_identity(call, old, new)
        check_version(call.kind, old, new, is_put=False)
        warnings[:] = [*found, *single_owners(new)]
        prepared = prepare_change(backend, call, old, new, manager=manager)
        warnings.extend(call.kind.warnings(new))
        return prepared

    return await change(backend, call, prepare, dry_run=options.dry_run, warnings=warnings)


def _doubled(read: Read) -> list[str]:
    """What to say of the keys that a body has twice."""
    if read.written is None:
        return []
    trails = (trail for _, trail in repeated(read.written, read.value))
    return [f'duplicate field "{spell_path(trail)}"' for trail in trails]


def _conformed(call: Call, new: Doc, doubled: list[str], validation: str) -> list[str]:
    """Check the patched document against the schema; what is wrong is wrong with the patch."""
    kind = call.kind
    try:
        unknown = conform(new, kind.message)
    except WrongType as error:
        if kind.custom:
            raise wrong_type(
                error, new, Identity(kind.kind, kind.api_version, custom=True)
            ) from error
        raise _bad_patch(kind, call.name, new, str(error)) from error
    findings = [*doubled, *(f'unknown field "{path}"' for path in unknown)]
    if not findings or validation == "Ignore":
        return []
    if validation == "Strict":
        said = f"strict decoding error: {', '.join(findings)}"
        raise _bad_patch(kind, call.name, new, said)
    return findings


def _bad_patch(kind: Kind, name: str, new: Doc, why: str) -> Exception:
    shown = json.dumps(new, separators=(",", ":"))[:1024]
    error = invalid("patch", shown, why)
    return invalid_as(kind.kind, kind.group, name, [error])


def _check_identity(call: Call, old: Doc, new: Doc) -> None:
    """A patch changes an object; it does not turn it into another one."""
    metadata = new.setdefault("metadata", {})
    name = metadata.get("name", "")
    if name != old["metadata"]["name"]:
        raise BadRequest(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )
    match_namespace(call, metadata)
    if new.get("kind") != old["kind"] or new.get("apiVersion") != old["apiVersion"]:
        raise BadRequest(
            f'{new.get("kind")} in version "{new.get("apiVersion")}" cannot be handled as a '
            f"{call.kind.kind}"
        )


async def _apply(backend: Backend, call: Call, options: WriteOptions) -> Response:
    try:
        read = read_yaml(call.request.body)
    except ValueError as error:
        raise BadRequest(f"error decoding YAML: {error}") from error
    applied = _checked(backend, call, options, read)
    warnings = _doubled(read) if options.validation != "Ignore" else []
    if warnings and options.validation == "Strict":
        raise BadRequest(f"error strict decoding YAML: {', '.join(warnings)}")
    for _ in range(MOST_TRIES):
        try:
            return await _apply_to_existing(backend, call, options, applied, warnings)
        except NotFound:
            if call.route.subresource:
                raise
        try:
            return await _apply_as_new(backend, call, options, applied, warnings)
        except AlreadyExists:
            continue  # somebody created it in between: apply to that
    raise conflict(call.kind, call.name)


def _checked(backend: Backend, call: Call, options: WriteOptions, read: Read) -> Doc:
    """The applied configuration, checked and in canonical spelling."""
    kind = call.kind
    applied = read.value
    check_applied(applied, manager=options.manager, api_version=kind.api_version, kind=kind.kind)
    check_declared(applied, kind.message, backend.schema)
    try:
        conform(applied, kind.message, keep_empty=True)  # who applies a [] owns the field
    except WrongType as error:
        raise ServerError(f"failed to create typed patch object: {error}") from error
    metadata = applied.setdefault("metadata", {})
    if metadata.setdefault("name", call.name) != call.name:
        raise BadRequest(
            f"the name of the object ({metadata['name']}) does not match "
            f"the name on the URL ({call.name})"
        )
    match_namespace(call, metadata)
    return dict(applied)


async def _apply_to_existing(
    backend: Backend, call: Call, options: WriteOptions, applied: Doc, doubled: list[str]
) -> Response:
    warnings: list[str] = []

    def prepare(old: Doc) -> Doc | None:
        asked = applied["metadata"].get("resourceVersion")
        if asked and asked != old["metadata"]["resourceVersion"]:
            raise conflict(call.kind, call.name)
        new = _applied_to(backend, call, options, old, applied)
        managed = new["metadata"].get("managedFields", [])
        check_version(call.kind, old, new, is_put=False)
        warnings[:] = [*doubled, *single_owners(new)]
        prepared = prepare_change(backend, call, old, new, manager=options.manager, managed=managed)
        warnings.extend(call.kind.warnings(new))
        return prepared

    return await change(backend, call, prepare, dry_run=options.dry_run, warnings=warnings)


async def _apply_as_new(
    backend: Backend, call: Call, options: WriteOptions, applied: Doc, doubled: list[str]
) -> Response:
    if applied["metadata"].get("uid"):
        raise conflict(
            call.kind,
            call.name,
            "uid mismatch: the provided object specified uid "
            f"{applied['metadata']['uid']}, and no existing object was found",
        )
    new = _applied_to(backend, call, options, None, applied)
    managed = new["metadata"].pop("managedFields", [])
    return await create_document(backend, call, new, options, doubled, managed=managed)


def _applied_to(
    backend: Backend, call: Call, options: WriteOptions, live: Doc | None, applied: Doc
) -> Doc:
    new = apply(
        live,
        applied,
        manager=options.manager,
        api_version=call.kind.api_version,
        now=backend.now(),
        subresource=call.route.subresource,
        force=bool(options.force),
        message=call.kind.message,
        schema=backend.schema,
    )
    conform(new, call.kind.message)
    return new
