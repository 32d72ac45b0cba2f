"""Closures of calls and of most operators; quick ones where the types are known."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from mooring.apiserver.cel import ast, call_cost, operators
from mooring.apiserver.cel.code import Code, Frame, constant, is_constant, pay
from mooring.apiserver.cel.errors import CelError, ProgramError
from mooring.apiserver.cel.functions import Overload, dispatch
from mooring.apiserver.cel.patterns import check_pattern
from mooring.apiserver.cel.types import (
    BOOL,
    DURATION,
    INT,
    TIMESTAMP,
    UINT,
    CelType,
    has_dyn,
)
from mooring.apiserver.cel.values import INT_MAX, INT_MIN, Optional, UInt
from mooring.apiserver.cel.walk import same

_EXACT = frozenset((BOOL, INT, UINT, TIMESTAMP, DURATION))  # plain values without surprises
_LONG = frozenset(("string", "bytes", "list", "map", "record"))
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}
_CONVERSIONS = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
_OPERATORS = frozenset((*_ORDER, "_+_", "_-_", "_*_", "_/_", "_%_", ast.NEGATE, ast.NOT, ast.IN))


def call_code(
    function: str, overloads: tuple[Overload, ...], args: tuple[Code, ...], types: Sequence[CelType]
) -> Code:
    match function:
        case "or" | "orValue":
            return _or_code(*args, wraps=function == "or")
        case ast.EQUAL | ast.NOT_EQUAL:
            return _equal_code(args, types, wanted=function == ast.EQUAL)
        case ast.IN if _is_plain_set(args):
            return _member_code(args[0], args[1].constant)
        case "_+_" if types[0] == INT and types[1] == INT:
            return _add_ints(*args)
        case "_+_" if len(overloads) > 1 or types[0].kind == "list":
            return _counted(operators.add, _add_cost, args)
    if function in _ORDER and types[0] == types[1] and types[0] in _EXACT:
        return _plain(_ORDER[function], args)
    if function in _CONVERSIONS and is_constant(args[0]):
        return _folded(function, overloads, args[0])
    if function in ("find", "findAll") and isinstance(args[1].constant, str):
        _must_compile(args[1].constant)
    if len(overloads) == 1 and not any(map(has_dyn, types)):
        return _single(overloads[0], args)
    if function in _OPERATORS:
        cost = call_cost.of_list if function == ast.IN and types[1].kind == "list" else None
        return _single(overloads[0], args) if cost else _plain(overloads[0].run, args)
    return _dispatched(function, overloads, args)


def _plain(run: Callable[..., Any], args: tuple[Code, ...]) -> Code:
    """A call that costs 1."""
    cost = 1 + sum(arg.cost for arg in args)
    match args:
        case (one,):
            first = one.run
            return Code(lambda frame: run(first(frame)), cost)
        case (one, other):
            first, second = one.run, other.run
            if is_constant(other):
                value = other.constant
                return Code(lambda frame: run(first(frame), value), cost)
            return Code(lambda frame: run(first(frame), second(frame)), cost)
        case _:
            pass
    runs = tuple(arg.run for arg in args)
    return Code(lambda frame: run(*[part(frame) for part in runs]), cost)


def _counted(run: Callable[..., Any], price: Callable[..., int], args: tuple[Code, ...]) -> Code:
    """A call whose cost depends on its arguments; it is paid before it is done."""
    cost = sum(arg.cost for arg in args)
    runs = tuple(arg.run for arg in args)
    if len(runs) == 2:
        first, second = runs

        def call_two(frame: Frame) -> Any:
            one, other = first(frame), second(frame)
            left = frame[0] = frame[0] - price(one, other)
            if left < 0:
                pay(frame, 0)
            return run(one, other)

        return Code(call_two, cost)

    def call(frame: Frame) -> Any:
        values = [part(frame) for part in runs]
        pay(frame, price(*values))
        return run(*values)

    return Code(call, cost)


def _single(overload: Overload, args: tuple[Code, ...]) -> Code:
    if overload.cost is None:
        return _plain(overload.run, args)
    return _counted(overload.run, overload.cost, args)


def _dispatched(function: str, overloads: tuple[Overload, ...], args: tuple[Code, ...]) -> Code:
    runs = tuple(arg.run for arg in args)

    def call(frame: Frame) -> Any:
        values = tuple(part(frame) for part in runs)
        overload = dispatch(function, overloads, values)
        pay(frame, 1 if overload.cost is None else overload.cost(*values))
        return overload.run(*values)

    return Code(call, sum(arg.cost for arg in args))


def _folded(function: str, overloads: tuple[Overload, ...], arg: Code) -> Code:
    """A conversion of what is written out: done now, and what fails now is refused."""
    try:
        return constant(dispatch(function, overloads, (arg.constant,)).run(arg.constant))
    except CelError as error:
        raise ProgramError(str(error)) from None


def _must_compile(pattern: str) -> None:
    try:
        check_pattern(pattern)
    except CelError as error:
        raise ProgramError(str(error)) from None


def _add_ints(one: Code, other: Code) -> Code:
    first, second = one.run, other.run

    def add(frame: Frame) -> int:
        total: int = first(frame) + second(frame)
        if INT_MIN <= total <= INT_MAX:
            return total
        return operators.as_int(total)

    return Code(add, 1 + one.cost + other.cost)


def _add_cost(one: Any, other: Any) -> int:
    """Lists are copied here, so that long ones cost more than upstream's."""
    if isinstance(one, list) and isinstance(other, list):
        return 1 + (len(one) + len(other)) // 10
    return max(1, call_cost.of_both(one, other))


