"""Copies of documents that share nothing with what they were made from."""

from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_PLAIN = frozenset({str, int, bool, float, type(None)})


def copied(value: Any) -> Any:
    """The same JSON value, with no list or object in common with `value`."""
    if type(value) in _PLAIN:
        return value
    try:
        return _decode(_encode(value))  # much quicker than a walk
    except UnicodeEncodeError:
        return _walked(value)


def _walked(value: Any) -> Any:
    """For texts that UTF-8 has no bytes for."""
    match value:
        case dict():
            return {key: _walked(inner) for key, inner in value.items()}
        case list():
            return [_walked(inner) for inner in value]
        case _:
            return value
