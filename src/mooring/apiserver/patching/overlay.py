"""What server-side apply does to documents: laying one over another, and taking fields out.

Results may share parts with the arguments, except those of `settled`. Arguments are never changed.
"""

from collections import deque
from typing import Any

from mooring.apiserver.patching.copying import copied
from mooring.apiserver.patching.field_set import SELF, FieldSet, items_of
from mooring.apiserver.patching.shape import OwnedAs, Shape, as_seen
from mooring.apiserver.schema.contract import Scalar


def overlaid(live: Any, applied: Any, shape: Shape | None) -> Any:
    """Both in one: where they disagree on a leaf, as applied. Nothing of the live value is lost."""
    if shape is not None:
        shape = as_seen(shape, live, applied)
    if shape is None or shape.owned_as is OwnedAs.LEAF or not live:
        return applied
    if not applied:
        return live
    if isinstance(live, dict) and isinstance(applied, dict):
        out = dict(live)
        for name, value in applied.items():
            out[name] = overlaid(live.get(name), value, _member(shape, name))
        return out
    if isinstance(live, list) and isinstance(applied, list):
        return _overlaid_items(live, applied, shape)
    return applied


def _member(shape: Shape, name: str) -> Shape | None:
    if shape.owned_as is OwnedAs.MAP:
        return shape.item
    return (shape.fields or {}).get(name)


def _overlaid_items(live: list[Any], applied: list[Any], shape: Shape) -> list[Any]:
    """Applied items in their own order, and the other live ones between them.

    An item that both have comes where it was applied. The others stay behind the neighbour they
    had, as far as the applied order lets them.
    """
    ours = list(items_of(live, shape))
    theirs = dict(items_of(applied, shape))
    once = _values_that_stand_once(ours)
    shared = deque(element for element in theirs if element in once)
    coming = deque(theirs)
    done: set[str] = set()
    out: list[Any] = []

    def take_applied() -> None:
        element = coming.popleft()
        done.add(element)
        if shared and shared[0] == element:
            shared.popleft()
        out.append(overlaid(once.get(element), theirs[element], shape.item))

    at = 0
    while at < len(ours) or coming:
        if at < len(ours):
            element, item = ours[at]
            if coming and element == coming[0]:
                take_applied()
                at += 1
                continue
            if element not in theirs:
                out.append(item)
                at += 1
                continue
            if coming and shared and shared[0] != element:
                at += 1  # its turn is elsewhere
                continue
            if element in done:
                at += 1
        if coming:
            take_applied()
    return out


def _values_that_stand_once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """By element; None for items that stand there more than once, as these are not merged."""
    out: dict[str, Any] = {}
    for element, item in items:
        out[element] = None if element in out else item
    return out


def removed(value: Any, fields: FieldSet, shape: Shape | None) -> Any:
    """The value less these fields and all that is below them. What this empties becomes None."""
    if shape is not None:
        shape = as_seen(shape, value)
    if (
        shape is None
        or shape.owned_as is OwnedAs.LEAF
        or not value
        or not isinstance(value, dict | list)
    ):
        return value if shape is None or shape.owned_as is OwnedAs.LEAF else None
    if isinstance(value, list):
        items = []
        for element, item in items_of(value, shape):
            below = fields.get(element)
            if below is None:
                items.append(item)
            elif below and SELF not in below:
                items.append(removed(item, below, shape.item))
        return items or None
    out = {}
    for name, item in value.items():
        below = fields.get(f"f:{name}")
        if below is None:
            out[name] = item
        elif below and SELF not in below:
            out[name] = removed(item, below, _member(shape, name))
    return out or None


def settled(value: Any, shape: Shape | None) -> Any:
    """A private copy in which nothing is null: to say null is to say nothing."""
    if shape is None or shape.scalar is Scalar.ANY:
        return copied(value)
    if isinstance(value, dict):
        is_map = shape.fields is None
        fields = shape.fields or {}
        return {
            name: settled(inner, shape.item if is_map else fields.get(name))
            for name, inner in value.items()
            if inner is not None
        }
    if isinstance(value, list):
        return [settled(inner, shape.item) for inner in value if inner is not None]
    return value
