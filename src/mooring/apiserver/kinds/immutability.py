"""Telling whether a field changed, and how to say what did."""

from collections.abc import Iterable
from typing import Any

from mooring.model.field_error import FieldError, invalid, show

IMMUTABLE = "field is immutable"


def same(new: Any, old: Any) -> bool:
    """Equal, where a field that is absent equals one that is empty, zero or false.

    A typed server cannot distinguish these: a client that sends `volumeName: ""` changes nothing.
    """
    if new == old:
        return True
    if isinstance(new, dict) and isinstance(old, dict):
        return all(same(new.get(key), old.get(key)) for key in new.keys() | old.keys())
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(same, new, old))
    return not new and not old


def validate_unchanged(field: str, new: Any, old: Any) -> Iterable[FieldError]:
    if not same(new, old):
        yield invalid(field, new, IMMUTABLE)


def changes(new: Any, old: Any, path: str) -> str:
    """What changed, a line per value: `spec.volumeName: "a" -> "b"`."""
    return "\n".join(_changes(new, old, path))


def _changes(new: Any, old: Any, path: str) -> Iterable[str]:
    if same(new, old):
        return
    if isinstance(new, dict) and isinstance(old, dict):
        for key in sorted(new.keys() | old.keys()):
            yield from _changes(new.get(key), old.get(key), f"{path}.{key}")
    else:
        yield f"{path}: {show(old)} -> {show(new)}"
