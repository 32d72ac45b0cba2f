"""Documents as the store keeps them, and as the wire carries them.

Stored bytes are the JSON of a document without `kind` and `apiVersion`, metadata first and in it
the resourceVersion first. So a list is a join, a watch event a prefix, and the revision can be put
in when it is known, all without encoding anything twice.

Of custom objects the `apiVersion` that they are stored in stands at the end: their definition may
have several, and another one tomorrow.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from mooring.apiserver.kinds.contract import Kind, StoredAs
from mooring.apiserver.request.message import Joined
from mooring.apiserver.store.contract import Entry, Put
from mooring.model.document import Doc

HEAD = b'{"metadata":{"resourceVersion":"'

_KIND_NAMES = ("kind", "apiVersion")
_CURRENT = "current:"
_MARK, _MARK_END = b',"apiVersion":"', b'"}'
_LONGEST_MARK = 400  # bytes: group and version have at most 253 and 63

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def to_put(doc: Doc, *, is_marked: bool = False) -> Put:
    """The document for the store; its resourceVersion is left for the store to fill in.

    A marked one says the version that it is stored in.
    """
    metadata = doc["metadata"]
    if "resourceVersion" in metadata:
        metadata = {**metadata}
        del metadata["resourceVersion"]
    stored = {"metadata": metadata, **doc}
    stored["metadata"] = metadata
    stored.pop("kind", None)
    version = stored.pop("apiVersion", None)
    if is_marked:
        stored["apiVersion"] = version
    body = _encode(stored)  # {"metadata":{...
    rest = body[len(b'{"metadata":{') :]
    return Put(HEAD, (b'",' if metadata else b'"') + rest)


def decode(kind: Kind, entry: Entry) -> Doc:
    """A fresh document, as clients of `kind` see it; the caller may change it."""
    if kind.renew is not None and not _is_known_current(kind, entry):
        doc = decode_as_stored(kind, entry)
        kind.renew(doc)
    else:
        doc = {"kind": kind.kind, "apiVersion": kind.api_version, **_decode(entry.value)}
    return kind.from_stored(doc) if kind.from_stored else doc


def decode_as_stored(kind: Kind, entry: Entry) -> Doc:
    """A fresh document in the version that it is stored in, whichever of `kind`'s that is."""
    version = kind.stored_as.unmarked if kind.stored_as else kind.api_version
    return {"kind": kind.kind, "apiVersion": version, **_decode(entry.value)}


def metadata_of(entry: Entry) -> Doc:
    """What the server itself goes by; of a custom object in the version that it is stored in."""
    metadata: Doc = _decode(entry.value)["metadata"]
    return metadata


def stored_version(stored: StoredAs, entry: Entry) -> str:
    """The apiVersion that an object is stored in."""
    value = entry.value
    at = value.rfind(_MARK, -_LONGEST_MARK)
    version = value[at + len(_MARK) : -len(_MARK_END)]
    # Inside a string its quotes were escaped; in an object below, more braces would follow.
    is_marked = at >= 0 and value.endswith(_MARK_END) and b'"' not in version
    return version.decode() if is_marked else stored.unmarked


def are_stored_as(kind: Kind, entries: Sequence[Entry]) -> bool:
    """Whether all of them say that they are stored in the version of `kind`."""
    mark = _mark(kind)
    return all([entry.value.endswith(mark) for entry in entries])


def wire(kind: Kind, entry: Entry) -> bytes:
    """The whole object as JSON."""
    if kind.from_stored:
        return _encode(decode(kind, entry))
    if kind.renew is None:
        return _prefix(kind) + entry.value[1:]
    if not _is_known_current(kind, entry):
        return _renewed(kind, entry)
    return _unmarked(kind, entry)


def _unmarked(kind: Kind, entry: Entry) -> bytes:
    """The bytes of an object that is stored in the version of `kind`, as clients see it."""
    value, mark = entry.value, _mark(kind)
    if value.endswith(mark):
        return b"".join((_prefix(kind), memoryview(value)[1 : -len(mark)], b"}"))
    return _prefix(kind) + value[1:]


def is_as_stored(kind: Kind, entries: Sequence[Entry]) -> bool:
    """Whether the stored bytes of all of them are known to be what clients are to see."""
    if kind.from_stored:
        return False
    return kind.renew is None or all(_is_known_current(kind, entry) for entry in entries)


def _renewed(kind: Kind, entry: Entry) -> bytes:
    """The object by today's schema; remembers when that leaves the stored bytes as they are."""
    doc = decode(kind, entry)
    body = _encode(doc)
    if body == _unmarked(kind, entry):
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
    prefix, mark = _prefix(kind), _mark(kind)
    return Joined(_bodies(entries, mark), b"}," + prefix, head + prefix, b"}" + tail)


def _bodies(entries: Sequence[Entry], mark: bytes) -> list[memoryview]:
    """What is between the braces of stored objects, but for their versions."""
    size = len(mark)
    return [
        memoryview(value)[1:-size] if value.endswith(mark) else memoryview(value)[1:-1]
        for value in [entry.value for entry in entries]
    ]


def encode_item(kind: Kind, entry: Entry) -> bytes:
    """An object as an item of a list: built-in kinds leave out `kind` and `apiVersion`."""
    doc = decode(kind, entry)
    return _encode({name: part for name, part in doc.items() if name not in _KIND_NAMES})


def encode(value: Any) -> bytes:
    return _encode(value)


def decode_json(value: bytes) -> Doc:
    return _decode(value)


@lru_cache(maxsize=256)
def _mark(kind: Kind) -> bytes:
    """How the stored objects of this version end."""
    return _MARK + kind.api_version.encode() + _MARK_END


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
