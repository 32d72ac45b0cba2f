"""The standard functions: operators, sizes, conversions, strings."""

import math
import re
from typing import Any

from mooring.apiserver.cel import ast, call_cost, operators
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.go_float import go_float
from mooring.apiserver.cel.patterns import contains_match
from mooring.apiserver.cel.times import (
    SECOND,
    duration_text,
    parse_duration,
    parse_timestamp,
    timestamp,
    timestamp_text,
)
from mooring.apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    B,
    CelType,
    list_of,
    map_of,
    type_of,
)
from mooring.apiserver.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    TypeValue,
    UInt,
    kind_of,
)
from mooring.apiserver.cel.walk import contains

_LIST, _MAP = list_of(A), map_of(A, B)


def _not_run(*_: Any) -> Any:
    raise CelError("evaluated elsewhere")  # the compiler has closures of its own for these


def _arithmetic(
    name: str, run: Any, *kinds: tuple[CelType, CelType, CelType]
) -> tuple[Overload, ...]:
    text = (STRING, BYTES)
    return tuple(
        Overload(
            f"{name}_{one}_{other}",
            (one, other),
            result,
            run,
            cost=call_cost.of_both if one in text else None,
        )
        for one, other, result in kinds
    )


def _same(*kinds: CelType) -> tuple[tuple[CelType, CelType, CelType], ...]:
    return tuple((kind, kind, kind) for kind in kinds)


_NUMBERS = (INT, UINT, DOUBLE)
_ORDERED = (
    (BOOL, BOOL),
    *((one, other) for one in _NUMBERS for other in _NUMBERS),
    *((kind, kind) for kind in (STRING, BYTES, TIMESTAMP, DURATION)),
)


def _ordering(name: str, run: Any) -> tuple[Overload, ...]:
    return tuple(
        Overload(
            f"{name}_{one}_{other}",
            (one, other),
            BOOL,
            run,
            cost=call_cost.of_smaller if one in (STRING, BYTES) else None,
        )
        for one, other in _ORDERED
    )


OPERATORS: Functions = {
    ast.IF: (Overload("conditional", (BOOL, A, A), A, _not_run),),
    ast.AND: (Overload("logical_and", (BOOL, BOOL), BOOL, _not_run),),
    ast.OR: (Overload("logical_or", (BOOL, BOOL), BOOL, _not_run),),
    ast.NOT: (Overload("logical_not", (BOOL,), BOOL, operators.logical_not),),
    ast.EQUAL: (Overload("equals", (A, A), BOOL, operators.equal, cost=call_cost.of_smaller),),
    ast.NOT_EQUAL: (
        Overload(
            "not_equals",
            (A, A),
            BOOL,
            lambda a, b: not operators.equal(a, b),
            cost=call_cost.of_smaller,
        ),
    ),
    "_+_": (
        *_arithmetic("add", operators.add, *_same(BYTES, DOUBLE, DURATION)),
        *_arithmetic("add", operators.add, (DURATION, TIMESTAMP, TIMESTAMP)),
        *_arithmetic("add", operators.add, (TIMESTAMP, DURATION, TIMESTAMP), *_same(INT)),
        Overload("add_list", (_LIST, _LIST), _LIST, operators.add),
        *_arithmetic("add", operators.add, *_same(STRING, UINT)),
    ),
    "_-_": _arithmetic(
        "subtract",
        operators.subtract,
        *_same(DOUBLE, DURATION, INT),
        (TIMESTAMP, DURATION, TIMESTAMP),
        (TIMESTAMP, TIMESTAMP, DURATION),
        *_same(UINT),
    ),
    "_*_": _arithmetic("multiply", operators.multiply, *_same(DOUBLE, INT, UINT)),
    "_/_": _arithmetic("divide", operators.divide, *_same(DOUBLE, INT, UINT)),
    "_%_": _arithmetic("modulo", operators.modulo, *_same(INT, UINT)),
    ast.NEGATE: (
        Overload("negate_double", (DOUBLE,), DOUBLE, operators.negate),
        Overload("negate_int64", (INT,), INT, operators.negate),
    ),
    "_<_": _ordering("less", lambda a, b: operators.compare(a, b) < 0),
    "_<=_": _ordering("less_equals", lambda a, b: operators.compare(a, b) <= 0),
    "_>_": _ordering("greater", lambda a, b: operators.compare(a, b) > 0),
    "_>=_": _ordering("greater_equals", lambda a, b: operators.compare(a, b) >= 0),
    "_[_]": (
        Overload("index_list", (_LIST, INT), A, _not_run),
        Overload("index_map", (_MAP, A), B, _not_run),
    ),
    ast.IN: (
        Overload(
            "in_list",
            (A, _LIST),
            BOOL,
            contains,
            cost=call_cost.of_list,
        ),
        Overload("in_map", (A, _MAP), BOOL, contains),
    ),
}


_integer = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_real = re.compile(r"[+-]?([0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?)", re.ASCII)
_special = re.compile(r"[+-]?(inf|infinity|nan)", re.ASCII | re.IGNORECASE)


