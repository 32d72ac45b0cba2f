"""Values as Go prints them inside the texts of errors."""

from typing import Any

_DEEPEST = 50  # levels that are shown


def sorted_deep(value: Any, levels: int = _DEEPEST) -> Any:
    """A value with the keys of its objects in order, as Go writes maps; a deep one is cut."""
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return "..."
    if isinstance(value, dict):
        return {key: sorted_deep(value[key], levels - 1) for key in sorted(value)}
    return [sorted_deep(item, levels - 1) for item in value]
