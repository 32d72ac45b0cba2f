"""Documents as the store keeps them, and as the wire carries them.

Stored bytes are the JSON of a document without `kind` and `apiVersion`, metadata first and in it
the resourceVersion first. So a list is a join, a watch event a prefix, and the revision can be put
in when it is known, all without encoding anything twice.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.request.message import Joined
from mooring.apiserver.store.contract import Entry, Put
from mooring.model.document import Doc

HEAD = b'{"metadata":{"resourceVersion":"'

_KIND_NAMES = ("kind", "apiVersion")
_CURRENT = "current:"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def to_put(doc: Doc) -> Put:
    """The document for the store; its resourceVersion is left for the store to fill in."""
    metadata = doc["metadata"]
    if "resourceVersion" in metadata:
        metadata = {**metadata}
        del metadata["resourceVersion"]
    stored = {"metadata": metadata, **doc}
    stored["metadata"] = metadata
    stored.pop("kind", None)
    stored.pop("apiVersion", None)
    body = _encode(stored)  # {"metadata":{...
    rest = body[len(b'{"metadata":{') :]
    return Put(HEAD, (b'",' if metadata else b'"') + rest)


def decode(kind: Kind, entry: Entry) -> Doc:
    """A fresh document, as clients of `kind` see it; the caller may change it."""
    doc: Doc = {"kind": kind.kind, "apiVersion": kind.api_version, **_decode(entry.value)}
    if kind.renew is not None and not _is_known_current(kind, entry):
        kind.renew(doc)
    return kind.from_stored(doc) if kind.from_stored else doc


def wire(kind: Kind, entry: Entry) -> bytes:
    """The whole object as JSON."""
    if kind.from_stored:
        return _encode(decode(kind, entry))
    if kind.renew is not None and not _is_known_current(kind, entry):
        return _renewed(kind, entry)
    return _prefix(kind) + entry.value[1:]


def is_as_stored(kind: Kind, entries: Sequence[Entry]) -> bool:
    """Whether the stored bytes of all of them are known to be what clients are to see."""
    if kind.from_stored:
        return False
    return kind.renew is None or all(_is_known_current(kind, entry) for entry in entries)


def _renewed(kind: Kind, entry: Entry) -> bytes:
    """The object by today's schema; remembers when that leaves the stored bytes as they are."""
    doc = decode(kind, entry)
    body = _encode(doc)
    if body == _prefix(kind) + entry.value[1:]:
        _memo(entry)[_CURRENT + kind.version] = kind
    return body


def written_by(kind: Kind, entry: Entry) -> None:
    """Note that `kind`, whose version is the one objects are stored in, has just made this entry:
    its bytes are what readers are to see."""
    if kind.renew is not None:
        _memo(entry)[_CURRENT + kind.version] = kind


def _is_known_current(kind: Kind, entry: Entry) -> bool:
    return entry.memo is not None and entry.memo.get(_CURRENT + kind.version) is kind


def _memo(entry: Entry) -> dict[str, Any]:
    if entry.memo is None:
        entry.memo = {}
    memo: dict[str, Any] = entry.memo
    return memo


def joined_items(kind: Kind, entries: Sequence[Entry], head: bytes, tail: bytes) -> Joined:
    """The objects as items of a list, not copied; not for kinds that are views of others."""
    if not kind.custom or not entries:
        return Joined([entry.value for entry in entries], b",", head, tail)
    prefix = _prefix(kind)
    return Joined(
        [memoryview(entry.value)[1:] for entry in entries], b"," + prefix, head + prefix, tail
    )


def encode_item(kind: Kind, entry: Entry) -> bytes:
    """An object as an item of a list: built-in kinds leave out `kind` and `apiVersion`."""
    doc = decode(kind, entry)
    return _encode({name: part for name, part in doc.items() if name not in _KIND_NAMES})


def encode(value: Any) -> bytes:
    return _encode(value)


@lru_cache(maxsize=256)
def _prefix(kind: Kind) -> bytes:
    head = _encode({"kind": kind.kind, "apiVersion": kind.api_version})
    return head[:-1] + b","


class Facts(msgspec.Struct):
    """What selectors ask of a stored object; worked out once per version, then kept with it."""

    labels: dict[str, str]
    fields: dict[str, str]


def facts(kind: Kind, entry: Entry) -> Facts:
    known = _memo(entry)
    found: tuple[Kind, Facts] | None = known.get(kind.api_version)
    if found is None or found[0] is not kind:  # a definition may offer other fields by now
        found = known[kind.api_version] = (kind, facts_of(kind, decode(kind, entry)))
    return found[1]


def facts_of(kind: Kind, doc: Doc) -> Facts:
    metadata = doc["metadata"]
    fields = {"metadata.name": metadata.get("name", "")}
    if kind.namespaced:
        fields["metadata.namespace"] = metadata.get("namespace", "")
    for name, read in kind.fields.items():
        fields[name] = read(doc)
    return Facts(metadata.get("labels") or {}, fields)
