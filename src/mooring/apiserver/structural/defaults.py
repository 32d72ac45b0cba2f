"""Fills in what a document leaves out and its schema has a default for."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from mooring.apiserver.limits.budgets import MOST_OBJECT_BYTES, MOST_VALUES
from mooring.apiserver.structural.contract import Node, once
from mooring.apiserver.structural.values import copied
from mooring.model.document import Doc


class TooManyDefaults(Exception):
    """Defaults that bring about others would make more of a document than can be stored."""


def fill_defaults(doc: Doc, node: Node) -> None:
    """Put defaults where a field is absent, or null without being nullable. In place.

    A default below an absent parent does nothing, unless the parent's own default brings it about.
    Repeated: changes nothing. Raises: TooManyDefaults; the document has as many as there is room
    for.
    """
    plan = once(node, "defaults", _plan)
    if plan is not None:
        plan.fill(doc, _Room())


class _Room:
    """What defaults may still add to one document."""

    __slots__ = ("size", "values")

    def __init__(self) -> None:
        self.values = MOST_VALUES
        self.size = MOST_OBJECT_BYTES


class _Default:
    """A default, and the room that a copy of it takes."""

    __slots__ = ("size", "value", "values")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.values = _count(value)
        self.size = len(msgspec.json.encode(value))

    def copy(self, room: _Room) -> Any:
        """Raises: TooManyDefaults."""
        room.values -= self.values
        room.size -= self.size
        if room.values < 0 or room.size < 0:
            raise TooManyDefaults
        return copied(self.value)


def _count(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_count, value.values()))
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1


class _Plan:
    """What defaulting asks of a node: only of one that has a default somewhere below it."""

    __slots__ = ("additional", "children", "defaulted", "items", "names")

    def __init__(self, node: Node) -> None:
        self.names = node.properties.keys()
        self.defaulted = tuple(
            (name, _Default(child.default), child.nullable)
            for name, child in node.properties.items()
            if child.default is not UNSET
        )
        plans = ((name, once(child, "defaults", _plan)) for name, child in node.properties.items())
        self.children = {name: plan for name, plan in plans if plan is not None}
        self.additional = _each(node.additional if isinstance(node.additional, Node) else None)
        self.items = _each(node.items)

    def is_idle(self) -> bool:
        return not (self.defaulted or self.children or self.additional or self.items)

    def fill(self, value: Any, room: _Room) -> None:
        if type(value) is dict:
            for name, default, is_nullable in self.defaulted:
                if name not in value or (value[name] is None and not is_nullable):
                    value[name] = default.copy(room)
            for name, plan in self.children.items():
                if name in value:
                    plan.fill(value[name], room)
            if self.additional is not None:
                self.additional.fill(value, [key for key in value if key not in self.names], room)
        elif type(value) is list and self.items is not None:
            self.items.fill(value, range(len(value)), room)


class _Each:
    """The items of a list, or the values of a map: a null of theirs may have a default."""

    __slots__ = ("default", "plan")

    def __init__(self, default: _Default | None, plan: _Plan | None) -> None:
        self.default = default
        self.plan = plan

    def fill(self, held: Any, places: Iterable[Any], room: _Room) -> None:
        for place in places:
            if held[place] is None and self.default is not None:
                held[place] = self.default.copy(room)
            if self.plan is not None:
                self.plan.fill(held[place], room)


def _each(node: Node | None) -> _Each | None:
    if node is None:
        return None
    plan = once(node, "defaults", _plan)
    default = None if node.nullable or node.default is UNSET else _Default(node.default)
    return None if plan is None and default is None else _Each(default, plan)


def _plan(node: Node) -> _Plan | None:
    plan = _Plan(node)
    return None if plan.is_idle() else plan
