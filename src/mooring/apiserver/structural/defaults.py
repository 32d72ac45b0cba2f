"""Fills in what a document leaves out and its schema has a default for."""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from mooring.apiserver.structural.contract import Node, once
from mooring.apiserver.structural.values import copied
from mooring.model.document import Doc


def fill_defaults(doc: Doc, node: Node) -> None:
    """Put defaults where a field is absent, or null without being nullable. In place.

    A default below an absent parent does nothing, unless the parent's own default brings it about.
    Repeated: changes nothing.
    """
    plan = once(node, "defaults", _plan)
    if plan is not None:
        plan.fill(doc)


class _Plan:
    """What defaulting asks of a node: only of one that has a default somewhere below it."""

    __slots__ = ("additional", "children", "defaulted", "items", "names")

    def __init__(self, node: Node) -> None:
        self.names = node.properties.keys()
        self.defaulted = tuple(
            (name, child.default, child.nullable)
            for name, child in node.properties.items()
            if child.default is not UNSET
        )
        plans = ((name, once(child, "defaults", _plan)) for name, child in node.properties.items())
        self.children = {name: plan for name, plan in plans if plan is not None}
        self.additional = _each(node.additional if isinstance(node.additional, Node) else None)
        self.items = _each(node.items)

    def is_idle(self) -> bool:
        return not (self.defaulted or self.children or self.additional or self.items)

    def fill(self, value: Any) -> None:
        if type(value) is dict:
            for name, default, is_nullable in self.defaulted:
                if name not in value or (value[name] is None and not is_nullable):
                    value[name] = copied(default)
            for name, plan in self.children.items():
                if name in value:
                    plan.fill(value[name])
            if self.additional is not None:
                self.additional.fill(value, [key for key in value if key not in self.names])
        elif type(value) is list and self.items is not None:
            self.items.fill(value, range(len(value)))


class _Each:
    """The items of a list, or the values of a map: a null of theirs may have a default."""

    __slots__ = ("default", "plan")

    def __init__(self, default: Any, plan: _Plan | None) -> None:
        self.default = default
        self.plan = plan

    def fill(self, held: Any, places: Iterable[Any]) -> None:
        for place in places:
            if held[place] is None and self.default is not UNSET:
                held[place] = copied(self.default)
            if self.plan is not None:
                self.plan.fill(held[place])


def _each(node: Node | None) -> _Each | None:
    if node is None:
        return None
    plan = once(node, "defaults", _plan)
    default = UNSET if node.nullable else node.default
    return None if plan is None and default is UNSET else _Each(default, plan)


def _plan(node: Node) -> _Plan | None:
    plan = _Plan(node)
    return None if plan.is_idle() else plan
