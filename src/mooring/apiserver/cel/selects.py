"""Closures that look into values: `a.b`, `has(a.b)`, `a.?b`, `a[b]`, `a[?b]`."""

from typing import Any

from mooring.apiserver.cel import ast, operators
from mooring.apiserver.cel.code import Code, Frame, Run, is_constant
from mooring.apiserver.cel.errors import NO_SUCH_OVERLOAD, CelError
from mooring.apiserver.cel.escaping import unescape
from mooring.apiserver.cel.types import CelType, is_optional
from mooring.apiserver.cel.values import NONE, Optional

_MISSING = object()


def select_code(expr: ast.Select, operand: Code, of: CelType) -> Code:
    """A field; null counts as missing in declared objects."""
    if of.kind == "record":
        key = unescape(expr.field)
        if expr.test:
            return Code(_has_field(operand.run, key), _cost(operand) - 1)
        if expr.optional:
            return Code(_optional_field(operand.run, key), _cost(operand), root=1)
        return Code(_field(operand.run, key, expr.field), _cost(operand), root=operand.root or 1)
    if expr.test:
        return Code(_has_key(operand.run, expr.field), _cost(operand) - 1)
    if expr.optional or is_optional(of):
        return Code(_optional_key(operand.run, expr.field), _cost(operand), root=1)
    return Code(_key(operand.run, expr.field), _cost(operand), root=operand.root or 1)


def _cost(operand: Code) -> int:
    """One unit for the field, and one more where it is not a variable's."""
    return operand.cost + (2 if operand.root is None else 1)


def _field(run: Run, key: str, shown: str) -> Run:
    def field(frame: Frame) -> Any:
        value = run(frame).get(key)
        if value is None:
            raise CelError(f"no such key: {shown}")
        return value

    return field


def _has_field(run: Run, key: str) -> Run:
    return lambda frame: run(frame).get(key) is not None


def _optional_field(run: Run, key: str) -> Run:
    def field(frame: Frame) -> Optional:
        value = run(frame)
        if type(value) is Optional:
            value = value.value if value.present else {}
        found = value.get(key)
        return NONE if found is None else Optional(found)

    return field


def _entry(value: Any, key: Any) -> Any:
    """What a value holds under a name; `_MISSING`: nothing."""
    if isinstance(value, dict):
        return value.get(key, _MISSING)
    if value is None:
        return _MISSING
    raise CelError(NO_SUCH_OVERLOAD)


def _key(run: Run, key: str) -> Run:
    def field(frame: Frame) -> Any:
        value = run(frame)
        if type(value) is Optional:
            return _in_optional(value, key)
        found = _entry(value, key)
        if found is _MISSING:
            raise CelError(f"no such key: {key}")
        return found

    return field


def _has_key(run: Run, key: str) -> Run:
    def has(frame: Frame) -> bool:
        value = run(frame)
        if type(value) is Optional:
            return value.present and _entry(value.value, key) is not _MISSING
        return _entry(value, key) is not _MISSING

    return has


def _in_optional(value: Optional, key: str) -> Optional:
    if not value.present:
        return NONE
    found = _entry(value.value, key)
    return NONE if found is _MISSING else Optional(found)


def _optional_key(run: Run, key: str) -> Run:
    def field(frame: Frame) -> Optional:
        value = run(frame)
        return _in_optional(value if type(value) is Optional else Optional(value), key)

    return field


def index_code(operand: Code, index: Code, of: CelType) -> Code:
    if is_optional(of):
        return optional_index_code(operand, index, of)
    cost = _cost(operand) + index.cost - (index.root or 0)  # a variable costs nothing as an index
    inner, key = operand.run, index.run
    if of.kind == "list" and is_constant(index) and type(index.constant) is int:
        at = index.constant

        def item(frame: Frame) -> Any:
            items = inner(frame)
            if 0 <= at < len(items):
                return items[at]
            raise CelError(f"index out of bounds: {at}")

        return Code(item, cost, root=operand.root or 1)

    def look(frame: Frame) -> Any:
        value, at = inner(frame), key(frame)
        if type(value) is Optional:
            return _optional_item(value, at)
        return operators.index(value, at)

    return Code(look, cost, root=operand.root or 1)


def optional_index_code(operand: Code, index: Code, of: CelType) -> Code:
    inner, key = operand.run, index.run

    def look(frame: Frame) -> Optional:
        value, at = inner(frame), key(frame)
        return _optional_item(value if type(value) is Optional else Optional(value), at)

    return Code(look, _cost(operand) + index.cost - (index.root or 0), root=1)


def _optional_item(value: Optional, at: Any) -> Optional:
    if not value.present:
        return NONE
    inside = value.value
    if isinstance(inside, list):
        position = operators.position(at)
        return Optional(inside[position]) if 0 <= position < len(inside) else NONE
    if isinstance(inside, dict):
        found, item = operators.find_key(inside, at)
        return Optional(item) if found else NONE
    raise CelError(NO_SUCH_OVERLOAD)
