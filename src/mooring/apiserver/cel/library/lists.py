"""Lists: Kubernetes' own functions and cel-go's extension (version 3)."""

from itertools import pairwise
from typing import Any

from mooring.apiserver.cel import call_cost, operators
from mooring.apiserver.cel.errors import NO_SUCH_OVERLOAD, CelError
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.sorting import sort_by
from mooring.apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    CelType,
    list_of,
)
from mooring.apiserver.cel.values import Duration, UInt
from mooring.apiserver.cel.walk import parts, same

_LIST = list_of(A)
_COMPARABLE = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
_ZEROS: dict[CelType, Any] = {INT: 0, UINT: UInt(0), DOUBLE: 0.0, DURATION: Duration(0)}


def _walk(items: Any, *_: Any) -> int:
    """One look at everything; never longer than a document can be."""
    parts(items)
    return call_cost.traversal(items)


def _is_sorted(items: list[Any]) -> bool:
    return all(operators.compare(one, other) <= 0 for one, other in pairwise(items))


def _sum(zero: Any) -> Any:
    def run(items: list[Any]) -> Any:
        if not items:
            return zero
        total = items[0]
        for item in items[1:]:
            total = operators.add(total, item)
        return total

    return run


def _extreme(name: str, sign: int) -> Any:
    def run(items: list[Any]) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        found = items[0]
        for item in items[1:]:
            if operators.compare(item, found) == sign:
                found = item
        return found

    return run


def _index_of(items: list[Any], item: Any) -> int:
    return next((at for at, one in enumerate(items) if same(one, item)), -1)


def _last_index_of(items: list[Any], item: Any) -> int:
    return next((at for at in range(len(items) - 1, -1, -1) if same(items[at], item)), -1)


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    wrong = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise CelError(wrong + "negative indexes not supported")
    if start > end:
        raise CelError(wrong + "start index must be less than or equal to end index")
    if end > len(items):
        raise CelError(wrong + f"list is length {len(items)}")
    return list(items[start:end])


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Any] = []
    waiting = [(iter(items), depth)]
    while waiting:
        level, left = waiting[-1]
        for item in level:
            if isinstance(item, list) and left > 0:
                waiting.append((iter(item), left - 1))
                break
            flat.append(item)
        else:
            waiting.pop()
    return flat


def _sort(items: list[Any]) -> list[Any]:
    return sort_by([(item, item) for item in items])


def _range(count: int) -> list[int]:
    return list(range(count))


def _range_cost(count: int) -> int:
    return 1 + call_cost.LIST_COST + max(0, count)


def _distinct(items: list[Any]) -> list[Any]:
    kept: list[Any] = []
    seen: set[Any] = set()
    for item in items:
        if isinstance(item, bool | int | float | str | bytes):
            key = (isinstance(item, bool), item)
            if key not in seen:
                seen.add(key)
                kept.append(item)
        elif not any(same(item, one) for one in kept):
            kept.append(item)
    return kept


def _copy_cost(items: list[Any]) -> int:
    return 1 + call_cost.LIST_COST + len(items)


def _slice_cost(_: list[Any], start: int, end: int) -> int:
    return 1 + call_cost.LIST_COST + max(0, end - start)


def _flatten_cost(items: list[Any], depth: int = 1) -> int:
    parts(items)
    return 1 + call_cost.LIST_COST + len(items) * max(0, depth)


def _reverse(items: list[Any]) -> list[Any]:
    if not isinstance(items, list):
        raise CelError(NO_SUCH_OVERLOAD)
    return items[::-1]


def _each(name: str, kinds: Any, run: Any, result: CelType | None = None) -> tuple[Overload, ...]:
    return tuple(
        Overload(
            f"list_{kind}_{name}", (list_of(kind),), result or kind, run, member=True, cost=_walk
        )
        for kind in kinds
    )


def _member(name: str, args: tuple[CelType, ...], result: CelType, run: Any, cost: Any) -> Overload:
    return Overload(name, args, result, run, member=True, cost=cost)


FUNCTIONS: Functions = {
    "isSorted": _each("is_sorted_bool", _COMPARABLE, _is_sorted, BOOL),
    "sum": tuple(
        overload for kind, zero in _ZEROS.items() for overload in _each("sum", (kind,), _sum(zero))
    ),
    "min": _each("min", _COMPARABLE, _extreme("min", -1)),
    "max": _each("max", _COMPARABLE, _extreme("max", 1)),
    "indexOf": (_member("list_a_index_of_int", (_LIST, A), INT, _index_of, _walk),),
    "lastIndexOf": (_member("list_a_last_index_of_int", (_LIST, A), INT, _last_index_of, _walk),),
    "slice": (_member("list_slice", (_LIST, INT, INT), _LIST, _slice, _slice_cost),),
    "flatten": (
        _member("list_flatten", (list_of(_LIST),), _LIST, _flatten, _flatten_cost),
        _member(
            "list_flatten_int",
            (list_of(DYN), INT),
            list_of(DYN),
            _flatten,
            _flatten_cost,
        ),
    ),
    "sort": tuple(
        _member(
            f"list_{kind}_sort", (list_of(kind),), list_of(kind), _sort, call_cost.of_comparisons
        )
        for kind in _COMPARABLE
    ),
    "lists.range": (Overload("lists_range", (INT,), list_of(INT), _range, cost=_range_cost),),
    "reverse": (_member("list_reverse", (_LIST,), _LIST, _reverse, _copy_cost),),
    "distinct": (_member("list_distinct", (_LIST,), _LIST, _distinct, call_cost.of_comparisons),),
}
