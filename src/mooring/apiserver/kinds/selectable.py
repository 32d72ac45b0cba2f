"""Fields that selectors may ask for: how to read each from a document, as text."""

from collections.abc import Callable

from mooring.model.document import Doc


def text(field: str) -> Callable[[Doc], str]:
    """A top-level text; absent reads as empty, which is what `field=` asks for."""

    def read(doc: Doc) -> str:
        return doc.get(field) or ""

    return read


def text_in(part: str, field: str) -> Callable[[Doc], str]:
    def read(doc: Doc) -> str:
        return doc.get(part, {}).get(field) or ""

    return read


def flag_in(part: str, field: str) -> Callable[[Doc], str]:
    def read(doc: Doc) -> str:
        return "true" if doc.get(part, {}).get(field) else "false"

    return read
