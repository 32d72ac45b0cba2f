"""What calls cost: units as upstream counts them, a tenth of a unit per character looked at."""

from collections.abc import Callable
from typing import Any

from mooring.apiserver.cel.values import Optional, size_of

MOST_PER_EXPRESSION = 1_000_000
MOST_PER_OBJECT = 10_000_000
LIST_COST, MAP_COST = 10, 30


def tenth(size: int) -> int:
    return -(-size // 10)


def of_first(first: Any, *_: Any) -> int:
    """One look at the first argument."""
    return tenth(size_of(first))


def twice_first(first: Any, *_: Any) -> int:
    return -(-2 * size_of(first) // 10)


def of_both(first: Any, second: Any) -> int:
    return tenth(size_of(first) + size_of(second))


def of_smaller(first: Any, second: Any) -> int:
    return tenth(min(size_of(first), size_of(second)))


def of_list(_: Any, second: Any) -> int:
    return size_of(second)


def of_pattern(text: Any, pattern: Any, *_: Any) -> int:
    return tenth(1 + size_of(text)) * -(-size_of(pattern) // 4)


def of_search(text: Any, part: Any) -> int:
    return tenth(size_of(text)) * tenth(size_of(part))


def of_product(first: Any, second: Any) -> int:
    return 1 + size_of(first) * size_of(second)


def traversal(first: Any, *_: Any) -> int:
    """One look at all of a value, for what walks through lists."""
    if isinstance(first, str):
        return len(first.encode(errors="surrogatepass")) // 10
    if isinstance(first, bytes):
        return len(first) // 10
    if isinstance(first, list):
        return sum(map(traversal, first))
    if isinstance(first, dict):
        return sum(traversal(key) + traversal(item) for key, item in first.items())
    if isinstance(first, Optional):
        return traversal(first.value)
    return 1


def of_comparisons(items: list[Any]) -> int:
    """Every item with every other one, twice, as a list is sorted."""
    factor = 2.1 if items and isinstance(items[0], str | bytes) else 2.0
    return int(len(items) ** 2 * factor) + 1 + LIST_COST


def constant(units: int) -> Callable[..., int]:
    return lambda *_: units
