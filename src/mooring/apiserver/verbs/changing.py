"""The end that update, patch and apply share: write a changed document, or remove it when its
last finalizer is gone."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from mooring.apiserver.documents.document import decode, to_put
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.refusals import not_found
from mooring.apiserver.store.contract import Change, Entry, Put, Remove
from mooring.apiserver.verbs.answering import answer_doc, answer_entry
from mooring.apiserver.verbs.at_once import write_decided
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.stored_size import check_stored
from mooring.model.document import Doc

Prepare = Callable[[Doc], Coroutine[Any, Any, Doc | None]]
"""(the stored document) -> the one to replace it, or None to leave it. Waits for webhooks alone."""


async def change(
    backend: Backend, call: Call, prepare: Prepare, *, dry_run: bool, warnings: list[str]
) -> Response:
    """Change the object the call names. Raises NotFound when there is none."""
    kind = call.kind
    gone: Doc | None = None

    async def decide(entry: Entry | None) -> Change:
        nonlocal gone
        if entry is None:
            raise not_found(kind, call.name)
        new = await prepare(decode(kind, entry))
        if new is None:
            return None
        gone = new if is_gone(kind, new) else None
        return change_of(kind, new, entry)

    if dry_run:
        return answer_doc(backend, call, 200, await _dry(backend, call, prepare), warnings)
    async with _charged(backend, call, prepare, warnings):
        entry = await write_decided(backend.store, kind.store_table, call.store_name, decide)
    assert entry is not None  # noqa: S101  decide refuses what is absent
    if gone is not None:  # what let it go was the last to see it, at the version it had
        return answer_doc(backend, call, 200, gone, warnings)
    return answer_entry(backend, call, 200, entry, warnings)


@asynccontextmanager
async def _charged(
    backend: Backend, call: Call, prepare: Prepare, warnings: list[str]
) -> AsyncIterator[None]:
    """A claim that grows takes more of its namespace's quotas. Raises: Forbidden."""
    is_claim = call.kind.resource == "persistentvolumeclaims" and not call.route.subresource
    entry = backend.store.get(call.kind.store_table, call.store_name) if is_claim else None
    if entry is None or not backend.charging.quotas(call.namespace):
        yield
        return
    said = list(warnings)
    old = decode(call.kind, entry)
    new = await prepare(decode(call.kind, entry)) or old
    warnings[:] = said  # they are told when it is written
    async with backend.charging.charged(call.kind, call.namespace, new, old, dry_run=False):
        yield


async def _dry(backend: Backend, call: Call, prepare: Prepare) -> Doc:
    entry = backend.store.get(call.kind.store_table, call.store_name)
    if entry is None:
        raise not_found(call.kind, call.name)
    old = decode(call.kind, entry)
    return await prepare(decode(call.kind, entry)) or old


def change_of(kind: Kind, doc: Doc, entry: Entry | None = None) -> Change:
    """What to write so that the store holds `doc`: nothing at all, once a deletion is complete.

    With `entry`, what it replaces, watchers are shown that as its last state, not what let it go.
    """
    if not is_gone(kind, doc):
        new = stored_form(kind, doc)
        if entry is not None:
            check_stored(new, entry)
        return new
    return Remove(stored_form(kind, doc if entry is None else decode(kind, entry)))


def stored_form(kind: Kind, doc: Doc) -> Put:
    return to_put(kind.to_stored(doc) if kind.to_stored else doc)


def is_gone(kind: Kind, doc: Doc) -> bool:
    """Whether it is being deleted, its grace period is over, and it has no finalizers."""
    metadata = doc["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("deletionGracePeriodSeconds")
        and not is_held(kind, doc)
    )


def is_held(kind: Kind, doc: Doc) -> bool:
    return bool(doc["metadata"].get("finalizers")) or kind.also_held(doc)
