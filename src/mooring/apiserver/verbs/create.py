"""POST: create an object."""

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.admission.namespace_lifecycle import check_creation
from mooring.apiserver.documents.document import metadata_of, written_by
from mooring.apiserver.documents.objects import store_name
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.options import WriteOptions
from mooring.apiserver.request.refusals import (
    already_exists,
    forbidden,
    name_space_exhausted,
    not_found,
)
from mooring.apiserver.store.contract import Entry, Put
from mooring.apiserver.verbs.answering import answer_doc, answer_entry
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.before_write import (
    generated_name,
    manager_of,
    prepare_new,
    single_owners,
)
from mooring.apiserver.verbs.changing import check_storage, stored_form
from mooring.apiserver.verbs.decoding import body_options, decode_body, with_warnings
from mooring.apiserver.verbs.stored_size import check_stored
from mooring.errors import AlreadyExists
from mooring.model.document import Doc

MOST_NAME_TRIES = 8
_TERMINATING = "create not allowed while custom resource definition is terminating"


async def create(backend: Backend, call: Call) -> Response:
    options = body_options(call, "CreateOptions")
    doc, warnings = decode_body(call, options.validation)
    with with_warnings(warnings):
        return await create_document(backend, call, doc, options, warnings)


async def create_document(
    backend: Backend,
    call: Call,
    doc: Doc,
    options: WriteOptions,
    warnings: list[str],
    *,
    managed: list[Doc] | None = None,
) -> Response:
    """Create what was decoded; also the end of an apply or PUT that found nothing to change.

    What there is to warn of is added to `warnings`, even if it is refused.
    """
    kind = call.kind
    if kind.terminating:
        raise forbidden(kind, doc.get("metadata", {}).get("name", ""), _TERMINATING)
    manager = manager_of(call, options.manager)
    is_generated = not doc.get("metadata", {}).get("name")
    warnings += single_owners(doc)
    doc = await prepare_new(backend, call, doc, manager=manager, managed=managed, warnings=warnings)
    warnings += kind.warnings(doc)
    if options.dry_run:
        name = store_name(kind, call.namespace, doc["metadata"]["name"])
        refuse_existing(kind, backend.store.get(kind.store_table, name))
        async with backend.charging.charged(kind, call.namespace, doc, dry_run=True):
            return answer_doc(backend, call, 201, doc, warnings)
    for attempt in range(MOST_NAME_TRIES if is_generated else 1):
        if attempt:
            doc["metadata"]["name"] = generated_name(backend, doc["metadata"])
            kind.defaults(doc)  # what follows from the name (a namespace's label)
        try:
            async with backend.charging.charged(kind, call.namespace, doc, dry_run=False):
                entry = await store_new(backend, call, doc)
            return answer_entry(backend, call, 201, entry, warnings)
        except AlreadyExists:
            if not is_generated:
                raise
    raise name_space_exhausted(kind, doc["metadata"]["name"])


async def store_new(backend: Backend, call: Call, doc: Doc) -> Entry:
    kind = call.kind
    conversions = None if kind.stored_as is None else backend.conversions
    converted = doc if conversions is None else await conversions.to_storage(kind, doc)
    shown = None if conversions is None else await conversions.as_shown(kind, converted)
    stored = stored_form(kind, converted)
    check_stored(stored)
    name = store_name(kind, call.namespace, doc["metadata"]["name"])

    def decide(existing: Entry | None) -> Put:
        refuse_existing(kind, existing)
        _refuse_late(backend, call, doc)
        check_storage(backend, kind)
        return stored

    entry = await backend.store.write(kind.store_table, name, decide)
    assert entry is not None  # noqa: S101  a Put always leaves an entry
    if backend.kinds.of_table(kind.store_table) is kind:
        written_by(kind, entry)
    if conversions is None:
        return entry
    conversions.written(kind, entry, shown)
    return await conversions.readable_one(kind, entry)


def _refuse_late(backend: Backend, call: Call, doc: Doc) -> None:
    """While webhooks were asked, its namespace or the definition of its kind may have gone.

    Whoever empties these has looked already: what came later would stay for ever.
    """
    kind, name = call.kind, doc["metadata"]["name"]
    if kind.structure is not None:
        now = backend.kinds.find(kind.group, kind.version, kind.plural)
        if now is None or now.namespaced is not kind.namespaced:
            raise not_found(kind, name)
        if now.terminating:
            raise forbidden(kind, name, _TERMINATING)
    attributes = AdmissionAttributes(Operation.CREATE, kind, call.user, call.namespace, name)
    check_creation(attributes, backend.objects)


def refuse_existing(kind: Kind, entry: Entry | None) -> None:
    if entry is not None:
        metadata = metadata_of(entry)
        raise already_exists(kind, metadata["name"], terminating="deletionTimestamp" in metadata)
