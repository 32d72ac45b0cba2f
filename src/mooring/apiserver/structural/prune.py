"""Takes out of a document what its schema does not know, and nulls that mean nothing.

Both change the document in place. Where there is nothing to take out, which is the common case,
the keys of an object are looked at as a whole, and only objects and lists are looked into.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from mooring.apiserver.structural.contract import META_FIELDS, Node, Trail, once
from mooring.model.document import Doc

MOST_TRAILS = 1_000  # of what was dropped; more is dropped all the same

_NONE: frozenset[str] = frozenset()


def prune(doc: Doc, node: Node, *, is_root: bool = True) -> list[Trail]:
    """Drop unknown fields; the ways to what was dropped, in the order of their spelling.

    `apiVersion`, `kind` and `metadata` stay at the root of a resource (`is_root`) and in embedded
    resources, and nothing in them is looked at.
    Repeated: finds nothing.
    """
    walk = _Prune()
    plan = once(node, "prune", _Plan)
    walk.known(doc, plan, META_FIELDS if is_root else plan.meta)
    walk.unknown.sort(key=_spelled)
    return walk.unknown


def drop_nulls(doc: Doc, node: Node) -> None:
    """Drop nulls of fields that are neither nullable nor have a default to put there."""
    _drop_nulls(doc, once(node, "prune", _Plan))


class _Plan:
    """What pruning asks of a node."""

    __slots__ = ("additional", "beyond", "children", "deep", "items", "keeps", "meta", "null_goes")

    def __init__(self, node: Node) -> None:
        self.meta = META_FIELDS if node.embedded_resource else _NONE
        self.keeps = node.preserve_unknown
        self.beyond = node.additional is not None  # any key may be there
        self.null_goes = not node.nullable and node.default is UNSET
        self.children = {
            name: once(child, "prune", _Plan) for name, child in node.properties.items()
        }
        # below which there may be nulls to drop
        self.deep = tuple((name, plan) for name, plan in self.children.items() if plan.goes_on())
        additional = node.additional
        self.additional = once(additional, "prune", _Plan) if isinstance(additional, Node) else None
        self.items = once(node.items, "prune", _Plan) if node.items is not None else None

    def goes_on(self) -> bool:
        return bool(self.children or self.additional or self.items)


class _Prune:
    """One pass over a document; `trail` leads from its root to the value at hand."""

    def __init__(self) -> None:
        self.trail: Trail = []
        self.unknown: list[Trail] = []

    def known(self, value: Any, plan: _Plan, meta: frozenset[str]) -> None:
        """A value that is described: the keys of an object, the items of a list."""
        if type(value) is dict:
            self.object(value, plan, meta, keeps=plan.keeps)
        elif type(value) is list:
            self.items(value, plan.items, keeps=plan.keeps)

    def object(self, value: Doc, plan: _Plan, meta: frozenset[str], *, keeps: bool) -> None:
        children, beyond, trail = plan.children, plan.beyond, self.trail
        if not (keeps or beyond or value.keys() <= children.keys()):
            for key in [key for key in value if key not in children and key not in meta]:
                self.drop(key)
                del value[key]
        for key, held in value.items():
            kind = type(held)
            if (kind is not dict and kind is not list) or key in meta:
                continue
            child = children.get(key)
            if child is None and not beyond:
                continue
            trail.append(key)
            self.child(held, child or plan.additional)
            trail.pop()

    def items(self, value: list[Any], plan: _Plan | None, *, keeps: bool) -> None:
        if keeps and plan is None:
            return
        trail = self.trail
        for index, item in enumerate(value):
            kind = type(item)
            if kind is not dict and kind is not list:
                continue
            trail.append(index)
            if not keeps or plan is None:
                self.child(item, plan)
            elif kind is dict:  # what keeps unknown content keeps that of its items too
                self.object(item, plan, plan.meta, keeps=True)
            else:
                self.items(item, plan.items, keeps=True)
            trail.pop()

    def child(self, value: Any, plan: _Plan | None) -> None:
        if plan is None:
            self.undescribed(value)
        else:
            self.known(value, plan, plan.meta)

    def undescribed(self, value: Any) -> None:
        """A value that nothing is known of: every object in it loses all.

        No recursion: such a value may be as deep as its author likes.
        """
        above = len(self.trail)
        rest: list[Iterator[Any]] = [iter((value,))]
        while rest:
            for held in rest[-1]:
                if len(rest) > 1:
                    self.trail[-1] += 1  # type: ignore[operator]  # an index: we are in a list
                if type(held) is dict:
                    for key in held:
                        self.drop(key)
                    held.clear()
                elif type(held) is list:
                    self.trail.append(-1)
                    rest.append(iter(held))
                    break
            else:
                rest.pop()
                if rest:
                    self.trail.pop()
        del self.trail[above:]

    def drop(self, key: str) -> None:
        if len(self.unknown) < MOST_TRAILS:
            self.unknown.append([*self.trail, key])


def _drop_nulls(value: Any, plan: _Plan) -> None:
    if type(value) is dict:
        if None in value.values():
            for key in [key for key, held in value.items() if held is None]:
                child = plan.children.get(key) or plan.additional
                if child is not None and child.null_goes:
                    del value[key]
        for name, child in plan.deep:
            if name in value:
                _drop_nulls(value[name], child)
        if plan.additional is not None and plan.additional.goes_on():
            for key, held in value.items():
                if key not in plan.children:
                    _drop_nulls(held, plan.additional)
    elif type(value) is list and plan.items is not None and plan.items.goes_on():
        for item in value:
            _drop_nulls(item, plan.items)


def _spelled(trail: Trail) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in trail)
