"""Plain paths into a document (`.spec.replicas`): of scales and of fields to select by."""

from collections.abc import Callable
from typing import Any

import msgspec

from mooring.model.document import Doc

Names = tuple[str, ...]


def names_of(path: str) -> Names:
    return tuple(path.removeprefix(".").split("."))


def find(doc: Any, names: Names) -> Any:
    """The value at the end; None where it, or something on the way, is missing."""
    for name in names:
        if not isinstance(doc, dict):
            return None
        doc = doc.get(name)
    return doc


def put(doc: Doc, names: Names, value: Any) -> None:
    """Set the value at the end of a path; objects on the way are copied first."""
    *above, last = names
    for name in above:
        inner = doc.get(name)
        doc[name] = dict(inner) if isinstance(inner, dict) else {}
        doc = doc[name]
    doc[last] = value


def text_at(names: Names) -> Callable[[Doc], str]:
    """Reads a field as text for selectors; absent reads as empty."""

    def read(doc: Doc) -> str:
        value = find(doc, names)
        if value is None:
            return ""
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()

    return read
