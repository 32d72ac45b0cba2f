"""Arithmetic, order and equality over values whose types only the values tell."""

import math
from collections.abc import Callable
from typing import Any

from mooring.apiserver.cel.errors import NO_SUCH_OVERLOAD, CelError
from mooring.apiserver.cel.times import duration, timestamp
from mooring.apiserver.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    MapList,
    Optional,
    SetList,
    Timestamp,
    UInt,
)

_LISTS = (list, SetList, MapList)
_NUMBERS = frozenset((int, UInt, float))


def as_int(number: int) -> int:
    if INT_MIN <= number <= INT_MAX:
        return number
    raise CelError("integer overflow")


def as_uint(number: int) -> UInt:
    if 0 <= number <= UINT_MAX:
        return UInt(number)
    raise CelError("unsigned integer overflow")


def _quotient(a: int, b: int) -> int:
    """Towards zero, as in Go."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _divide_ints(a: int, b: int) -> int:
    if b == 0:
        raise CelError("division by zero")
    return as_int(_quotient(a, b))


def _divide_uints(a: UInt, b: UInt) -> UInt:
    if b == 0:
        raise CelError("division by zero")
    return UInt(a // b)


def _divide_doubles(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _modulo_ints(a: int, b: int) -> int:
    if b == 0:
        raise CelError("modulus by zero")
    if a == INT_MIN and b == -1:
        raise CelError("integer overflow")
    return a - _quotient(a, b) * b


def _modulo_uints(a: UInt, b: UInt) -> UInt:
    if b == 0:
        raise CelError("modulus by zero")
    return UInt(a % b)


_ADD: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (int, int): lambda a, b: as_int(a + b),
    (UInt, UInt): lambda a, b: as_uint(int(a) + int(b)),
    (float, float): lambda a, b: a + b,
    (str, str): lambda a, b: a + b,
    (bytes, bytes): lambda a, b: a + b,
    (Duration, Duration): lambda a, b: duration(a.nanos + b.nanos),
    (Timestamp, Duration): lambda a, b: timestamp(a.nanos + b.nanos),
    (Duration, Timestamp): lambda a, b: timestamp(a.nanos + b.nanos),
    **{(one, other): lambda a, b: a + b for one in _LISTS for other in _LISTS},
}
_SUBTRACT: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (int, int): lambda a, b: as_int(a - b),
    (UInt, UInt): lambda a, b: as_uint(int(a) - int(b)),
    (float, float): lambda a, b: a - b,
    (Duration, Duration): lambda a, b: duration(a.nanos - b.nanos),
    (Timestamp, Duration): lambda a, b: timestamp(a.nanos - b.nanos),
    (Timestamp, Timestamp): lambda a, b: duration(a.nanos - b.nanos),
}
_MULTIPLY: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (int, int): lambda a, b: as_int(a * b),
    (UInt, UInt): lambda a, b: as_uint(int(a) * int(b)),
    (float, float): lambda a, b: a * b,
}
_DIVIDE: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (int, int): _divide_ints,
    (UInt, UInt): _divide_uints,
    (float, float): _divide_doubles,
}
_MODULO: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (int, int): _modulo_ints,
    (UInt, UInt): _modulo_uints,
}


def _by_types(
    table: dict[tuple[type, type], Callable[[Any, Any], Any]],
) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        found = table.get((type(a), type(b)))
        if found is None:
            raise CelError(NO_SUCH_OVERLOAD)
        return found(a, b)

    return run


add, subtract, multiply = _by_types(_ADD), _by_types(_SUBTRACT), _by_types(_MULTIPLY)
divide, modulo = _by_types(_DIVIDE), _by_types(_MODULO)


def negate(value: Any) -> Any:
    if type(value) is int:
        return as_int(-value)
    if type(value) is float:
        return -value
    raise CelError(NO_SUCH_OVERLOAD)


def logical_not(value: Any) -> bool:
    if value is True:
        return False
    if value is False:
        return True
    raise CelError(NO_SUCH_OVERLOAD)


_ORDERED = frozenset((bool, str, bytes, Timestamp, Duration))


def compare(a: Any, b: Any) -> int:
    """-1, 0 or 1; numbers compare across their types."""
    one, other = type(a), type(b)
    if one in _NUMBERS and other in _NUMBERS:
        if a != a or b != b:  # noqa: PLR0124  (not a number)
            raise CelError("NaN values cannot be ordered")
        if one is not other and (one is float or other is float):
            a, b = float(a), float(b)  # as upstream: what a double cannot hold is rounded
    elif one is not other or one not in _ORDERED:
        raise CelError(NO_SUCH_OVERLOAD)
    return int(a > b) - int(a < b)


def equal(a: Any, b: Any) -> bool:
    """Equality over all types: what has another type is another value; numbers are numbers."""
    one, other = type(a), type(b)
    if one in _NUMBERS or other in _NUMBERS:
        return one in _NUMBERS and other in _NUMBERS and bool(a == b)
    if one is bool or other is bool:
        return a is b
    if one is SetList or other is SetList or one is MapList or other is MapList:
        return bool(a == b if one in (SetList, MapList) else b == a)
    if one is list and other is list:
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return len(a) == len(b) and all(key in b and equal(item, b[key]) for key, item in a.items())
    if one is Optional and other is Optional:
        return a.present == b.present and equal(a.value, b.value)
    return one is other and bool(a == b)


_MISSING = object()


def find_key(mapping: dict[Any, Any], key: Any) -> tuple[bool, Any]:
    """Whether a map has the key, and what it holds."""
    kind = type(key)
    if kind is bool:
        return next(((True, item) for one, item in mapping.items() if one is key), (False, None))
    if kind is str or kind in _NUMBERS:
        found = mapping.get(key, _MISSING)
        if found is _MISSING:
            return False, None
        return True, found
    raise CelError(NO_SUCH_OVERLOAD)


def index(container: Any, key: Any) -> Any:
    """`container[key]`."""
    if isinstance(container, list):
        at = position(key)
        if 0 <= at < len(container):
            return container[at]
        raise CelError(f"index out of bounds: {at}")
    if isinstance(container, dict):
        found, item = find_key(container, key)
        if found:
            return item
        raise CelError(f"no such key: {shown(key)}")
    raise CelError(NO_SUCH_OVERLOAD)


def position(key: Any) -> int:
    if type(key) in (int, UInt):
        return int(key)
    if type(key) is float and key.is_integer():
        return int(key)
    raise CelError(
        f"unsupported index value {shown(key)} in list" if type(key) is float else NO_SUCH_OVERLOAD
    )


def shown(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)
