"""PATCH: JSON patch, merge patch, strategic merge patch, and server-side apply."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any, NamedTuple

from mooring.apiserver.codec.body import LONGEST_PATH, wrong_type
from mooring.apiserver.codec.identity import Identity, unregistered
from mooring.apiserver.codec.yaml_body import read_yaml
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.limits.budgets import MOST_ERRORS, MOST_PATCH_VALUES, MOST_VALUES
from mooring.apiserver.patching import go_text
from mooring.apiserver.patching.apply import apply, check_applied, check_declared
from mooring.apiserver.patching.json_patch import json_patch
from mooring.apiserver.patching.merge import merge_patch
from mooring.apiserver.patching.strategic import strategic
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.options import WriteOptions, check_patch, write_options
from mooring.apiserver.request.refusals import conflict, invalid_as
from mooring.apiserver.schema.check import spell_path
from mooring.apiserver.schema.json_text import read_json
from mooring.apiserver.schema.pairs import Read, repeated
from mooring.apiserver.schema.wrong_type import WrongType
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.before_write import (
    change_warnings,
    check_version,
    manager_of,
    match_namespace,
    prepare_change,
    single_owners,
)
from mooring.apiserver.verbs.changing import change
from mooring.apiserver.verbs.create import create_document
from mooring.apiserver.verbs.decoding import check_size, with_warnings
from mooring.apiserver.verbs.document_schema import (
    conform_applied,
    conform_to_kind,
    shape_for,
)
from mooring.apiserver.verbs.owning import in_versions
from mooring.apiserver.verbs.update import check_name
from mooring.errors import AlreadyExists, BadRequest, NotFound, ServerError, UnsupportedMedia
from mooring.model.document import Doc
from mooring.model.field_error import invalid

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY_YAML = "application/apply-patch+yaml"
MOST_TRIES = 5
_STEPS = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
MOST_SHOWN = 4096  # characters of a patch, in the refusal of it


async def patch(backend: Backend, call: Call) -> Response:
    media = (call.request.header("content-type") or "").partition(";")[0].strip().lower()
    accepted = [JSON_PATCH, MERGE_PATCH, APPLY_YAML]
    if not call.kind.custom:
        accepted.insert(2, STRATEGIC)
    if media not in accepted:
        raise _unsupported(call.kind, accepted)
    check_size(call)
    options = write_options(call.request.query, "PatchOptions")
    check_patch(options, is_apply=media == APPLY_YAML)
    if media == APPLY_YAML:
        return await _apply(backend, call, options)
    try:
        most = MOST_PATCH_VALUES if media == JSON_PATCH else MOST_VALUES
        read = read_json(call.request.body, most)
    except ValueError as error:
        if backend.kinds.release.calls_patches_invalid:
            raise BadRequest("invalid JSON patch") from error
        prefix = "" if media == STRATEGIC else "error decoding patch: "
        raise BadRequest(f"{prefix}{error}") from error
    return await _patch(backend, call, options, read, _patch_by(backend, call.kind, media, read))


class _Patch(NamedTuple):
    """A patch as functions of the stored document; its body is read once, however often it is
    tried. `shown` is what a refusal shows of it."""

    patched: Callable[[Doc], Doc]
    shown: Callable[[Doc], str]


def _unsupported(kind: Kind, accepted: list[str]) -> UnsupportedMedia:
    """Refused before the kind is asked, unless it is custom."""
    if not kind.custom:
        return UnsupportedMedia("415: Unsupported Media Type", details={})
    return UnsupportedMedia(
        "the body of the request was in an unknown format - "
        f"accepted media types include: {', '.join(accepted)}"
    )


def _patch_by(backend: Backend, kind: Kind, media: str, read: Read) -> _Patch:
    body = read.value
    if media == STRATEGIC:
        return _Patch(
            lambda doc: strategic(doc, body, kind.message, backend.schema),
            lambda _: go_text.plain(body),
        )
    by = json_patch if media == JSON_PATCH else merge_patch
    return _Patch(
        lambda doc: by(doc, body), lambda doc: json.dumps(by(doc, body), separators=(",", ":"))
    )


async def _patch(
    backend: Backend, call: Call, options: WriteOptions, read: Read, by: _Patch
) -> Response:
    manager = manager_of(call, options.manager)
    doubled = _doubled(read)
    warnings: list[str] = []

    async def prepare(old: Doc) -> Doc | None:
        new = by.patched(old)
        try:
            found = _conformed(call.kind, new, old, by, doubled, options.validation)
        except ValueError as error:
            raise _bad_patch(by.shown(old), str(error)) from error
        warnings[:] = [*found, *single_owners(new)]
        with with_warnings(warnings):
            _check_identity(call, new)
            check_version(call.kind, old, new, is_put=False)
            prepared = await prepare_change(
                backend, call, old, new, manager=manager, warnings=warnings
            )
        warnings.extend(change_warnings(call.kind, new, old))
        return prepared

    return await change(backend, call, prepare, dry_run=options.dry_run, warnings=warnings)


def _doubled(read: Read) -> list[str]:
    """What to say of the keys that a body has twice."""
    if read.written is None:
        return []
    trails = (trail for _, trail in islice(repeated(read.written, read.value), MOST_ERRORS))
    return [f'duplicate field "{spell_path(trail)[:LONGEST_PATH]}"' for trail in trails]


def _doubled_in_yaml(read: Read) -> list[str]:
    """The same of a body in YAML, whose keys are told by their lines, as its parser does it."""
    if not read.repeats:
        return _doubled(read)
    told = ", ".join(each[:LONGEST_PATH] for each in read.repeats[:MOST_ERRORS])
    return [f"error converting YAML to JSON: yaml: unmarshal errors: {told}"]


def _conformed(
    kind: Kind, new: Doc, old: Doc, by: _Patch, doubled: list[str], validation: str
) -> list[str]:
    """Check the patched document against the schema; what to warn of.

    A field that was there before was stored by another release, or under another definition: there
    is nothing to say, unless the patch changes it. Raises: ValueError, which is the patch's fault.
    """
    given = (new.get("kind"), new.get("apiVersion"))
    if given != (kind.kind, kind.api_version):  # it may change an object, not make it another one
        raise ValueError(unregistered(str(given[0] or ""), str(given[1] or "")))
    try:
        unknown: Iterable[str] = conform_to_kind(new, kind)
    except WrongType as error:
        if kind.custom and kind.structure is None:
            raise wrong_type(
                error, new, Identity(kind.kind, kind.api_version, custom=True)
            ) from error
        raise ValueError(str(error)) from error
    if unknown:
        asked = by.patched(old)  # `new` has lost them
        before = _unknown_before(kind, old)
        unknown = set(unknown).difference(
            path for path in before if _value_at(path, asked) == _value_at(path, old)
        )
    findings = [*doubled, *(f'unknown field "{path}"' for path in sorted(unknown))]
    if not findings or validation == "Ignore":
        return []
    if validation == "Strict":
        raise ValueError(f"strict decoding error: {', '.join(findings)}")
    return findings


def _unknown_before(kind: Kind, old: Doc) -> Sequence[str]:
    try:
        return conform_to_kind(deepcopy(old), kind)
    except WrongType:
        return ()


def _value_at(path: str, doc: Doc) -> Any:
    """What is at a path such as `spec.containers[0].image`; None: nothing."""
    value: Any = doc
    for name, number in _STEPS.findall(path):
        try:
            value = value[int(number) if number else name]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _bad_patch(shown: str, why: str) -> Exception:
    """The patch is blamed, not the object: the refusal names neither kind nor name."""
    return invalid_as("", "", "", [invalid("patch", shown[:MOST_SHOWN], why)])


def _check_identity(call: Call, new: Doc) -> None:
    metadata = new.setdefault("metadata", {})
    check_name(call, metadata.get("name", ""))
    match_namespace(call, metadata)


async def _apply(backend: Backend, call: Call, options: WriteOptions) -> Response:
    try:
        read = read_yaml(call.request.body)
    except ValueError as error:
        why = f"error decoding YAML: error converting YAML to JSON: {error}"
        raise BadRequest(why) from error
    applied = _checked(backend, call, options, read)
    warnings = _doubled_in_yaml(read) if options.validation != "Ignore" else []
    if warnings and options.validation == "Strict":
        raise BadRequest(f"error strict decoding YAML: {', '.join(warnings)}")
    for _ in range(MOST_TRIES):
        try:
            return await _apply_to_existing(backend, call, options, applied, warnings)
        except NotFound:
            if call.route.subresource:
                raise
        try:
            return await _apply_as_new(backend, call, options, applied, list(warnings))
        except AlreadyExists:
            continue  # created in between: apply to that object
    raise conflict(call.kind, call.name)


def _checked(backend: Backend, call: Call, options: WriteOptions, read: Read) -> Doc:
    """The applied configuration, checked and in canonical spelling."""
    kind = call.kind
    applied = {} if read.value is None else read.value
    check_applied(applied, manager=options.manager, api_version=kind.api_version, kind=kind.kind)
    check_declared(applied, shape_for(backend, kind))
    try:
        conform_applied(applied, kind)
    except WrongType as error:
        raise ServerError(f"failed to create typed patch object: {error}") from error
    metadata = applied.setdefault("metadata", {})
    if name := metadata.get("name", ""):
        check_name(call, name)
    if "namespace" in metadata:  # what is not said is not added: the client is quoted later
        match_namespace(call, metadata)
    return dict(applied)


async def _apply_to_existing(
    backend: Backend, call: Call, options: WriteOptions, applied: Doc, doubled: list[str]
) -> Response:
    warnings: list[str] = []

    async def prepare(old: Doc) -> Doc | None:
        asked = applied["metadata"].get("resourceVersion")
        if asked and asked != old["metadata"]["resourceVersion"]:
            raise conflict(call.kind, call.name)
        new = await _applied_to(backend, call, options, old, applied)
        managed = new["metadata"].get("managedFields", [])
        check_version(call.kind, old, new, is_put=False)
        warnings[:] = [*doubled, *single_owners(new)]
        prepared = await prepare_change(
            backend,
            call,
            old,
            new,
            manager=options.manager,
            managed=managed,
            warnings=warnings,
        )
        warnings.extend(change_warnings(call.kind, new, old))
        return prepared

    return await change(backend, call, prepare, dry_run=options.dry_run, warnings=warnings)


async def _apply_as_new(
    backend: Backend, call: Call, options: WriteOptions, applied: Doc, doubled: list[str]
) -> Response:
    check_name(call, applied["metadata"].get("name", ""))
    if applied["metadata"].get("uid"):
        raise conflict(
            call.kind,
            call.name,
            "uid mismatch: the provided object specified uid "
            f"{applied['metadata']['uid']}, and no existing object was found",
        )
    new = await _applied_to(backend, call, options, None, applied)
    new["metadata"].pop("resourceVersion", None)  # of no object that is there to compare it with
    managed = new["metadata"].pop("managedFields", [])
    return await create_document(backend, call, new, options, doubled, managed=managed)


async def _applied_to(
    backend: Backend, call: Call, options: WriteOptions, live: Doc | None, applied: Doc
) -> Doc:
    new = await in_versions(
        backend,
        call.kind,
        lambda versions: apply(
            live,
            applied,
            manager=options.manager,
            api_version=call.kind.api_version,
            now=backend.now(),
            subresource=call.route.subresource,
            force=bool(options.force),
            shape=shape_for(backend, call.kind),
            versions=versions,
        ),
    )
    conform_to_kind(new, call.kind)
    return new
