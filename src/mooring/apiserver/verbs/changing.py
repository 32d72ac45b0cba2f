"""The end that update, patch and apply share: write a changed document, or remove it when its
last finalizer is gone."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from mooring.apiserver.documents.document import (
    decode,
    decode_as_stored,
    stored_version,
    to_put,
)
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.refusals import not_found
from mooring.apiserver.store.contract import Change, Entry, Put, Remove
from mooring.apiserver.verbs.answering import answer_doc, answer_entry
from mooring.apiserver.verbs.at_once import write_decided
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.stored_size import check_stored
from mooring.errors import TooManyRequests
from mooring.model.document import Doc

Prepare = Callable[[Doc], Coroutine[Any, Any, Doc | None]]
"""(the stored document) -> the one to replace it, or None to leave it. Waits for webhooks alone."""


class Changed(msgspec.Struct, frozen=True):
    """What has become of an object."""

    entry: Entry  # as the kind that was written shows it
    gone: Doc | None = None  # what let it go, when its last finalizer was removed


async def change(
    backend: Backend, call: Call, prepare: Prepare, *, dry_run: bool, warnings: list[str]
) -> Response:
    """Change the object the call names. Raises NotFound when there is none."""
    if dry_run:
        return answer_doc(backend, call, 200, await _dry(backend, call, prepare), warnings)
    async with _charged(backend, call, prepare, warnings):
        changed = await write_change(backend, call, prepare)
    if changed.gone is not None:  # what let it go was the last to see it, at the version it had
        return answer_doc(backend, call, 200, changed.gone, warnings)
    return answer_entry(backend, call, 200, changed.entry, warnings)


async def write_change(backend: Backend, call: Call, prepare: Prepare) -> Changed:
    """Raises NotFound when there is no such object."""
    kind, conversions = call.kind, backend.conversions
    gone: Doc | None = None
    shown: Doc | None = None

    async def decide(entry: Entry | None) -> Change:
        nonlocal gone, shown
        if entry is None:
            raise not_found(kind, call.name)
        gone, shown = None, None
        seen = await conversions.readable_one(kind, entry)
        new = await prepare(decode(kind, seen))
        if new is None:
            if not is_outdated(kind, entry):
                return None
            new = decode(kind, seen)
        if is_gone(kind, new):
            gone = new
            return change_of(kind, new, entry)
        stored = await conversions.to_storage(kind, new)
        shown = await conversions.as_shown(kind, stored)
        return change_of(kind, stored, entry)

    entry = await write_decided(
        backend.store,
        kind.store_table,
        call.store_name,
        decide,
        check_late=lambda: check_storage(backend, kind),
    )
    assert entry is not None  # noqa: S101  decide refuses what is absent
    if gone is not None:
        return Changed(entry, gone)
    conversions.written(kind, entry, shown)
    return Changed(await conversions.readable_one(kind, entry))


@asynccontextmanager
async def _charged(
    backend: Backend, call: Call, prepare: Prepare, warnings: list[str]
) -> AsyncIterator[None]:
    """A claim that grows takes more of its namespace's quotas, a change may bring an object into
    the scope of one. Raises: Forbidden."""
    may_take = not call.route.subresource and backend.charging.heeds_changes(
        call.kind, call.namespace
    )
    entry = backend.store.get(call.kind.store_table, call.store_name) if may_take else None
    if entry is None:
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
    entry = await backend.conversions.readable_one(call.kind, entry)
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
    return Remove(stored_form(kind, doc if entry is None else last_state(kind, entry)))


def last_state(kind: Kind, entry: Entry) -> Doc:
    """What is stored, in the version that it is stored in: nobody is asked to convert it."""
    return decode_as_stored(kind, entry) if kind.stored_as else decode(kind, entry)


def is_outdated(kind: Kind, entry: Entry) -> bool:
    """Whether it is stored in another version than objects of its kind are to be stored in now:
    then an update that changes nothing stores it anew."""
    stored = kind.stored_as
    return stored is not None and stored_version(stored, entry) != stored.storage


def check_storage(backend: Backend, kind: Kind) -> None:
    """While webhooks were asked, the definition may have begun to store objects in another version.

    Whoever migrates to that one has looked already: what came in the older one later would be
    lost with it. Raises: TooManyRequests.
    """
    if kind.stored_as is None:
        return
    now = backend.kinds.of_table(kind.store_table)
    if now is None or now.stored_as is None or now.stored_as.storage == kind.stored_as.storage:
        return
    raise TooManyRequests(
        f"the version that {kind.plural}.{kind.group} are stored in has changed: please try again",
        retry_after=1,
    )


def stored_form(kind: Kind, doc: Doc) -> Put:
    """For the store, in the version that the document says it is of."""
    if kind.stored_as is not None:
        return to_put(doc, is_marked=True)
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