def _int_of_string(text: str) -> int:
    if len(text) <= 25 and _integer(text) and INT_MIN <= (number := int(text)) <= INT_MAX:
        return number
    raise CelError("type conversion error from 'string' to 'int'")


def _uint_of_string(text: str) -> UInt:
    if len(text) <= 25 and text.isascii() and text.isdigit() and (number := int(text)) <= UINT_MAX:
        return UInt(number)
    raise CelError("type conversion error from 'string' to 'uint'")


def _double_of_string(text: str) -> float:
    if _real.fullmatch(text) or _special.fullmatch(text):
        number = float(text)
        if math.isfinite(number) or _special.fullmatch(text):
            return number
    raise CelError("type conversion error from 'string' to 'double'")


def _bool_of_string(text: str) -> bool:
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise CelError("type conversion error from 'string' to 'bool'")


def _int_of_double(number: float) -> int:
    if math.isfinite(number) and -(2.0**63) < number < 2.0**63:
        return int(number)
    raise CelError("integer overflow")


def _uint_of_double(number: float) -> UInt:
    if math.isfinite(number) and 0 <= number < 2.0**64:
        return UInt(number)
    raise CelError("unsigned integer overflow")


def _string_of_bytes(octets: bytes) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def _same_value(value: Any) -> Any:
    return value


def _to(name: str, result: CelType, *conversions: tuple[CelType, Any]) -> tuple[Overload, ...]:
    whole = {("bytes", STRING), ("string", BYTES)}
    return tuple(
        Overload(
            f"{given}_to_{name}",
            (given,),
            result,
            run,
            cost=call_cost.of_first if (name, given) in whole else None,
        )
        for given, run in conversions
    )


CONVERSIONS: Functions = {
    "bool": _to("bool", BOOL, (BOOL, _same_value), (STRING, _bool_of_string)),
    "bytes": _to(
        "bytes", BYTES, (BYTES, _same_value), (STRING, lambda x: x.encode(errors="surrogatepass"))
    ),
    "double": _to(
        "double",
        DOUBLE,
        (DOUBLE, _same_value),
        (INT, float),
        (STRING, _double_of_string),
        (UINT, float),
    ),
    "duration": _to(
        "duration", DURATION, (DURATION, _same_value), (INT, Duration), (STRING, parse_duration)
    ),
    "dyn": (Overload("to_dyn", (A,), DYN, _same_value),),
    "int": _to(
        "int",
        INT,
        (INT, _same_value),
        (DOUBLE, _int_of_double),
        (DURATION, lambda x: x.nanos),
        (STRING, _int_of_string),
        (TIMESTAMP, lambda x: x.nanos // SECOND),
        (UINT, lambda x: operators.as_int(int(x))),
    ),
    "string": _to(
        "string",
        STRING,
        (STRING, _same_value),
        (BOOL, lambda x: "true" if x else "false"),
        (BYTES, _string_of_bytes),
        (DOUBLE, go_float),
        (DURATION, duration_text),
        (INT, str),
        (TIMESTAMP, timestamp_text),
        (UINT, lambda x: str(int(x))),
    ),
    "timestamp": _to(
        "timestamp",
        TIMESTAMP,
        (TIMESTAMP, _same_value),
        (INT, lambda x: timestamp(x * SECOND)),
        (STRING, parse_timestamp),
    ),
    "type": (Overload("type", (A,), type_of(A), lambda x: TypeValue(kind_of(x))),),
    "uint": _to(
        "uint",
        UINT,
        (UINT, _same_value),
        (DOUBLE, _uint_of_double),
        (INT, operators.as_uint),
        (STRING, _uint_of_string),
    ),
}


def _both(name: str, args: tuple[CelType, ...], result: CelType, run: Any) -> tuple[Overload, ...]:
    return (
        Overload(name, args, result, run),
        Overload(f"{name}_inst", args, result, run, member=True),
    )


TEXT: Functions = {
    "size": (
        *_both("size_bytes", (BYTES,), INT, len),
        *_both("size_list", (_LIST,), INT, len),
        *_both("size_map", (_MAP,), INT, len),
        *_both("size_string", (STRING,), INT, len),
    ),
    "contains": (
        Overload(
            "contains_string",
            (STRING, STRING),
            BOOL,
            lambda x, part: part in x,
            member=True,
            cost=call_cost.of_search,
        ),
    ),
    "endsWith": (
        Overload(
            "ends_with_string",
            (STRING, STRING),
            BOOL,
            str.endswith,
            member=True,
            cost=call_cost.of_first,
        ),
    ),
    "startsWith": (
        Overload(
            "starts_with_string",
            (STRING, STRING),
            BOOL,
            str.startswith,
            member=True,
            cost=call_cost.of_first,
        ),
    ),
    "matches": tuple(
        Overload(
            "matches_string" if member else "matches",
            (STRING, STRING),
            BOOL,
            contains_match,
            member=member,
            cost=call_cost.of_pattern,
        )
        for member in (False, True)
    ),
}
