"""What is wrong with literals although their types fit: mixed lists, times and patterns."""

from collections.abc import Iterator, Mapping

from mooring.apiserver.cel import ast
from mooring.apiserver.cel.ast import Expr
from mooring.apiserver.cel.errors import CelError, Issue
from mooring.apiserver.cel.patterns import check_pattern
from mooring.apiserver.cel.times import SECOND, parse_duration, parse_timestamp, timestamp
from mooring.apiserver.cel.types import CelType

_MIXES = "format"  # the one function that takes a list of everything


def wrong_literals(tree: Expr, types: Mapping[int, CelType]) -> list[Issue]:
    return list(_wrong(tree, types, mixed=False))


def _wrong(expr: Expr, types: Mapping[int, CelType], *, mixed: bool) -> Iterator[Issue]:
    if isinstance(expr, ast.Call):
        yield from _wrong_argument(expr)
        mixed = mixed or expr.function == _MIXES
    elif isinstance(expr, ast.ListLiteral) and not mixed:
        yield from _wrong_list(expr, types)
    elif isinstance(expr, ast.MapLiteral) and not mixed:
        yield from _wrong_map(expr, types)
    for child in ast.children(expr):
        yield from _wrong(child, types, mixed=mixed)


def _wrong_argument(call: ast.Call) -> Iterator[Issue]:
    if not call.args or not isinstance(call.args[0], ast.Literal):
        return
    value = call.args[0].value
    try:
        match call.function, value:
            case "duration", str():
                parse_duration(value)
            case "timestamp", str():
                parse_timestamp(value)
            case "timestamp", int():
                timestamp(value * SECOND)
            case "matches", str():
                check_pattern(value)
            case _:
                pass
    except CelError:
        yield Issue(call.args[0].at, f"invalid {call.function} argument")


def _wrong_list(expr: ast.ListLiteral, types: Mapping[int, CelType]) -> Iterator[Issue]:
    first: CelType | None = None
    for at, item in enumerate(expr.items):
        found = _unwrapped(types[id(item)], optional=at in expr.optional)
        if first is None:
            first = found
        elif found != first:
            yield _mismatch(item, first, found)
            return


def _wrong_map(expr: ast.MapLiteral, types: Mapping[int, CelType]) -> Iterator[Issue]:
    first: tuple[CelType, CelType] | None = None
    for entry in expr.entries:
        key = types[id(entry.key)]
        value = _unwrapped(types[id(entry.value)], optional=entry.optional)
        if first is None:
            first = key, value
            continue
        if key != first[0]:
            yield _mismatch(entry.key, first[0], key)
        if value != first[1]:
            yield _mismatch(entry.value, first[1], value)


def _unwrapped(one: CelType, *, optional: bool) -> CelType:
    return one.params[0] if optional and one.params else one


def _mismatch(expr: Expr, wanted: CelType, found: CelType) -> Issue:
    return Issue(expr.at, f"expected type '{wanted}' but found '{found}'")
