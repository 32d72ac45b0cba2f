"""Sorted lists, as `sort` and `sortBy` make them."""

from typing import Any

from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.values import Duration, Timestamp, UInt

_COMPARABLE = frozenset((int, UInt, float, bool, str, bytes, Timestamp, Duration))


def sort_by(keyed: list[tuple[Any, Any]]) -> list[Any]:
    """The items in the order of their keys."""
    kinds = {type(key) for key, _ in keyed}
    if not kinds <= _COMPARABLE:
        raise CelError("list elements must be comparable")
    if len(kinds) > 1:
        raise CelError("list elements must have the same type")
    return [item for _, item in sorted(keyed, key=lambda pair: pair[0])]
