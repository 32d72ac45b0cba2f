"""PUT: replace an object, or its status."""

from mooring.apiserver.request.message import Response
from mooring.apiserver.request.options import WriteOptions
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.before_write import (
    change_warnings,
    check_uid,
    check_version,
    manager_of,
    match_namespace,
    prepare_change,
    single_owners,
)
from mooring.apiserver.verbs.changing import change
from mooring.apiserver.verbs.create import create_document
from mooring.apiserver.verbs.decoding import body_options, decode_body, with_warnings
from mooring.errors import BadRequest
from mooring.model.document import Doc


async def update(backend: Backend, call: Call) -> Response:
    options = body_options(call, "UpdateOptions")
    doc, warnings = decode_body(call, options.validation)
    with with_warnings(warnings):
        return await _update(backend, call, doc, options, warnings)


async def _update(
    backend: Backend, call: Call, doc: Doc, options: WriteOptions, warnings: list[str]
) -> Response:
    metadata = doc.setdefault("metadata", {})
    check_name(call, metadata.get("name", ""))
    match_namespace(call, metadata)
    manager = manager_of(call, options.manager)
    found = tuple(warnings)
    if call.kind.update_creates and not call.route.subresource:
        stored = backend.store.get(call.kind.store_table, call.store_name)
        if stored is None:
            check_uid(call.kind, call.name, metadata.get("uid", ""), "")
            metadata.pop("resourceVersion", None)
            return await create_document(backend, call, doc, options, warnings)

    async def prepare(old: Doc) -> Doc | None:
        new = {**doc, "metadata": {**metadata}}
        check_version(call.kind, old, new, is_put=True)
        warnings[:] = [*found, *single_owners(new)]
        prepared = await prepare_change(backend, call, old, new, manager=manager, warnings=warnings)
        warnings.extend(change_warnings(call.kind, new, old))
        return prepared

    return await change(backend, call, prepare, dry_run=options.dry_run, warnings=warnings)


def check_name(call: Call, name: str) -> None:
    if not name:
        raise BadRequest(
            f"the name of the object ({call.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != call.name:
        raise BadRequest(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )
