"""Tables: what `kubectl get` prints, laid out by the server.

All columns are always sent; clients hide the wide ones unless asked.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Any

from mooring.apiserver.documents.partial import partial
from mooring.apiserver.kinds.contract import Kind, Row
from mooring.apiserver.request.negotiation import META_V1
from mooring.errors import BadRequest
from mooring.model.age import age
from mooring.model.document import Doc
from mooring.model.field_error import invalid


class Include(Enum):
    """What of each object comes along with its row."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


def include(asked: str) -> Include:
    """Read the query parameter `includeObject`; empty means the metadata."""
    if not asked:
        return Include.METADATA
    try:
        return Include(asked)
    except ValueError:
        wrong = invalid("includeObject", asked, "must be 'Metadata', 'Object', 'None', or empty")
        raise BadRequest(f"Unable to convert to Table as requested: {wrong}") from None


def columns(kind: Kind) -> list[Doc]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority or int(column.wide),
        }
        for column in kind.columns
    ]


def row(
    kind: Kind,
    doc: Doc,
    now: str,
    along: Include = Include.METADATA,
    api_version: str = META_V1,
    print_cells: Row | None = None,
) -> Doc:
    """One object as a row; `now` (RFC 3339) is what ages are counted to."""
    cells = (print_cells or kind.row or _name_and_age)(doc, now)
    printed: Doc = {"cells": cells, "object": _object(doc, along, api_version)}
    conditions = kind.row_conditions(doc) if kind.row_conditions else None
    if conditions:
        printed["conditions"] = conditions
    return printed


def table(
    kind: Kind,
    docs: Iterable[Doc],
    list_metadata: Doc,
    now: str,
    along: Include = Include.METADATA,
    api_version: str = META_V1,
) -> Doc:
    """A list as a Table; `list_metadata` is what the plain list would have."""
    rows = [row(kind, doc, now, along, api_version) for doc in docs]
    return _table(columns(kind), rows, list_metadata, api_version)


def table_of_one(
    kind: Kind, doc: Doc, now: str, along: Include = Include.METADATA, api_version: str = META_V1
) -> Doc:
    """A single object as a Table."""
    return table(kind, (doc,), _version(doc), now, along, api_version)


class TableWatch:
    """The objects of one watch's events: one-row Tables, columns only in the first of them."""

    def __init__(
        self, kind: Kind, along: Include = Include.METADATA, api_version: str = META_V1
    ) -> None:
        self._kind = kind
        self._along = along
        self._api_version = api_version
        self._columns: list[Doc] | None = columns(kind)

    def changed(self, doc: Doc, now: str) -> Doc:
        """The object of an ADDED, MODIFIED or DELETED event."""
        return self._next(doc, row(self._kind, doc, now, self._along, self._api_version))

    def bookmark(self, doc: Doc) -> Doc:
        """The object of a BOOKMARK event; `doc` is the plain bookmark, which has nothing to print.

        Its metadata comes along even if none was asked for: it is all that a bookmark says.
        """
        along = Include.METADATA if self._along is Include.NONE else self._along
        blank = {
            "cells": [None] * len(self._kind.columns),
            "object": _object(doc, along, self._api_version),
        }
        return self._next(doc, blank)

    def _next(self, doc: Doc, only_row: Doc) -> Doc:
        head, self._columns = self._columns, None
        return _table(head, [only_row], _version(doc), self._api_version)


def _table(head: list[Doc] | None, rows: list[Doc], list_metadata: Doc, api_version: str) -> Doc:
    return {
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": list_metadata,
        "columnDefinitions": head,
        "rows": rows,
    }


def _name_and_age(doc: Doc, now: str) -> list[Any]:
    metadata = doc["metadata"]
    return [metadata.get("name", ""), age(metadata.get("creationTimestamp") or "", now)]


def _object(doc: Doc, along: Include, api_version: str) -> Doc | None:
    match along:
        case Include.NONE:
            return None
        case Include.METADATA:
            return partial(doc, api_version)
        case Include.OBJECT:
            return doc


def _version(doc: Doc) -> Doc:
    version = doc["metadata"].get("resourceVersion")
    return {"resourceVersion": version} if version else {}
