"""Strings: parts, places, replacements, `format` (cel-go's extension, version 2)."""

from typing import Any

from mooring.apiserver.cel import call_cost
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.library.formatting import format_text
from mooring.apiserver.cel.types import DYN, INT, STRING, CelType, list_of
from mooring.apiserver.cel.walk import weight

_STRINGS = list_of(STRING)
_WIDE_SPACE = "".join(map(chr, range(0x2000, 0x200B)))
_SPACE = f"\t\n\v\f\r \x85\xa0\u1680{_WIDE_SPACE}\u2028\u2029\u202f\u205f\u3000"
_LOWER = {code: code + 32 for code in range(65, 91)}
_UPPER = {code: code - 32 for code in range(97, 123)}
_QUOTED = {
    **{"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"},
    **{"\v": "\\v", "\\": "\\\\", '"': '\\"'},
}


def _outside(at: int) -> CelError:
    return CelError(f"index out of range: {at}")


def _char_at(text: str, at: int) -> str:
    if 0 <= at <= len(text):
        return text[at : at + 1]
    raise _outside(at)


def _index_of(text: str, part: str, start: int = 0) -> int:
    if part == "":
        return start
    if start < 0:
        raise _outside(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if part == "":
        return start
    if start < 0:
        raise _outside(start)
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count if count >= 0 else -1)


def _replace_cost(text: str, old: str, new: str, count: int = -1) -> int:
    """As upstream, and for what grows: what it grows to."""
    found = len(text) // max(1, len(old)) + 1
    found = min(found, count) if count >= 0 else found
    return max(call_cost.twice_first(text), call_cost.tenth(found * len(new)))


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    if 0 < count <= len(text):
        return [*text[: count - 1], text[count - 1 :]]
    return list(text)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for at in (start, end):
        if at is not None and not 0 <= at <= len(text):
            raise _outside(at)
    return text[start:end]


def _join(items: list[Any], separator: str = "") -> str:
    for item in items:
        if not isinstance(item, str):
            raise CelError(f"join: invalid input: {item}")
    return separator.join(items)


def _join_cost(items: list[Any], separator: str = "") -> int:
    length = sum(len(item) for item in items if isinstance(item, str))
    length += len(separator) * max(0, len(items) - 1)
    return -(-2 * length // 10)


def _format_cost(pattern: str, args: list[Any]) -> int:
    """As upstream, and for long arguments: what they grow to."""
    return max(call_cost.of_first(pattern), weight(args) // 10)


def _quote(text: str) -> str:
    return '"' + "".join(_QUOTED.get(char, char) for char in text) + '"'


def _member(name: str, args: tuple[CelType, ...], result: CelType, run: Any, cost: Any) -> Overload:
    return Overload(name, args, result, run, member=True, cost=cost)


_S, _I = STRING, INT
_walk, _once, _twice = call_cost.traversal, call_cost.of_first, call_cost.twice_first

FUNCTIONS: Functions = {
    "charAt": (_member("string_char_at_int", (_S, _I), _S, _char_at, None),),
    "indexOf": (
        _member("string_index_of_string", (_S, _S), _I, _index_of, _walk),
        _member("string_index_of_string_int", (_S, _S, _I), _I, _index_of, _walk),
    ),
    "lastIndexOf": (
        _member("string_last_index_of_string", (_S, _S), _I, _last_index_of, _walk),
        _member("string_last_index_of_string_int", (_S, _S, _I), _I, _last_index_of, _walk),
    ),
    "lowerAscii": (_member("string_lower_ascii", (_S,), _S, lambda x: x.translate(_LOWER), _once),),
    "upperAscii": (_member("string_upper_ascii", (_S,), _S, lambda x: x.translate(_UPPER), _once),),
    "replace": (
        _member("string_replace_string_string", (_S, _S, _S), _S, _replace, _replace_cost),
        _member("string_replace_string_string_int", (_S, _S, _S, _I), _S, _replace, _replace_cost),
    ),
    "split": (
        _member("string_split_string", (_S, _S), _STRINGS, _split, _twice),
        _member("string_split_string_int", (_S, _S, _I), _STRINGS, _split, _twice),
    ),
    "substring": (
        _member("string_substring_int", (_S, _I), _S, _substring, _once),
        _member("string_substring_int_int", (_S, _I, _I), _S, _substring, _once),
    ),
    "trim": (_member("string_trim", (_S,), _S, lambda x: x.strip(_SPACE), _once),),
    "join": (
        _member("list_join", (_STRINGS,), _S, _join, _join_cost),
        _member("list_join_string", (_STRINGS, _S), _S, _join, _join_cost),
    ),
    "format": (_member("string_format", (_S, list_of(DYN)), _S, format_text, _format_cost),),
    "strings.quote": (Overload("strings_quote", (_S,), _S, _quote, cost=_once),),
}
