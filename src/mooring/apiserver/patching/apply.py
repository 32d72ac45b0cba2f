"""Server-side apply: a client applies a configuration, and owns the fields in it.

`check_applied` refuses what cannot be applied; `apply` merges the configuration into the live
document, removes the fields that the client no longer applies, and updates the ownership. Changing
a value that another manager owns is a conflict, unless the client forces it.
"""

import json
from typing import Any

from mooring import errors
from mooring.apiserver.patching import field_set, go_text
from mooring.apiserver.patching.changes import Changes, compare, created, reset_field
from mooring.apiserver.patching.conformity import complaints
from mooring.apiserver.patching.field_set import FieldSet
from mooring.apiserver.patching.last_applied import agreed_fields, with_last_applied
from mooring.apiserver.patching.managed_fields import (
    APPLY,
    UPDATE,
    Entries,
    Entry,
    Owner,
    decoded,
    encoded,
    existing,
    moved,
)
from mooring.apiserver.patching.overlay import overlaid, removed, settled
from mooring.apiserver.patching.shape import Shape
from mooring.apiserver.patching.versions import Versions, changes_elsewhere
from mooring.model.document import Doc
from mooring.model.field_error import required

BEFORE_FIRST_APPLY = "before-first-apply"

# A client that used to send the whole of what it applied in an annotation, and is trusted to have
# meant it: what that annotation says is no conflict.
MIGRATING = "kubectl"

_Conflicts = dict[Owner, tuple[Entry, FieldSet]]


def check_applied(applied: Any, *, manager: str, api_version: str, kind: str) -> None:
    """Refuse a configuration without looking at any document.

    Raises: Invalid without a manager; BadRequest when the configuration is not of this kind, or
    speaks of managedFields.
    """
    if not manager:
        complaint = required("fieldManager", "is required for apply patch")
        raise errors.Invalid(
            f'PatchOptions.meta.k8s.io "" is invalid: {complaint}',
            details={"group": "meta.k8s.io", "kind": "PatchOptions"},
            causes=[complaint.cause()],
        )
    if not isinstance(applied, dict):
        raise errors.BadRequest(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
            f"json: cannot unmarshal {go_text.json_type(applied)}"
            " into Go value of type map[string]interface {}"
        )
    given = (_text(applied.get("apiVersion")), _text(applied.get("kind")))
    if given != (api_version, kind):
        raise errors.BadRequest(f"invalid object type: {_gvk(*given)}")
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise errors.BadRequest("metadata.managedFields must be nil")


def check_declared(applied: Doc, shape: Shape) -> None:
    """Refuse a configuration with fields that the kind does not have. Raises: ServerError."""
    found = list(complaints(applied, shape))
    if found:
        text = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
        raise errors.ServerError(f"failed to create typed patch object ({_name(applied)}): {text}")


def apply(  # noqa: PLR0913 -- each is a fact of the request, and said by name
    live: Doc | None,
    applied: Doc,
    *,
    manager: str,
    api_version: str,
    now: str,
    subresource: str,
    force: bool,
    shape: Shape,
    versions: Versions | None = None,
) -> Doc:
    """The document to store, its managedFields included. Neither argument is changed or shared.

    `versions` are given when fields have other names in other versions.

    Before: `check_applied` and `check_declared` have passed.
    Repeated: the same call on its result changes nothing, not even the time.
    Raises: Conflict, Unconverted.
    """
    run = _Run(
        live=_without_managed_fields(live),
        applied=settled(applied, shape),
        owner=Owner(manager, APPLY, "", subresource),
        api_version=api_version,
        now=now,
        shape=shape,
        versions=versions,
    )
    run.start(((live or {}).get("metadata") or {}).get("managedFields") or [])
    conflicts = {} if force else run.conflicts()
    if conflicts and manager == MIGRATING:
        agreed = agreed_fields(run.live, api_version, shape, subresource)
        conflicts = _less(conflicts, agreed)
    if conflicts:
        raise _conflict_error(conflicts)
    out = run.finish()
    return with_last_applied(out, applied) if manager == MIGRATING else out


