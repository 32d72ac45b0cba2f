"""Values as Go prints them inside the texts of errors."""

import json
import math
from typing import Any

from mooring.model.field_error import show


def sorted_deep(value: Any) -> Any:
    """A value with the keys of its objects in order, as Go writes maps."""
    if isinstance(value, dict):
        return {key: sorted_deep(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [sorted_deep(item) for item in value]
    return value
