"""Fields that an object was stored with, and that this server does not know, stay where they are.

Another API server on the same etcd follows a newer release, or this one did until now: what it has
stored is no business of a client that writes through here, who may not even know of the field.
Kubernetes drops such fields at the next write. Items of lists that nothing tells apart lose theirs
here, too.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.schema.contract import Field, Shape
from mooring.apiserver.schema.json_fields import json_fields, list_form
from mooring.apiserver.verbs.backend import Backend
from mooring.model.document import Doc
from mooring.model.kubernetes_version import NEWEST


def carry_over(backend: Backend, kind: Kind, old: Doc, new: Doc) -> None:
    """Put into `new` what `old` has beyond the schema; parts that they share are not changed."""
    is_alone = backend.kinds.release is NEWEST and not backend.store.is_shared
    if is_alone or kind.custom:
        return
    for name, part in carried(kind.message, old, new).items():
        new[name] = part


def carried(message: str, old: Mapping[str, Any], new: Doc) -> Doc:
    """`new`, or a copy of it with what `old` has that the message does not know."""
    fields, kept = json_fields(message), new
    for name, before in old.items():
        field = fields.get(name)
        if field is not None:
            now = new.get(name)
            part = _carried_part(field, before, now)
        elif name in new:
            continue
        else:
            now, part = None, before
        if part is not now:
            kept = {**new} if kept is new else kept
            kept[name] = part
    return kept


def _carried_part(field: Field, before: Any, now: Any) -> Any:
    if before is now or now is None or not isinstance(field.type, str) or list_form(field.type):
        return now
    match field.shape, before, now:
        case Shape.ONE, dict(), dict():
            return carried(field.type, before, now)
        case Shape.MAP, dict(), dict():
            return _each(field.type, before, now)
        case Shape.LIST, list(), list():
            keys = field.keys or ((field.patch_key,) if field.patch_key else ())
            return _items(field.type, keys, before, now) if keys else now
        case _:
            return now


def _each(message: str, before: Doc, now: Doc) -> Doc:
    parts = {
        name: carried(message, was, part) if isinstance(was := before.get(name), dict) else part
        for name, part in now.items()
    }
    return parts if any(parts[name] is not now[name] for name in now) else now


def _items(message: str, keys: Sequence[str], before: list[Doc], now: list[Doc]) -> list[Doc]:
    known = {_identity(item, keys): item for item in before if isinstance(item, dict)}
    items = [
        carried(message, known[identity], item)
        if (identity := _identity(item, keys)) in known
        else item
        for item in now
    ]
    return items if any(one is not other for one, other in zip(items, now, strict=True)) else now


def _identity(item: Doc, keys: Sequence[str]) -> Hashable:
    """What another release stored under a key may be anything."""
    values = (item.get(key) for key in keys)
    return tuple(value if isinstance(value, str | int) else None for value in values)
