"""Objects in etcd where kube-apiserver keeps them, and as it does with JSON as its storage format.

Keys are `/registry/<resource>/[<namespace>/]<name>`, with the group before the resource for custom
kinds. A value is the whole document with `kind` and `apiVersion` and without resourceVersion, which
is the key's revision. Behind the document come sixteen blanks of four sorts that JSON ignores: they
tell one write from another with the same content.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from mooring.apiserver.documents.document import HEAD
from mooring.apiserver.store.contract import Entry, Put
from mooring.apiserver.store.etcd.layout import UnreadableValue
from mooring.errors import StoreError

DEFAULT_PREFIX = "/registry"
EVENT_SECONDS = 3600

# Those whose place is not their name.
_PLACES: Mapping[str, str] = {
    "nodes": "minions",
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "replicationcontrollers": "controllers",
}
# Groups that kube-apiserver keeps under their name, though their kinds are its own.
_GROUPED = ("apiextensions.k8s.io/",)

_BLANKS = b" \t\n\r"
_MARK_LENGTH = 16  # of blanks, two bits each
_BEGINNING = re.compile(
    rb'\{"kind":"[^"\\]*","apiVersion":"[^"\\]*","metadata":\{(?!"resourceVersion")'
)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode

TypeOf = Callable[[str], tuple[str, str] | None]
"""(table) -> the kind and apiVersion of what is stored in it; None: no kind has such a table."""


class DocumentLayout:
    """`builtin` are the tables of kinds that need no definition."""

    def __init__(self, prefix: str, builtin: tuple[str, ...], type_of: TypeOf) -> None:
        self.prefix = f"/{prefix.strip('/')}/".encode()
        self._type_of = type_of
        self._place_of = {table: _place(table) for table in builtin}
        self._table_at = {place: table for table, place in self._place_of.items()}

    def key(self, table: str, name: str) -> bytes:
        place = self._place_of.get(table, table)
        return b"%b%b/%b" % (self.prefix, place.encode(), name.encode())

    def find_place(self, key: bytes) -> tuple[str, str] | None:
        try:
            first, _, rest = key.removeprefix(self.prefix).decode().partition("/")
        except UnicodeDecodeError:
            return None
        if first in self._table_at:
            return (self._table_at[first], rest) if rest else None
        second, _, name = rest.partition("/")
        both = f"{first}/{second}"
        table = self._table_at.get(both, both if "." in first else "")
        return (table, name) if table and name else None

    def value(self, table: str, put: Put, mark: int) -> bytes:
        named = self._type_of(table)
        if named is None:
            raise StoreError(f"no kind is stored in {table}")
        kind, version = named
        # `","name":...`, or `"}...` of an object without any other metadata
        metadata = put.tail[2 if put.tail.startswith(b'",') else 1 :]
        return b'{"kind":"%b","apiVersion":"%b","metadata":{%b%b' % (
            kind.encode(),
            version.encode(),
            metadata,
            _blanks(mark),
        )

    def entry(self, table: str, name: str, value: bytes, revision: int) -> Entry:
        # What others put there ends otherwise, and is looked at: it may be cut off.
        found = _BEGINNING.match(value) if value[-_MARK_LENGTH:].isspace() else None
        metadata = value[found.end() :].rstrip() if found else self._metadata(table, name, value)
        join = b'"' if metadata.startswith(b"}") else b'",'
        return Entry(table, name, b"%b%d%b%b" % (HEAD, revision, join, metadata), revision)

    def restamped(self, entry: Entry, revision: int) -> Entry:
        rest = entry.value[len(HEAD) :].lstrip(b"0123456789")
        return Entry(entry.table, entry.name, b"%b%d%b" % (HEAD, revision, rest), revision)

    def seconds_to_live(self, table: str) -> int:
        return EVENT_SECONDS if table == "events" else 0

    def _metadata(self, table: str, name: str, value: bytes) -> bytes:
        """Of a document that somebody else wrote, from behind `"metadata":{` to its end."""
        key = self.key(table, name).decode()
        if value.startswith(b"k8s:enc:"):
            raise UnreadableValue(f"{key} in etcd is encrypted: mooring reads plain JSON only")
        if value.startswith(b"k8s\0"):
            raise UnreadableValue(
                f"{key} in etcd is protobuf: have kube-apiserver write JSON with "
                "--storage-media-type=application/json, and rewrite every object"
            )
        try:
            doc = _decode(value)
            metadata = doc.pop("metadata")
            metadata.pop("resourceVersion", None)
        except (msgspec.DecodeError, RecursionError, KeyError, AttributeError, TypeError):
            raise UnreadableValue(
                f"{key} in etcd is no object in JSON: remove it with etcdctl"
            ) from None
        rest = {part: doc[part] for part in doc if part not in ("kind", "apiVersion")}
        return _encode({"metadata": metadata, **rest})[len(b'{"metadata":{') :]


def _place(table: str) -> str:
    """Of a kind that is no custom one: its name alone, in whatever group it is."""
    if table.startswith(_GROUPED):
        return table
    group, _, plural = table.rpartition("/")
    return table if _is_custom(group) else _PLACES.get(plural, plural)


def _is_custom(group: str) -> bool:
    """Groups whose kinds are custom resources in Kubernetes, though they are built in here."""
    return group.endswith(
        ("snapshot.storage.k8s.io", "populator.storage.k8s.io", "cbt.storage.k8s.io")
    ) or group.startswith("gateway.")


def _blanks(mark: int) -> bytes:
    return bytes(_BLANKS[mark >> 2 * place & 3] for place in range(_MARK_LENGTH))
