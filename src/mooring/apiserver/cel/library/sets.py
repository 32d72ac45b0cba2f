"""Lists taken as sets."""

from typing import Any

from mooring.apiserver.cel import call_cost
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.types import BOOL, A, list_of
from mooring.apiserver.cel.walk import same

_LIST = list_of(A)


def _has(items: list[Any], item: Any) -> bool:
    return any(same(one, item) for one in items)


def _contains(items: list[Any], part: list[Any]) -> bool:
    return all(_has(items, item) for item in part)


def _equivalent(one: list[Any], other: list[Any]) -> bool:
    return _contains(one, other) and _contains(other, one)


def _intersects(one: list[Any], other: list[Any]) -> bool:
    return any(_has(other, item) for item in one)


def _twice(one: list[Any], other: list[Any]) -> int:
    return 1 + 2 * len(one) * len(other)


FUNCTIONS: Functions = {
    "sets.contains": (
        Overload(
            "list_sets_contains_list", (_LIST, _LIST), BOOL, _contains, cost=call_cost.of_product
        ),
    ),
    "sets.equivalent": (
        Overload("list_sets_equivalent_list", (_LIST, _LIST), BOOL, _equivalent, cost=_twice),
    ),
    "sets.intersects": (
        Overload(
            "list_sets_intersects_list",
            (_LIST, _LIST),
            BOOL,
            _intersects,
            cost=call_cost.of_product,
        ),
    ),
}
