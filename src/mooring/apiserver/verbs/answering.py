"""From an entry or a document to the answer, in the form the client asked for."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from mooring.apiserver.documents.document import decode, encode, wire
from mooring.apiserver.documents.partial import partial, partial_list
from mooring.apiserver.documents.table import Include, TableWatch, include, row, table, table_of_one
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.negotiation import What
from mooring.apiserver.request.options import first, parse_query
from mooring.apiserver.schema.fill import fill
from mooring.apiserver.store.contract import Entry
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.long_lists import made_list
from mooring.errors import NotAcceptable
from mooring.model.document import Doc

MOST_WARNED = 4096  # characters of all warnings of an answer, before they are shortened
LONGEST_WARNING = 256  # characters of each, then


def answer_entry(
    backend: Backend, call: Call, status: int, entry: Entry, warnings: Iterable[str]
) -> Response:
    """A stored object: its bytes go out as they are."""
    if call.form.what is What.OBJECT:
        return Response(status, wire(call.kind, entry), headers=warning_headers(warnings))
    return answer_doc(backend, call, status, decode(call.kind, entry), warnings)


def answer_doc(
    backend: Backend, call: Call, status: int, doc: Doc, warnings: Iterable[str]
) -> Response:
    """A document that is not in the store, as after a dry run."""
    shown = _shown(backend, call, doc)
    return Response(status, encode(shown), headers=warning_headers(warnings))


def _shown(backend: Backend, call: Call, doc: Doc) -> Doc:
    version = call.form.api_version
    match call.form.what:
        case What.OBJECT:
            return doc
        case What.TABLE:
            return table_of_one(call.kind, doc, backend.now(), _include(call), version)
        case What.PARTIAL:
            return partial(doc, version)
        case What.PARTIAL_LIST:
            raise NotAcceptable("a single object cannot be shown as PartialObjectMetadataList")


def answer_status(kind: Kind, name: str, uid: str, warnings: Iterable[str] = ()) -> Response:
    """`Success`, for deletions that do not return the object."""
    details = {"name": name, "group": kind.group, "kind": kind.plural, "uid": uid}
    body = encode(success({k: v for k, v in details.items() if v}))
    return Response(200, body, headers=warning_headers(warnings))


def success(details: Mapping[str, str] | None = None, code: int | None = None) -> Doc:
    doc: Doc = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        doc["details"] = details
    if code:
        doc["code"] = code
    return doc


def list_in_form(
    backend: Backend, call: Call, entries: Iterable[Entry], metadata: dict[str, Any]
) -> Response:
    """A list as a Table or as metadata only."""
    kind, version, now = call.kind, call.form.api_version, backend.now()
    along = _include(call)
    is_table = call.form.what is What.TABLE

    print_cells = kind.row
    if is_table and kind.list_row is not None:
        entries = list(entries)
        print_cells = kind.list_row([decode(kind, entry) for entry in entries])

    def made(entry: Entry) -> bytes:
        doc = decode(kind, entry)
        if is_table:
            return encode(row(kind, doc, now, along, version, print_cells))
        return encode(partial(doc, version))

    if is_table:
        empty = table(kind, (), metadata, now, along, version)
    else:
        empty = partial_list((), metadata, version)
    items = map(made, entries)
    head, tail = encode(empty)[:-2], b"]}"  # the list of items is the last thing in it
    return Response(200, made_list(backend.turns, items, head, tail))


def warning_headers(warnings: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Each text once; when they are long, their beginnings and no more than fit, as upstream."""
    if not warnings:
        return ()
    told = list(dict.fromkeys(filter(None, warnings)))
    if sum(map(len, told)) > MOST_WARNED:
        told = list(_beginnings(told))
    return tuple([("Warning", f'299 - "{_quoted(text)}"') for text in told])


def _beginnings(texts: Iterable[str]) -> Iterator[str]:
    written = 0
    for text in texts:
        if written >= MOST_WARNED:
            return
        yield text[:LONGEST_WARNING]
        written += len(text[:LONGEST_WARNING])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _include(call: Call) -> Include:
    return include(first(parse_query(call.request.query), "includeObject"))


class WatchForm(Protocol):
    """How a watcher sees events."""

    is_shared: bool  # every watcher of the kind gets the same bytes

    def line(self, event_type: str, entry: Entry) -> bytes: ...

    def bookmark(self, revision: int, annotations: Mapping[str, str]) -> bytes: ...


def watch_form(backend: Backend, call: Call) -> WatchForm:
    if call.form.what is What.TABLE:
        watch = TableWatch(call.kind, _include(call), call.form.api_version)
        return _Tables(backend, call.kind, watch)
    if call.form.what is What.OBJECT:
        return _Objects(call.kind)
    return _Partials(call.kind, call.form.api_version)


class _Objects:
    is_shared = True

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def line(self, event_type: str, entry: Entry) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (event_type.encode(), wire(self._kind, entry))

    def bookmark(self, revision: int, annotations: Mapping[str, str]) -> bytes:
        return _event("BOOKMARK", bookmark_doc(self._kind, revision, annotations))


class _Partials:
    is_shared = False

    def __init__(self, kind: Kind, api_version: str) -> None:
        self._kind = kind
        self._api_version = api_version

    def line(self, event_type: str, entry: Entry) -> bytes:
        return _event(event_type, partial(decode(self._kind, entry), self._api_version))

    def bookmark(self, revision: int, annotations: Mapping[str, str]) -> bytes:
        doc = bookmark_doc(self._kind, revision, annotations)
        return _event("BOOKMARK", partial(doc, self._api_version))


class _Tables:
    is_shared = False

    def __init__(self, backend: Backend, kind: Kind, tables: TableWatch) -> None:
        self._backend = backend
        self._kind = kind
        self._tables = tables

    def line(self, event_type: str, entry: Entry) -> bytes:
        now = self._backend.now()
        return _event(event_type, self._tables.changed(decode(self._kind, entry), now))

    def bookmark(self, revision: int, annotations: Mapping[str, str]) -> bytes:
        return _event(
            "BOOKMARK", self._tables.bookmark(bookmark_doc(self._kind, revision, annotations))
        )


def bookmark_doc(kind: Kind, revision: int, annotations: Mapping[str, str]) -> Doc:
    metadata: Doc = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = dict(annotations)
    doc: Doc = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
    if not kind.custom:
        fill(doc, kind.message)
    return doc


def _event(event_type: str, shown: Doc) -> bytes:
    return encode({"type": event_type, "object": shown}) + b"\n"
