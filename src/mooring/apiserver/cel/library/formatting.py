"""`'%s is %d'.format([a, b])`: its clauses."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.go_float import go_float
from mooring.apiserver.cel.times import duration_text, timestamp_text
from mooring.apiserver.cel.values import Duration, Timestamp, TypeValue, UInt, kind_of

_clause = re.compile(r"%(?:\.([0-9]+))?(.?)", re.DOTALL)
_MOST_PRECISION = 1000
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def format_text(pattern: str, args: list[Any]) -> str:
    given = enumerate(args)
    return _clause.sub(lambda match: _formatted(match, given, len(args)), pattern)


def _formatted(match: re.Match[str], given: Iterator[tuple[int, Any]], count: int) -> str:
    precision, letter = match.groups()
    if letter == "%" and precision is None:
        return "%"
    if not letter:
        raise CelError("unexpected end of string")
    write = _CLAUSES.get(letter)
    if write is None:
        raise CelError(
            f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
        )
    at, arg = next(given, (count, None))
    if at >= count:
        raise CelError(f"index {count} out of range")
    digits = 6 if precision is None else int(precision)
    if digits > _MOST_PRECISION:
        raise CelError(f"error while parsing precision: precision {digits} is too large")
    return write(arg, digits)


def _wrong(clause: str, arg: Any, kinds: str) -> CelError:
    return CelError(
        f"error during formatting: {clause} clause can only be used on {kinds}, "
        f"was given {kind_of(arg)}"
    )


def _string(arg: Any, _: int = 6) -> str:
    match arg:
        case bool():
            return "true" if arg else "false"
        case None:
            return "null"
        case str():
            return arg
        case int():
            return str(int(arg))
        case float():
            return go_float(arg)
        case bytes():
            return arg.decode(errors="replace")
        case Timestamp():
            return timestamp_text(arg)
        case Duration():
            return duration_text(arg)
        case TypeValue():
            return arg.name
        case list():
            return f"[{', '.join(map(_inside, arg))}]"
        case dict():
            pairs = sorted((_inside(key), _inside(item)) for key, item in arg.items())
            return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"
        case _:
            pass
    kinds = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
    raise _wrong("string", arg, kinds)


def _inside(arg: Any) -> str:
    """As part of a list or a map."""
    match arg:
        case str():
            return _quoted(arg)
        case bytes():
            return "b" + _quoted(arg.decode(errors="replace"))
        case Timestamp():
            return f'timestamp("{timestamp_text(arg)}")'
        case Duration():
            return f'duration("{duration_text(arg)}")'
        case float():
            return f"{arg:.6f}" if math.isfinite(arg) else f'"{go_float(arg)}"'
        case _:
            pass
    return _string(arg)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + escaped.replace("\t", "\\t").replace("\r", "\\r") + '"'


def _decimal(arg: Any, _: int) -> str:
    if type(arg) in (int, UInt):
        return str(int(arg))
    raise _wrong("decimal", arg, "integers")


def _double(clause: str, arg: Any) -> float:
    if isinstance(arg, float):
        return arg
    if isinstance(arg, str) and arg in _SPECIAL:
        return _SPECIAL[arg]
    raise _wrong(clause, arg, "doubles")


def _not_finite(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _fixed(arg: Any, digits: int) -> str:
    number = _double("fixed-point", arg)
    return f"{number:,.{digits}f}" if math.isfinite(number) else _not_finite(number)


def _scientific(arg: Any, digits: int) -> str:
    number = _double("scientific", arg)
    if not math.isfinite(number):
        return _not_finite(number)
    mantissa, _, exponent = f"{number:.{digits}e}".partition("e")
    power = f"{'-' if exponent[0] == '-' else ''}{abs(int(exponent)):02d}"
    return f"{mantissa}×10{power.translate(_SUPERSCRIPT)}"  # noqa: RUF001


def _binary(arg: Any, _: int) -> str:
    if isinstance(arg, int):  # a bool too
        return f"{int(arg):b}"
    raise CelError(
        "error during formatting: only integers and bools can be formatted as binary, "
        f"was given {kind_of(arg)}"
    )


def _hex(arg: Any, _: int) -> str:
    if type(arg) in (int, UInt):
        return f"{int(arg):x}"
    if isinstance(arg, str):
        return arg.encode(errors="surrogatepass").hex()
    if isinstance(arg, bytes):
        return arg.hex()
    raise CelError(
        "error during formatting: only integers, byte buffers, and strings can be formatted as "
        f"hex, was given {kind_of(arg)}"
    )


def _octal(arg: Any, _: int) -> str:
    if type(arg) in (int, UInt):
        return f"{int(arg):o}"
    raise _wrong("octal", arg, "integers")


_CLAUSES: dict[str, Callable[[Any, int], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": lambda arg, digits: _hex(arg, digits).upper(),
    "o": _octal,
}
