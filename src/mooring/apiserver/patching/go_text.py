"""Values in the words of the messages that clients know: as Go prints what it decoded from JSON."""

import json
from typing import Any


def plain(value: Any) -> str:
    """As `%v` prints it: `map[a:1 b:[x y]]`."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < 1e21:
            return str(int(value))
        case dict():
            return "map[" + " ".join(f"{k}:{plain(value[k])}" for k in sorted(value)) + "]"
        case list():
            return "[" + " ".join(map(plain, value)) + "]"
        case _:
            return str(value)


def quoted(value: Any) -> str:
    """As a scalar is shown inside a path: strings in quotes, the rest bare."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "null" if value is None else plain(value)


def type_name(value: Any) -> str:
    """As `%T` names its type."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case dict():
            return "map[string]interface {}"
        case list():
            return "[]interface {}"
        case _:
            return "string"


def json_type(value: Any) -> str:
    """As a JSON decoder names what it found."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case dict():
            return "object"
        case list():
            return "array"
        case _:
            return "string"
