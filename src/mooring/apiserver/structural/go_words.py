"""Values as Go prints them inside the texts of errors."""

from typing import Any

_DEEPEST = 50  # levels that are put in order: of a deeper value no more is shown


def sorted_deep(value: Any, levels: int = _DEEPEST) -> Any:
    """A value with the keys of its objects in order, as Go writes maps."""
    if levels and isinstance(value, dict):
        return {key: sorted_deep(value[key], levels - 1) for key in sorted(value)}
    if levels and isinstance(value, list):
        return [sorted_deep(item, levels - 1) for item in value]
    return value
