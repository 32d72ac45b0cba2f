"""`metadata.managedFields`: the owners of fields, and how a write changes them.

The identity of an entry is its manager, operation and subresource and, unless it comes from
server-side apply, its API version. Lists made here may share entries with the ones they were made
from; entries are never changed in place.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec

from mooring.apiserver.patching.changes import Changes, compare, created
from mooring.apiserver.patching.field_set import (
    FieldSet,
    difference,
    intersection,
    ordered,
    parse,
    union,
)
from mooring.apiserver.patching.shape import Shape
from mooring.apiserver.patching.versions import Versions, changes_elsewhere
from mooring.model.document import Doc

APPLY = "Apply"
UPDATE = "Update"

MOST_UPDATERS = 10
LONGEST_MANAGER = 128  # bytes
ANCIENT = "ancient-changes"


class Owner(msgspec.Struct, frozen=True):
    """The identity of an entry."""

    manager: str
    operation: str
    api_version: str  # "" of appliers: they keep their entry over versions
    subresource: str


class Entry(msgspec.Struct, frozen=True):
    """What an owner owns, since when."""

    owner: Owner
    api_version: str
    time: str  # "": unknown
    fields: FieldSet

    def doc(self) -> Doc:
        owner = self.owner
        out: Doc = {"manager": owner.manager} if owner.manager else {}
        out["operation"] = owner.operation
        out["apiVersion"] = self.api_version
        if self.time:
            out["time"] = self.time
        out["fieldsType"] = "FieldsV1"
        out["fieldsV1"] = self.fields
        if owner.subresource:
            out["subresource"] = owner.subresource
        return out


Entries = dict[Owner, Entry]
Shares = dict[Owner, FieldSet]

_encode = msgspec.json.Encoder().encode

_MOST_SHARES = 256
_LONGEST_KEY = 8192  # bytes
_SHARES: dict[bytes, Shares] = {}  # by old entries, changes and writer


def manager_name(field_manager: str, user_agent: str) -> str:
    """The field manager: of the request or, without one, from the User-Agent."""
    if field_manager:
        return field_manager
    product = user_agent.partition("/")[0]
    if product.isascii() and product.isprintable() and len(product) <= LONGEST_MANAGER:
        return product or "unknown"
    name = ""
    size = 0
    for character in product:
        if not character.isprintable():
            continue
        size += len(character.encode("utf-8", "replace"))
        if size > LONGEST_MANAGER:
            break
        name += character
    return name or "unknown"


def after_update(  # noqa: PLR0913 -- each is a fact of the request, and said by name
    old: Doc | None,
    new: Doc,
    *,
    manager: str,
    api_version: str,
    now: str,
    subresource: str,
    shape: Shape,
    versions: Versions | None = None,
) -> list[Doc]:
    """The managedFields of `new`, which a create (no `old`), update or patch is about to store.

    The fields that the write changed belong to the writer alone; removed ones have no owner; the
    rest is unchanged. Documents without managedFields stay so, until they are applied. `versions`
    are given when fields have other names in other versions. Raises: Unconverted.
    """
    given = new["metadata"].get("managedFields")
    if old is None and not given:
        fields = created(new, shape, subresource)
        owner = Owner(manager, UPDATE, api_version, subresource)
        return [Entry(owner, api_version, now, fields).doc()] if fields else []

    stored = (old or {}).get("metadata", {}).get("managedFields") or []
    entries = existing(_known_entries(stored, given, subresource), versions)
    if not entries and old is not None:
        return []
    changes = compare(old or {}, new, shape, subresource)
    if not changes.written and not changes.removed:
        return encoded(entries.values()) if given and given != stored else stored
    owner = Owner(manager, UPDATE, api_version, subresource)
    after: Entries = {}
    written_in = (entry.api_version for entry in entries.values())
    elsewhere = changes_elsewhere(versions, written_in, old or {}, new, subresource)
    for each, fields in _shares_after(entries, changes, owner, elsewhere).items():
        if each == owner and changes.written:
            after[owner] = Entry(owner, api_version, now, fields)
        else:
            known = entries[each]
            after[each] = Entry(each, known.api_version, known.time, fields)
    return encoded(_folded(after).values())


def existing(entries: Entries, versions: Versions | None) -> Entries:
    """Without those of versions that are no more: nobody knows what their fields are."""
    if versions is None:
        return entries
    return {o: entry for o, entry in entries.items() if versions.exists(entry.api_version)}


def _shares_after(
    entries: Entries, changes: Changes, owner: Owner, elsewhere: Mapping[str, Changes]
) -> Shares:
    """What each manager owns after `owner` wrote and removed these fields.

    Cached: the same writers change the same fields of object after object.
    """
    before = [(entry.owner, entry.fields) for entry in entries.values()]
    key = _encode((owner, changes.written, changes.removed, before))
    known = None if elsewhere else _SHARES.get(key)
    if known is not None:
        return known
    shares = {each: entry.fields for each, entry in moved(entries, changes, elsewhere).items()}
    if changes.written:
        fields = ordered(changes.written)
        shares[owner] = union(shares[owner], fields) if owner in shares else fields
    if len(key) <= _LONGEST_KEY and not elsewhere:
        if len(_SHARES) >= _MOST_SHARES:
            _SHARES.clear()
        _SHARES[key] = shares
    return shares


def moved(
    entries: Entries, changes: Changes, elsewhere: Mapping[str, Changes] | None = None
) -> Entries:
    """The entries of the other managers after a writer wrote and removed these fields.

    `elsewhere` says which fields these are in other versions, where they have other names.
    """
    out: Entries = {}
    for owner, entry in entries.items():
        written, removed = (elsewhere or {}).get(entry.api_version, changes)
        lost = intersection(entry.fields, written)
        fields = difference(entry.fields, lost) if lost else entry.fields
        fields = difference(fields, removed) if removed else fields
        if fields:
            out[owner] = Entry(owner, entry.api_version, entry.time, fields)
    return out


def _known_entries(stored: list[Doc], given: Any, subresource: str) -> Entries:
    """The entries before the write: those that the client sent, or the stored ones.

    `[{}]` and `[]` remove them all. Clients that do not know managedFields cannot lose them, and
    no client can set them through a subresource.
    """
    if not subresource and given is not None and given != stored:
        if given in ([], [{}]):
            return {}
        try:
            entries = decoded(given)
        except ValueError:
            entries = {}
        if entries:
            return entries
    return {entry.owner: entry for entry in map(_entry, stored)}


def decoded(given: Any) -> Entries:
    """The entries of a client's managedFields, brought into their usual form.

    Raises: ValueError when they are not managedFields.
    """
    try:
        raws = msgspec.convert(given, list[_GivenEntry])
        entries = [_entry(raw.usual()) for raw in raws]
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return {entry.owner: entry for entry in entries}


class _GivenEntry(msgspec.Struct, rename="camel", omit_defaults=True):
    """An entry as a client sent it."""

    operation: Literal["Apply", "Update"]
    api_version: Annotated[str, msgspec.Meta(min_length=1)]
    fields_type: Literal["FieldsV1"]
    manager: str = ""
    time: str | None = None
    subresource: str = ""
    fields_v1: dict[str, Any] | None = None

    def usual(self) -> Doc:
        self.fields_v1 = ordered(parse(self.fields_v1 or {}))
        usual: Doc = msgspec.to_builtins(self)
        return usual


def _entry(raw: Doc) -> Entry:
    operation = raw["operation"]
    api_version = raw["apiVersion"]
    return Entry(
        Owner(
            raw.get("manager", ""),
            operation,
            api_version if operation == UPDATE else "",
            raw.get("subresource", ""),
        ),
        api_version,
        raw.get("time", ""),
        raw.get("fieldsV1", {}),
    )


def encoded(entries: Iterable[Entry]) -> list[Doc]:
    """The list as it is stored: appliers first, then the oldest first."""
    return [entry.doc() for entry in sorted(entries, key=_place)]


def _place(entry: Entry) -> tuple[str, ...]:
    owner = entry.owner
    return (owner.operation, entry.time, owner.manager, entry.api_version, owner.subresource)


def _folded(entries: Entries) -> Entries:
    """At most ten entries of updates: the oldest of a version fold into one."""
    if len(entries) <= MOST_UPDATERS:
        return entries
    updaters = [entry for entry in entries.values() if entry.owner.operation == UPDATE]
    surplus = len(updaters) - MOST_UPDATERS
    if surplus <= 0:
        return entries
    out = dict(entries)
    firsts: dict[str, Owner] = {}
    for entry in sorted(updaters, key=_place):
        if surplus == 0:
            break
        version = entry.api_version
        first = firsts.setdefault(version, entry.owner)
        if first == entry.owner:
            continue
        bucket = Owner(ANCIENT, UPDATE, version, "")
        older = out[bucket] if bucket in out and bucket != entry.owner else out.pop(first)
        del out[entry.owner]
        fields = union(older.fields, entry.fields)
        out[bucket] = Entry(bucket, version, entry.time, fields)
        surplus -= 1
    return out