class _Run:
    """One apply, from the documents before it to the one after it."""

    def __init__(
        self,
        *,
        live: Doc,
        applied: Doc,
        owner: Owner,
        api_version: str,
        now: str,
        shape: Shape,
        versions: Versions | None,
    ) -> None:
        self.live = live
        self._applied = applied
        self._owner = owner
        self._api_version = api_version
        self._now = now
        self._shape = shape
        self._others: Entries = {}
        self._last: Entry | None = None
        self._own: FieldSet = {}
        self._result: Doc = {}
        self._changes = Changes({}, {})
        self._versions = versions
        self._elsewhere: dict[str, Changes] = {}

    def start(self, managed: list[Doc]) -> None:
        """Work out the new document, and how it differs from the live one."""
        subresource = self._owner.subresource
        self._others = existing(_decoded(managed), self._versions)
        if not self._others:
            fields = created(self.live, self._shape, subresource)
            if fields:
                before = Owner(BEFORE_FIRST_APPLY, UPDATE, self._api_version, subresource)
                self._others = {before: Entry(before, self._api_version, self._now, fields)}
        self._last = self._others.pop(self._owner, None)
        mentioned = field_set.mentioned(self._applied, self._shape)
        self._own = field_set.without(mentioned, reset_field(subresource))
        merged = overlaid(self.live, self._applied, self._shape)
        self._result = settled(self._pruned(merged), self._shape)
        self._changes = compare(self.live, self._result, self._shape, subresource)
        written_in = (entry.api_version for entry in self._others.values())
        self._elsewhere = changes_elsewhere(
            self._versions, written_in, self.live, self._result, subresource
        )

    def conflicts(self) -> _Conflicts:
        """What others own of what would change."""
        out: _Conflicts = {}
        for owner, entry in self._others.items():
            changes = self._elsewhere.get(entry.api_version, self._changes)
            fields = field_set.intersection(entry.fields, changes.written)
            if fields:
                out[owner] = (entry, fields)
        return out

    def finish(self) -> Doc:
        """The new document, with the new managedFields."""
        entries = moved(self._others, self._changes, self._elsewhere)
        own = field_set.ordered(field_set.stripped(self._own))
        if own:
            entries[self._owner] = Entry(self._owner, self._api_version, self._time(), own)
        result = self._result
        if entries:
            result.setdefault("metadata", {})["managedFields"] = encoded(entries.values())
        return result

    def _time(self) -> str:
        if not self.live or self._changes.written or self._changes.removed:
            return self._now
        return self._last.time if self._last else ""  # as upstream: it changed nothing, ever

    def _pruned(self, merged: Doc) -> Doc:
        """`merged` without fields that only the client owned and no longer applies."""
        if self._last is None:
            return merged
        if self._versions is not None and self._last.api_version != self._api_version:
            return self._pruned_elsewhere(merged, self._last, self._versions)
        shape = self._shape
        last = field_set.with_named_fields(self._last.fields, shape)
        owned = self._own
        for entry in self._others.values():
            if self._versions is None or entry.api_version == self._api_version:
                owned = field_set.union(owned, entry.fields)
        owned = field_set.with_named_fields(owned, shape)
        everything = _fields(merged, shape)
        kept = field_set.union(_fields(removed(merged, last, shape), shape), owned)
        kept = _fields(removed(merged, field_set.difference(everything, kept), shape), shape)
        dropped = field_set.intersection(field_set.difference(everything, kept), last)
        out: Doc = removed(merged, dropped, shape)
        return out

    def _pruned_elsewhere(self, merged: Doc, last: Entry, versions: Versions) -> Doc:
        """The same, when the client applied another version before: what it owned then is removed
        in that version, unless it is owned, by whatever name, in any."""
        shape = versions.shape(last.api_version)
        if shape is None:
            return merged
        owned = {self._api_version: self._own}
        for entry in self._others.values():
            known = owned.get(entry.api_version, {})
            owned[entry.api_version] = field_set.union(known, entry.fields)
        was = versions.seen(merged, last.api_version)
        fields = field_set.with_named_fields(last.fields, shape)
        pruned: Doc = removed(was, fields, shape)
        for version, theirs in owned.items():
            by = versions.shape(version)
            if by is not None:
                whole = versions.seen(merged, version)
                kept = _fields(versions.seen(pruned, version), by)
                kept = field_set.union(kept, field_set.with_named_fields(theirs, by))
                pruned = removed(whole, field_set.difference(_fields(whole, by), kept), by)
        kept = _fields(versions.seen(pruned, last.api_version), shape)
        dropped = field_set.intersection(field_set.difference(_fields(was, shape), kept), fields)
        if not dropped:
            return merged
        return versions.seen(removed(was, dropped, shape), self._api_version)


def _fields(value: Any, shape: Shape) -> FieldSet:
    return field_set.with_named_fields(field_set.mentioned(value, shape), shape)


def _decoded(managed: list[Doc]) -> Entries:
    try:
        return decoded(managed)
    except ValueError as error:
        raise errors.ServerError(f"failed to decode managed fields: {error}") from error


def _without_managed_fields(live: Doc | None) -> Doc:
    if live is None:
        return {}
    metadata = {k: v for k, v in live["metadata"].items() if k != "managedFields"}
    return {**live, "metadata": metadata}


def _less(conflicts: _Conflicts, agreed: FieldSet) -> _Conflicts:
    out: _Conflicts = {}
    for owner, (entry, fields) in conflicts.items():
        rest = field_set.difference(fields, agreed)
        if rest:
            out[owner] = (entry, rest)
    return out


def _conflict_error(conflicts: _Conflicts) -> errors.Conflict:
    causes: list[dict[str, str]] = []
    lines: list[str] = []
    for owner in sorted(conflicts, key=_identity):
        entry, fields = conflicts[owner]
        who = _who(entry)
        lines.append(f"conflicts with {who}:")
        for path in field_set.paths(fields):
            field = field_set.path_text(path)
            lines.append(f"- {field}")
            causes.append(
                {
                    "reason": "FieldManagerConflict",
                    "message": f"conflict with {who}",
                    "field": field,
                }
            )
    if len(causes) == 1:
        text = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        text = f"{len(causes)} conflicts: " + "\n".join(lines)
    return errors.Conflict(f"Apply failed with {text}", causes=causes)


def _identity(owner: Owner) -> str:
    """The sort key of conflicts: the JSON of the other manager."""
    parts = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owner.api_version,
        "subresource": owner.subresource,
    }
    return json.dumps({k: v for k, v in parts.items() if v}, separators=(",", ":"))


def _who(entry: Entry) -> str:
    owner = entry.owner
    text = go_text.quoted(owner.manager)
    if owner.subresource:
        text += f" with subresource {go_text.quoted(owner.subresource)}"
    return f"{text} using {entry.api_version}" if owner.operation == UPDATE else text


def _name(doc: Doc) -> str:
    metadata = doc.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    gvk = _gvk(doc.get("apiVersion") or "", doc.get("kind") or "")
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {gvk}"


def _text(value: Any) -> str:
    """What is no text is none."""
    return value if isinstance(value, str) else ""


def _gvk(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"
