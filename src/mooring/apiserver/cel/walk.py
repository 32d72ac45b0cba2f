"""Walks through whole values that cannot take for ever.

A value may hold the same part many times over, and that part another one: written out it would
fill any memory. Each part is looked at once.
"""

from typing import Any

from mooring.apiserver.cel import operators
from mooring.apiserver.cel.errors import NO_SUCH_OVERLOAD, CelError, CostExceeded
from mooring.apiserver.cel.values import MapList, Optional, SetList

MOST_PARTS = 500_000  # of a value, written out
MOST_WEIGHT = 20_000_000  # characters and parts


def weight(value: Any) -> int:
    """How many characters, items and entries all of a value has, written out."""
    total = _weight(value, {})
    if total > MOST_WEIGHT:
        raise CostExceeded
    return total


def _weight(value: Any, known: dict[int, int]) -> int:
    if isinstance(value, str | bytes):
        return 1 + len(value)
    if isinstance(value, Optional):
        return 1 + _weight(value.value, known)
    if not isinstance(value, list | dict):
        return 1
    total = known.get(id(value), 0)
    if not total:
        total = 1
        for part in value if isinstance(value, list) else (*value, *value.values()):
            total += _weight(part, known)
        known[id(value)] = total
    return total


def parts(value: Any) -> int:
    """How many values there are in a value, written out; CostExceeded: too many."""
    total = _parts(value, {})
    if total > MOST_PARTS:
        raise CostExceeded
    return total


def _parts(value: Any, known: dict[int, int]) -> int:
    if not isinstance(value, list | dict):
        return 1
    total = known.get(id(value), 0)
    if not total:
        total = 1
        for part in value if isinstance(value, list) else value.values():
            total += _parts(part, known)
        known[id(value)] = total
    return total


def same(a: Any, b: Any) -> bool:
    """Equality of values with values inside, which are not known to be a document's."""
    if isinstance(a, list | dict | Optional):
        return _same(a, b, set())
    return operators.equal(a, b)


def contains(item: Any, container: Any) -> bool:
    """`item in container`."""
    if isinstance(container, list):
        return any(same(item, one) for one in container)
    if isinstance(container, dict):
        return operators.find_key(container, item)[0]
    raise CelError(NO_SUCH_OVERLOAD)


def _same(a: Any, b: Any, known: set[tuple[int, int]]) -> bool:
    """`known`: the pairs of parts that are equal."""
    if isinstance(a, list) and isinstance(b, list):
        pair = id(a), id(b)
        if pair in known:
            return True
        found = _same_lists(a, b, known)
    elif isinstance(a, dict) and isinstance(b, dict):
        pair = id(a), id(b)
        if pair in known:
            return True
        found = len(a) == len(b)
        for key, item in a.items() if found else ():
            held, other = operators.find_key(b, key)
            if not held or not _same(item, other, known):
                return False
    elif type(a) is Optional and type(b) is Optional:
        return a.present == b.present and _same(a.value, b.value, known)
    else:
        return operators.equal(a, b)
    if found:
        known.add(pair)
    return found


def _same_lists(a: list[Any], b: list[Any], known: set[tuple[int, int]]) -> bool:
    if len(a) != len(b):
        return False
    if type(a) in (SetList, MapList) or type(b) in (SetList, MapList):
        return operators.equal(a, b)
    return all(_same(one, other, known) for one, other in zip(a, b, strict=True))