def _flat(of: CelType) -> bool:
    """A value of a document, or one without values inside that have values inside."""
    if of.kind == "record":
        return True
    if of.kind in ("list", "map"):
        return all(not one.params and not has_dyn(one) for one in of.params)
    return not of.params and not has_dyn(of)


def _equal_code(args: tuple[Code, ...], types: Sequence[CelType], *, wanted: bool) -> Code:
    one, other = types
    if one == other and one in _EXACT:
        return _plain(operator.eq if wanted else operator.ne, args)
    if one == other and one.kind in _LONG and _flat(one):
        return _equal_long(*args, wanted=wanted)
    return _counted(same if wanted else _different, call_cost.of_smaller, args)


def _equal_long(one: Code, other: Code, *, wanted: bool) -> Code:
    """The same for values with a length: most rules compare such ones."""
    first, second = one.run, other.run

    def compare(frame: Frame) -> bool:
        a, b = first(frame), second(frame)
        try:
            length = min(len(a), len(b))
        except TypeError:  # an item that may be null is
            return same(a, b) is wanted
        left = frame[0] = frame[0] + -length // 10
        if left < 0:
            pay(frame, 0)
        return (a == b) is wanted

    return Code(compare, one.cost + other.cost)


def _different(a: Any, b: Any) -> bool:
    return not same(a, b)


def _is_plain_set(args: tuple[Code, ...]) -> bool:
    """Whether it is a list of strings or ints, written out."""
    items = args[1].constant
    return type(items) is list and len({type(item) for item in items} | {str, int}) == 2


def _member_code(item: Code, items: list[Any]) -> Code:
    members = frozenset((type(one), one) for one in items)
    run = item.run

    def within(frame: Frame) -> bool:
        value = run(frame)
        if type(value) is UInt or (type(value) is float and value.is_integer()):
            value = int(value)
        return type(value) in (str, int) and (type(value), value) in members

    return Code(within, item.cost)


def _or_code(one: Code, other: Code, *, wraps: bool) -> Code:
    """The second is asked for only if the first has no value."""
    first, second, cost = one.run, other.run, other.cost

    def run(frame: Frame) -> Any:
        value = first(frame)
        if type(value) is not Optional:
            raise CelError("no such overload")
        if value.present:
            return value if wraps else value.value
        frame[0] -= cost
        otherwise = second(frame)
        if wraps and type(otherwise) is not Optional:
            raise CelError("no such overload")
        return otherwise

    return Code(run, one.cost)
