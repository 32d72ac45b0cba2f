r"""JSONPath as printer columns use it: `.spec.x`, `['a.b']`, `[0]`, `[*]`, `[?(@.type=="Ready")]`.

A path gives all values it leads to, none where something on the way is missing.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

Step = Callable[[Any], Iterable[Any]]
"""From one value to those that the step leads to."""

MOST_KEPT = 2048

_name = re.compile(r"\.((?:[^.\[\]\\]|\\.)+)").match
_quoted = re.compile(r"\[\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*\]").match
_index = re.compile(r"\[\s*(-?\d+)\s*\]").match
_slice = re.compile(r"\[\s*(-?\d*)\s*:\s*(-?\d*)\s*\]").match
_star = re.compile(r"\[\s*\*\s*\]|\.\*").match
_filter = re.compile(
    r"\[\?\(\s*@((?:\.[^=!<>\s()\[\]]+|\[['\"][^\]]*['\"]\])+)\s*"
    r"(?:(==|!=|<=|>=|<|>)\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|-?[\d.]+|true|false))?\s*\)\]"
).match
_escape = re.compile(r"\\(.)").sub


class BadPath(ValueError):
    """A path that cannot be read."""


class JsonPath:
    """A path, read once."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = steps

    def all(self, doc: Any) -> Iterator[Any]:
        return _follow(doc, self._steps)

    def first(self, doc: Any) -> Any:
        """None when there is no value."""
        return next(self.all(doc), None)


@lru_cache(maxsize=MOST_KEPT)
def parse(text: str) -> JsonPath:
    """Read a path that begins with a dot. Raises: BadPath."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        for read in _READERS:
            found = read(text, at)
            if found is not None:
                step, at = found
                steps.append(step)
                break
        else:
            if text[at:] == ".":
                break  # the document itself
            raise BadPath(f"{text!r} cannot be read as JSONPath from character {at} on")
    return JsonPath(tuple(steps))


def _follow(value: Any, steps: tuple[Step, ...]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    for inner in steps[0](value):
        yield from _follow(inner, steps[1:])


Found = tuple[Step, int] | None


def _read_name(text: str, at: int) -> Found:
    found = _name(text, at)
    if found is None or found[1] == "*":
        return None
    return _field(_escape(r"\1", found[1])), found.end()


def _read_quoted(text: str, at: int) -> Found:
    found = _quoted(text, at)
    if found is None:
        return None
    inner = found[1] if found[1] is not None else found[2]
    return _field(_escape(r"\1", inner)), found.end()


def _read_index(text: str, at: int) -> Found:
    found = _index(text, at)
    if found is None:
        return None
    place = int(found[1])

    def step(value: Any) -> Iterable[Any]:
        is_there = isinstance(value, list) and -len(value) <= place < len(value)
        return (value[place],) if is_there else ()

    return step, found.end()


def _read_slice(text: str, at: int) -> Found:
    found = _slice(text, at)
    if found is None:
        return None
    begin, end = (int(part) if part else None for part in found.groups())
    return lambda value: value[begin:end] if isinstance(value, list) else (), found.end()


def _read_star(text: str, at: int) -> Found:
    found = _star(text, at)
    return None if found is None else (_each, found.end())


def _read_filter(text: str, at: int) -> Found:
    found = _filter(text, at)
    if found is None:
        return None
    inner, operator, literal = found.groups()
    path = parse(inner)
    holds = _comparison(operator, literal) if operator else lambda _: True

    def step(value: Any) -> Iterable[Any]:
        items = value if isinstance(value, list) else ()
        return (item for item in items if any(holds(found) for found in path.all(item)))

    return step, found.end()


_READERS = (_read_star, _read_name, _read_quoted, _read_index, _read_slice, _read_filter)


def _field(name: str) -> Step:
    def step(value: Any) -> Iterable[Any]:
        return (value[name],) if isinstance(value, dict) and name in value else ()

    return step


def _each(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _comparison(operator: str, literal: str) -> Callable[[Any], bool]:
    wanted: Any = _escape(r"\1", literal[1:-1]) if literal[0] in "'\"" else json.loads(literal)
    if operator in ("==", "!="):
        return lambda value: _is_equal(value, wanted) is (operator == "==")

    def compare(value: Any) -> bool:
        if not _are_alike(value, wanted):
            return False
        below, above = bool(value < wanted), bool(value > wanted)
        return {"<": below, ">": above, "<=": not above, ">=": not below}[operator]

    return compare


def _is_equal(value: Any, wanted: Any) -> bool:
    return type(value) is type(wanted) and bool(value == wanted)


def _are_alike(value: Any, wanted: Any) -> bool:
    """Whether the two can be put in order."""
    of_numbers = isinstance(value, int | float) and isinstance(wanted, int | float)
    return of_numbers or (isinstance(value, str) and isinstance(wanted, str))
