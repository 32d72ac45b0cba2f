"""What a scalar of a YAML body means, in the dialect of Kubernetes: YAML 1.1, less dates."""

import re
from math import isinf
from typing import Any

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_TRUTHS = {
    word: truth
    for truth, words in (
        (True, ("y", "yes", "true", "on")),
        (False, ("n", "no", "false", "off")),
    )
    for bare in words
    for word in (bare, bare.capitalize(), bare.upper())
}
_integer = re.compile(
    r"([-+]?)(?:0b([01]+)|0x([0-9a-fA-F]+)|0o?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII
).fullmatch
_float = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII
).fullmatch
_not_finite = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)").fullmatch

_MOST_DIGITS = 400
_LARGEST = 2**64 - 1
_SHOWN_WHOLE = 1e21
"""Below this, JSON writes a float without a fraction as an integer."""

_STANDARD = "tag:yaml.org,2002:"
_RESOLVED = frozenset(_STANDARD + name for name in ("int", "float", "bool", "null"))


def scalar_value(text: str, tag: str | None, *, plain: bool) -> Any:
    """The JSON value of a scalar. `plain`: it has neither quotes nor a tag.

    Raises: ValueError.
    """
    if plain or tag in _RESOLVED:
        return _resolve(text)
    if tag is not None and tag.startswith(_STANDARD) and tag != f"{_STANDARD}str":
        raise ValueError(f"yaml: cannot use a value tagged !!{tag.removeprefix(_STANDARD)}")
    return text


def key_text(key: Any) -> str:
    """A key of any scalar type, as the string that JSON needs. Raises: ValueError."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int | float):
        return f"{key:g}" if isinstance(key, float) else str(key)
    if key is None:
        raise ValueError("yaml: unsupported map key of type: null")
    raise ValueError("yaml: invalid map key")


def _resolve(text: str) -> Any:
    if text in _NULLS:
        return None
    if text in _TRUTHS:
        return _TRUTHS[text]
    if text[0] in "+-.0123456789":
        if _not_finite(text):
            raise ValueError(f"yaml: {text} has no form in JSON")
        return _number(text)
    return text


def _number(text: str) -> str | int | float:
    bare = text.replace("_", "")
    if len(bare) > _MOST_DIGITS:
        return text
    found = _integer(bare)
    if found is not None:
        sign, binary, hexadecimal, octal, decimal = found.groups()
        if binary or hexadecimal or octal:
            value = int(binary or hexadecimal or octal, 2 if binary else 16 if hexadecimal else 8)
        else:
            value = int(decimal)
        if value <= _LARGEST:
            return -value if sign == "-" else value
    if _float(bare) is None:
        return text
    number = float(bare)
    if isinf(number):
        return text  # more than a float can hold is no number at all
    return int(number) if number.is_integer() and abs(number) < _SHOWN_WHOLE else number
