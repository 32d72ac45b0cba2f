"""What a write did to a document, as sets of fields.

Every create runs through `created`: one walk that writes the FieldsV1 form as it goes, in order,
unless a document of the same outline was seen before.
"""

from collections.abc import Iterable, Mapping
from itertools import compress
from operator import ne
from typing import Any, NamedTuple

from mooring.apiserver.patching.field_set import (
    SELF,
    UNOWNED_METADATA,
    UNOWNED_ROOT,
    FieldSet,
    items_of,
    ordered,
)
from mooring.apiserver.patching.outline import Outline, outline, size_of
from mooring.apiserver.patching.shape import OwnedAs, Shape, as_seen
from mooring.model.document import Doc

# looked up once: the walk of every create compares with these
_LEAF, _MESSAGE, _MAP = OwnedAs.LEAF, OwnedAs.MESSAGE, OwnedAs.MAP

_MOST_OUTLINES = 256
_LONGEST_OUTLINE = 4096  # characters
_CREATED: dict[tuple[Shape, str, Outline], FieldSet] = {}  # fields of new documents, by outline


class Changes(NamedTuple):
    """From one document to the next: what is new or has another value, and what is gone."""

    written: FieldSet
    removed: FieldSet


def reset_field(subresource: str) -> str:
    """The part of a document that a write to this path cannot touch, and so never owns."""
    return "spec" if subresource == "status" else "status"


def ownable(doc: Doc, subresource: str) -> Doc:
    """The document without fields that have no owner or that this subresource cannot change."""
    reset = reset_field(subresource)
    out = {k: v for k, v in doc.items() if k not in UNOWNED_ROOT and k != reset}
    metadata = out.get("metadata")
    if metadata:
        out["metadata"] = {k: v for k, v in metadata.items() if k not in UNOWNED_METADATA}
    return out


def created(doc: Doc, shape: Shape, subresource: str) -> FieldSet:
    """All fields of a document that did not exist before, in the order of print."""
    names = outline(doc, shape, reset_field(subresource))
    if names is None:
        return _created(doc, shape, subresource)
    key = (shape, subresource, names)
    known = _CREATED.get(key)
    if known is not None:
        return known
    fields = _created(doc, shape, subresource)
    if size_of(names) <= _LONGEST_OUTLINE:
        if len(_CREATED) >= _MOST_OUTLINES:
            _CREATED.clear()
        _CREATED[key] = fields
    return fields


def _created(doc: Doc, shape: Shape, subresource: str) -> FieldSet:
    return _new_in_message(ownable(doc, subresource), shape.fields or {})


def _new_in_message(value: Any, fields: Mapping[str, Shape]) -> FieldSet:
    """What stands in a message that was there before, empty."""
    out: FieldSet = {}
    if type(value) is not dict:
        return out
    for name in sorted(value):
        field = fields.get(name)
        if field is None:
            out["f:" + name] = {}
        elif field.owned_as is _LEAF:
            if value[name] or not field.always:
                out[field.label] = {}
        elif not field.always:
            out[field.label] = added(value[name], field)
        elif field.is_list:
            below = added(value[name], field)
            if below.pop(SELF, None) is not None:
                out[field.label] = below
        elif below := _new_in_message(value[name], field.fields or {}):
            out[field.label] = below
    return out


def added(value: Any, shape: Shape) -> FieldSet:
    """A value that was not there before: what is below it and, in `.`, itself."""
    shape = as_seen(shape, value)
    owned_as = shape.owned_as
    if not value or owned_as is _LEAF:
        return {}
    if type(value) is list:
        return _added_items(value, shape)
    if type(value) is not dict:
        return {}
    out: FieldSet = {SELF: {}}
    if owned_as is _MAP:
        item = shape.item
        is_flat = item is None or item.owned_as is _LEAF
        for name in sorted(value):
            out["f:" + name] = {} if is_flat or item is None else added(value[name], item)
        return out
    fields = shape.fields or {}
    for name in sorted(value):
        field = fields.get(name)
        if field is None:
            out["f:" + name] = {}
        elif field.owned_as is _LEAF:
            out[field.label] = {}
        else:
            out[field.label] = added(value[name], field)
    return out


