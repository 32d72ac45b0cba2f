"""The roles and bindings of every cluster: created and completed at each start."""

import asyncio

from mooring.apiserver.auth.bootstrap_policy import BootstrapObject, bootstrap_objects
from mooring.apiserver.documents.document import decode
from mooring.apiserver.documents.objects import store_name
from mooring.apiserver.kinds.access_rules import GROUP
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.lifecycle.access_roles.decide import is_bound_elsewhere, reconciled
from mooring.apiserver.verbs.backend import Backend
from mooring.apiserver.verbs.delete import DeleteOptions
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from mooring.errors import AlreadyExists, Conflict, NotFound
from mooring.model.document import Doc


async def create_roles(backend: Backend, writer: InProcessWriter) -> None:
    """Raises: StoreError."""
    for objects in _by_turns(bootstrap_objects(backend.kinds.release)):
        await asyncio.gather(*(_ensure(backend, writer, each) for each in objects))


def _by_turns(objects: list[BootstrapObject], size: int = 16) -> list[list[BootstrapObject]]:
    """Few at a time, so that others have their turn in between."""
    return [objects[start : start + size] for start in range(0, len(objects), size)]


async def _ensure(backend: Backend, writer: InProcessWriter, wanted: BootstrapObject) -> None:
    kind = backend.kinds.find(GROUP, "v1", wanted.plural)
    if kind is None:
        raise LookupError(f"no kind {wanted.plural}")
    entry = backend.store.get(kind.store_table, store_name(kind, wanted.namespace, wanted.name))
    if entry is None:
        await _create(writer, kind, wanted)
        return
    found = decode(kind, entry)
    if is_bound_elsewhere(wanted.doc, found):
        await _delete(writer, kind, wanted, found)
        await _create(writer, kind, wanted)
    elif reconciled(wanted.doc, found) is not found:

        def completed(doc: Doc) -> Doc:
            return reconciled(wanted.doc, doc)

        await writer.replace(kind, wanted.namespace, wanted.name, completed)


async def _create(writer: InProcessWriter, kind: Kind, wanted: BootstrapObject) -> None:
    try:
        await writer.create(kind, wanted.namespace, wanted.doc)
    except (AlreadyExists, NotFound):
        return  # written by another client, or its namespace is gone


async def _delete(writer: InProcessWriter, kind: Kind, wanted: BootstrapObject, found: Doc) -> None:
    options = DeleteOptions(uid=found["metadata"]["uid"], policy="Background")
    try:
        await writer.delete(kind, wanted.namespace, wanted.name, options)
    except (NotFound, Conflict):
        return
