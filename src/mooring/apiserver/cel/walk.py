"""Walks through whole values that cannot take for ever: values may share parts many times over."""

from typing import Any

from mooring.apiserver.cel import operators
from mooring.apiserver.cel.errors import CostExceeded
from mooring.apiserver.cel.values import MapList, Optional, SetList

MOST_STEPS = 2_000_000  # more than the largest document has values


class Steps:
    """Counts the values that were looked at."""

    def __init__(self, most: int = MOST_STEPS) -> None:
        self._left = most

    def take(self, count: int = 1) -> None:
        self._left -= count
        if self._left < 0:
            raise CostExceeded


def weight(value: Any) -> int:
    """How many characters, items and entries there are in all of a value."""
    steps, total, waiting = Steps(), 0, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str | bytes):
            total += len(one)
        elif isinstance(one, list):
            steps.take(len(one))
            waiting += one
        elif isinstance(one, dict):
            steps.take(2 * len(one))
            waiting += [*one, *one.values()]
        elif isinstance(one, Optional):
            waiting.append(one.value)
        total += 1
    return total


def same(a: Any, b: Any) -> bool:
    """Equality of values with values inside, which are not known to be a document's."""
    return _same(a, b, Steps())


def _same(a: Any, b: Any, steps: Steps) -> bool:
    if a is b:
        return a == a  # noqa: PLR0124  (not a number is not equal to itself)
    if type(a) in (SetList, MapList) or type(b) in (SetList, MapList):
        steps.take(weight(a) + weight(b))
        return operators.equal(a, b)
    if isinstance(a, list) and isinstance(b, list):
        steps.take(len(a))
        return len(a) == len(b) and all(
            _same(one, other, steps) for one, other in zip(a, b, strict=True)
        )
    if isinstance(a, dict) and isinstance(b, dict):
        steps.take(len(a))
        return len(a) == len(b) and all(_has(b, key, item, steps) for key, item in a.items())
    if type(a) is Optional and type(b) is Optional:
        return a.present == b.present and _same(a.value, b.value, steps)
    return operators.equal(a, b)


def _has(mapping: dict[Any, Any], key: Any, item: Any, steps: Steps) -> bool:
    found, other = operators.find_key(mapping, key)
    return found and _same(item, other, steps)