def _added_items(value: list[Any], shape: Shape) -> FieldSet:
    out: FieldSet = {SELF: {}}
    item = shape.item
    for element, inner in items_of(value, shape):
        # an item that stands there twice is owned as one thing
        out[element] = {} if element in out or item is None else added(inner, item)
    return ordered(out) if len(out) > 2 else out


def compare(old: Doc, new: Doc, shape: Shape, subresource: str) -> Changes:
    """How two documents differ in what a write to this path can own."""
    changes = Changes({}, {})
    fields = shape.fields or {}
    reset = reset_field(subresource)
    for name in _differing(old, new):
        if name in UNOWNED_ROOT or name == reset:
            continue
        was, now = old.get(name), new.get(name)
        if name == "metadata":
            owned = [each for each in _differing(was, now) if each not in UNOWNED_METADATA]
            if not owned:
                continue
            was, now = _only(was, owned), _only(now, owned)
        _note(changes, f"f:{name}", was, now, fields.get(name))
    return changes


def _within(before: Any, after: Any, shape: Shape) -> Changes:
    """How two lists, two maps or two messages differ below themselves."""
    changes = Changes({}, {})
    if type(before) is list:
        _compare_items(changes, before, after, shape)
        return changes
    fields = shape.fields or {}
    is_message = shape.owned_as is _MESSAGE
    for name in _differing(before, after):
        field = fields.get(name) if is_message else shape.item
        now = after.get(name)
        if now and (field is None or field.owned_as is _LEAF):  # as in _note: nearly all of them
            changes.written[f"f:{name}"] = {}
        else:
            _note(changes, f"f:{name}", before.get(name), now, field)
    return changes


def _differing(before: Doc | None, after: Doc | None) -> Iterable[str]:
    """The names whose values are not the same; a value that is absent is None."""
    before, after = before or {}, after or {}
    names = {**before, **after}
    return compress(names, map(ne, map(before.get, names), map(after.get, names)))


def _only(value: Doc | None, names: Iterable[str]) -> Doc | None:
    return value and {name: value[name] for name in names if name in value}


def _note(changes: Changes, label: str, was: Any, now: Any, shape: Shape | None) -> None:
    """Record how one member went from `was` to `now`, which differ. None: it is not there."""
    if not was and not now and _may_be_empty(shape):
        return
    if shape is not None:
        shape = as_seen(shape, was, now)
    if shape is None or shape.owned_as is _LEAF:
        is_gone = now is None and not (shape and shape.always)
        (changes.removed if is_gone else changes.written)[label] = {}
        return
    if shape.always:
        empty: Any = [] if shape.is_list else {}
        was, now = was or empty, now or empty
    if was is None:
        changes.written[label] = added(now, shape)
    elif now is None:
        changes.removed[label] = added(was, shape)
    elif type(was) is not type(now) or type(was) not in (dict, list):
        changes.written[label] = {}
    else:
        written, removed = _within(was, now, shape)
        if written:
            changes.written[label] = written
        if removed:
            changes.removed[label] = removed


def _may_be_empty(shape: Shape | None) -> bool:
    """Whether none and an empty one say the same: of lists, maps and what is always there."""
    return shape is not None and (shape.is_list or shape.owned_as is _MAP or shape.always)


def _compare_items(changes: Changes, before: list[Any], after: list[Any], shape: Shape) -> None:
    was, now = _by_element(before, shape), _by_element(after, shape)
    for element in {**was, **now}:
        olds, news = was.get(element, []), now.get(element, [])
        if olds == news:
            continue
        if len(olds) < 2 and len(news) < 2:
            old, new = (olds or [None])[0], (news or [None])[0]
            _note(changes, element, old, new, shape.item)
        elif len(news) > 1:  # items that stand there twice are one thing, with nothing below it
            changes.written[element] = {}
            below = added(olds[0], shape.item) if len(olds) == 1 and shape.item else {}
            if len(below) > 1:
                changes.removed[element] = {k: v for k, v in below.items() if k != SELF}
        elif news:
            changes.written[element] = added(news[0], shape.item) if shape.item else {}
        else:
            changes.removed[element] = {}


def _by_element(items: list[Any], shape: Shape) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for element, item in items_of(items, shape):
        out.setdefault(element, []).append(item)
    return out
