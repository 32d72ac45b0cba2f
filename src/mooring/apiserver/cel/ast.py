"""The tree of an expression. Trees are equal when they mean the same text; positions do not count.

`&&` and `||` hold all their terms. Macros stay as written (`Comprehension`), so that a tree can be
printed again.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from mooring.apiserver.cel.values import UInt

Value: TypeAlias = int | UInt | float | str | bytes | bool | None

AND, OR, NOT, NEGATE, IF, IN = "_&&_", "_||_", "!_", "-_", "_?_:_", "@in"
EQUAL, NOT_EQUAL = "_==_", "_!=_"


def _place() -> int:
    return field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Literal:
    kind: str  # int, uint, double, string, bytes, bool, null: 1, 1.0 and true are not equal
    value: Value
    at: int = _place()


@dataclass(frozen=True, slots=True)
class Ident:
    name: str
    at: int = _place()


@dataclass(frozen=True, slots=True)
class Select:
    """`a.b`; `has(a.b)` when it tests; `a.?b` when optional."""

    operand: "Expr"
    field: str
    test: bool = False
    optional: bool = False
    at: int = _place()


@dataclass(frozen=True, slots=True)
class Index:
    operand: "Expr"
    index: "Expr"
    optional: bool = False
    at: int = _place()


@dataclass(frozen=True, slots=True)
class Call:
    """A call or an operator, which has the name that cel-go gives it."""

    function: str
    args: tuple["Expr", ...]
    target: "Expr | None" = None
    at: int = _place()


@dataclass(frozen=True, slots=True)
class ListLiteral:
    items: tuple["Expr", ...]
    optional: frozenset[int] = frozenset()  # `[?x]`
    at: int = _place()


@dataclass(frozen=True, slots=True)
class Entry:
    key: "Expr"
    value: "Expr"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class MapLiteral:
    entries: tuple[Entry, ...]
    at: int = _place()


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    value: "Expr"
    optional: bool = False  # `{?field: value}`
    at: int = _place()


@dataclass(frozen=True, slots=True)
class StructLiteral:
    """`Type{field: value}`: of types that policies make patches of."""

    name: str
    fields: tuple[Member, ...]
    at: int = _place()


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`range.all(x, condition)` and its kin, with one variable or two; also optMap."""

    macro: str
    range: "Expr"
    variables: tuple[str, ...]
    args: tuple["Expr", ...]
    at: int = _place()


Expr: TypeAlias = (
    Literal
    | Ident
    | Select
    | Index
    | Call
    | ListLiteral
    | MapLiteral
    | StructLiteral
    | Comprehension
)


def children(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Literal() | Ident():
            return ()
        case Select():
            return (expr.operand,)
        case Index():
            return (expr.operand, expr.index)
        case Call():
            return expr.args if expr.target is None else (expr.target, *expr.args)
        case ListLiteral():
            return expr.items
        case MapLiteral():
            return tuple(part for entry in expr.entries for part in (entry.key, entry.value))
        case StructLiteral():
            return tuple(member.value for member in expr.fields)
        case Comprehension():
            return (expr.range, *expr.args)


def qualified_name(expr: Expr) -> str | None:
    """`a.b.c` where that is all there is."""
    parts: list[str] = []
    while isinstance(expr, Select) and not expr.test and not expr.optional:
        parts.append(expr.field)
        expr = expr.operand
    if not isinstance(expr, Ident):
        return None
    return ".".join((expr.name, *reversed(parts)))
