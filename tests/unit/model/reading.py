"""Reading a document both ways a controller gets it: as JSON bytes and as a decoded object."""

import json
from typing import Any, TypeVar

from mooring.model.meta import ApiObject
from mooring.model.wire import json_decoder, read_document

T = TypeVar("T", bound=ApiObject)


def read(document: dict[str, Any], kind: type[T]) -> T:
    """`document` as `kind`, which must be where the document says it comes from."""
    assert document["apiVersion"] == kind.resource.api_version
    assert document["kind"] == kind.resource.kind
    known = read_document(document, kind)
    newer = {**document, "fieldOfTomorrow": {"a": [1, None]}}
    assert json_decoder(kind).decode(json.dumps(newer).encode()) == known
    return known
