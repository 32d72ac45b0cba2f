"""GET of a collection: selectors, pages, consistent snapshots."""

import base64
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import msgspec

from mooring.apiserver.documents.document import (
    encode,
    encode_item,
    facts,
    is_as_stored,
    joined_items,
    wire,
)
from mooring.apiserver.documents.objects import store_prefix
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.request.message import Answer, Body, Response
from mooring.apiserver.request.negotiation import What
from mooring.apiserver.request.options import ListOptions, list_options
from mooring.apiserver.store.contract import Entry
from mooring.apiserver.verbs.answering import list_in_form
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.long_lists import made_list
from mooring.apiserver.verbs.reading import catch_up
from mooring.apiserver.verbs.selecting import Selection, selection_in_turn
from mooring.errors import BadRequest, Compacted, Expired, FutureRevision

NOW = 0  # in place of a revision: as it is when it is asked for
PAGE = 2000  # entries looked at per step when a selector thins them out
SHORT = 16_384  # bytes of a list that is sent in one piece


class Continue(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ended: behind which name, in which snapshot."""

    after: str
    revision: int

    def token(self) -> str:
        return base64.urlsafe_b64encode(encode(self)).decode()


class Found(msgspec.Struct, frozen=True):
    entries: Sequence[Entry]
    revision: int
    next: str = ""  # the token of the next page
    remaining: int = 0  # behind this page; 0 when a selector makes it unknown


async def list_objects(backend: Backend, call: Call) -> Answer:
    options = list_options(call.request.query)
    wanted = await catch_up(backend, options.version)
    found = await find_page(backend, call, options, wanted)
    metadata: dict[str, Any] = {"resourceVersion": str(found.revision)}
    if call.kind.custom or found.next:
        metadata["continue"] = found.next
    if found.remaining:
        metadata["remainingItemCount"] = found.remaining
    if call.form.what is not What.OBJECT:
        return list_in_form(backend, call, found.entries, metadata)
    return Response(200, list_body(backend, call.kind, found.entries, metadata))


def list_body(
    backend: Backend, kind: Kind, entries: Sequence[Entry], metadata: dict[str, Any]
) -> Body:
    """The list as JSON: built-in kinds leave out `kind` and `apiVersion` of its items."""
    head = list_head(kind, metadata)
    if not is_as_stored(kind, entries):
        item = wire if kind.custom else encode_item
        return made_list(backend.turns, map(partial(item, kind), entries), head, b"]}")
    body = joined_items(kind, entries, head, b"]}")
    return b"".join(body) if body.length <= SHORT else body


async def find_page(backend: Backend, call: Call, options: ListOptions, wanted: int) -> Found:
    """The entries that answer the list, as of one revision."""
    chosen = await selection_in_turn(backend, call.kind, options)
    # A page of a certain version is of that very version, as with `Exact`: so it was before
    # `resourceVersionMatch` came, and clients that page this way never see two versions.
    is_exact = options.match == "Exact" or (options.limit and not options.match)
    after, revision = "", wanted if is_exact else 0
    if options.token:
        after, revision = read_token(options.token)
        if options.version not in ("", "0"):
            raise BadRequest("specifying resource version is not allowed when using continue")
    try:
        return await _page(backend, call, chosen, after, options.limit, revision)
    except Compacted as error:
        raise (_expired(after) if options.token else Expired(str(error))) from error
    except FutureRevision as error:
        raise BadRequest(f"invalid continue token: {error}") from error


def _expired(after: str) -> Expired:
    """With a token for a client that goes on all the same, with what is there now."""
    expired = Expired(
        "The provided continue parameter is too old to display a consistent list result. You may "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results, which may be inconsistent."
    )
    expired.metadata["continue"] = Continue(after, NOW).token()
    return expired


async def _page(
    backend: Backend, call: Call, chosen: Selection, after: str, limit: int, revision: int
) -> Found:
    table, prefix = call.kind.store_table, store_prefix(call.kind, call.namespace)
    if chosen.is_all:
        page = backend.store.range(table, prefix, after=after, limit=limit, revision=revision)
        token = Continue(page.entries[-1].name, page.revision).token() if page.more else ""
        shown = await backend.conversions.readable(call.kind, page.entries)
        return Found(shown, page.revision, token, page.remaining)
    entries: list[Entry] = []
    working = backend.turns.slice()
    while True:
        page = backend.store.range(
            table, prefix, after=after, limit=PAGE if limit else 0, revision=revision
        )
        revision = page.revision
        for entry in await backend.conversions.readable(
            call.kind, page.entries
        ):  # of one version, whatever happens during a pause
            if working.is_over:
                await working.pause()
            if chosen.picks(facts(call.kind, entry)):
                if limit and len(entries) == limit:
                    return Found(entries, revision, Continue(entries[-1].name, revision).token())
                entries.append(entry)
        if not page.more:
            return Found(entries, revision)
        after = page.entries[-1].name


async def matching(backend: Backend, call: Call, options: ListOptions) -> Sequence[Entry]:
    """Everything in the collection that the selectors pick, now."""
    chosen = await selection_in_turn(backend, call.kind, options)
    page = await _page(backend, call, chosen, "", options.limit, 0)
    return page.entries


def read_token(text: str) -> tuple[str, int]:
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(text), type=Continue)
    except (ValueError, msgspec.DecodeError) as error:
        why = f"invalid continue token: continue key is not valid: {error}"
        raise BadRequest(why) from error
    return token.after, token.revision


def list_head(kind: Kind, metadata: dict[str, Any]) -> bytes:
    return _opening(kind) + encode(metadata) + b',"items":['


@lru_cache(maxsize=256)
def _opening(kind: Kind) -> bytes:
    head = encode({"kind": kind.list_kind, "apiVersion": kind.api_version})
    return head[:-1] + b',"metadata":'
