"""Documents by kind, read from the store: what admission and authorization look things up in."""

from collections.abc import Iterator

from mooring.apiserver.documents.document import decode
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.store.contract import Entry, Store
from mooring.model.document import Doc

MOST_DECODED = 1024


def store_name(kind: Kind, namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if kind.namespaced else name


def store_prefix(kind: Kind, namespace: str) -> str:
    return f"{namespace}/" if kind.namespaced and namespace else ""


class Objects:
    """The newest readable documents. Decoded ones are kept for a while: do not change them."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self._store = store
        self._kinds = kinds
        self._decoded: dict[tuple[str, str], tuple[int, Doc]] = {}

    def find(self, plural: str, namespace: str, name: str, group: str = "") -> Doc | None:
        kind = self._kind(plural, group)
        entry = self._store.get(kind.store_table, store_name(kind, namespace, name))
        return None if entry is None else self.read(kind, entry)

    def all(self, plural: str, namespace: str = "", group: str = "") -> Iterator[Doc]:
        kind = self._kind(plural, group)
        page = self._store.range(kind.store_table, store_prefix(kind, namespace))
        return (decode(kind, entry) for entry in page.entries)

    def read(self, kind: Kind, entry: Entry) -> Doc:
        """The document of an entry, from the cache when it is there."""
        place = (entry.table, entry.name)
        known = self._decoded.get(place)
        if known is not None and known[0] == entry.revision:
            return known[1]
        doc = decode(kind, entry)
        if len(self._decoded) >= MOST_DECODED:
            self._decoded.clear()
        self._decoded[place] = (entry.revision, doc)
        return doc

    def _kind(self, plural: str, group: str) -> Kind:
        for kind in self._kinds.all():
            if kind.plural == plural and kind.group == group:
                return kind
        raise LookupError(f"no kind {plural}.{group}")
