"""Copies of documents that share nothing with what they were made from."""

from typing import Any

_PLAIN = frozenset({str, int, bool, float, type(None)})


def copied(value: Any) -> Any:
    """The same JSON value, with no list or object in common with `value`."""
    kind = type(value)
    if kind is dict:
        return {k: v if type(v) in _PLAIN else copied(v) for k, v in value.items()}
    if kind is list:
        return [v if type(v) in _PLAIN else copied(v) for v in value]
    return value
