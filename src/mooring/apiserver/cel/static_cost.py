"""The most that an expression can cost, estimated from the sizes that its schema allows.

As upstream's checker counts: macros by their expansion, calls by `call_estimates.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mooring.apiserver.cel import ast
from mooring.apiserver.cel.ast import Expr
from mooring.apiserver.cel.call_estimates import estimate_call
from mooring.apiserver.cel.checker import Checked
from mooring.apiserver.cel.estimate import (
    NOTHING,
    ONE,
    UNKNOWN,
    Argument,
    Range,
    fixed,
)
from mooring.apiserver.cel.schema import Declared
from mooring.apiserver.cel.structs import STRUCT_COST
from mooring.apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    is_optional,
)

_SCALARS = frozenset((BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT))
_ITEMS, _KEYS, _INDEXES = "@items", "@keys", "@indices"


def most_cost(checked: Checked, root: Declared) -> int:
    """The worst case, where `self` and `oldSelf` have the declared type."""
    return _Coster(checked, root).cost(checked.tree).most


@dataclass(frozen=True, slots=True)
class _Entries:
    """Sizes of what is in a list or a map."""

    kind: str
    key: Range
    value: Range


@dataclass(frozen=True, slots=True)
class _Variable:
    path: tuple[str, ...]
    size: Range | None


class _Coster:
    def __init__(self, checked: Checked, root: Declared) -> None:
        self._checked = checked
        self._root = root
        self._paths: dict[int, tuple[str, ...]] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, _Entries] = {}
        self._variables: dict[str, list[_Variable]] = {}

    def cost(self, expr: Expr) -> Range:
        match expr:
            case ast.Literal():
                return NOTHING
            case ast.Ident():
                self._paths[id(expr)] = self._path_of_name(expr.name)
                return ONE
            case ast.Select():
                return self._select(expr)
            case ast.Index():
                return self._index(expr)
            case ast.Call():
                return self._call(expr)
            case ast.ListLiteral():
                return self._list(expr)
            case ast.MapLiteral():
                return self._map(expr)
            case ast.Comprehension():
                return self._comprehension(expr)
            case ast.StructLiteral():
                total = fixed(STRUCT_COST)
                for member in expr.fields:
                    total = total.plus(self.cost(member.value))
                return total

    def _path_of_name(self, name: str) -> tuple[str, ...]:
        known = self._variables.get(name)
        return known[-1].path if known else (name,)

    def _path(self, expr: Expr) -> tuple[str, ...]:
        if isinstance(expr, ast.Ident) and self._variables.get(expr.name):
            return self._path_of_name(expr.name)
        return self._paths.get(id(expr), ())

    def _select(self, expr: ast.Select) -> Range:
        if name := self._checked.names.get(id(expr)):
            self._paths[id(expr)] = (name,)
            return ONE
        cost = self.cost(expr.operand)
        if expr.test:
            return cost
        if expr.optional:
            return cost.plus(ONE)
        self._paths[id(expr)] = (*self._path(expr.operand), expr.field)
        kind = self._checked.type(expr.operand).kind
        return cost.plus(ONE) if kind in ("map", "record") else cost

    def _index(self, expr: ast.Index) -> Range:
        cost = self.cost(expr.operand).plus(self.cost(expr.index)).plus(ONE)
        if not expr.optional:
            self._paths[id(expr)] = (*self._path(expr.operand), _ITEMS)
            entries = self._entries_of(expr.operand)
            if entries is not None:
                self._sizes[id(expr)] = entries.value
        return cost

    def _call(self, expr: ast.Call) -> Range:
        costs = [self.cost(arg) for arg in expr.args]
        total = NOTHING
        for one in costs:
            total = total.plus(one)
        match expr.function:
            case ast.AND | ast.OR:
                return Range(costs[0].least, total.most)
            case ast.IF:
                return self._conditional(expr, costs)
            case "dyn" if expr.target is None:
                self._copy(expr, expr.args[0])
                return total.plus(ONE)
        target: Argument | None = None
        name = self._checked.names.get(id(expr))
        if expr.target is not None and name is None:
            total = total.plus(self.cost(expr.target))
            target = self._argument(expr.target)
        args = [self._argument(arg) for arg in expr.args]
        price: Range | None = None
        size: Range | None = None
        for overload in self._checked.overloads[id(expr)]:
            function = name or expr.function
            cost, result = estimate_call(function, overload, target, args, self._size_at)
            price = cost if price is None else price.union(cost)
            if result is not None:
                size = result if size is None else size.union(result)
        if expr.function == "_+_":
            self._joined_entries(expr)
        if size is not None:
            self._sizes[id(expr)] = size
        return total.plus(price or ONE)

    def _conditional(self, expr: ast.Call, costs: Sequence[Range]) -> Range:
        _, then, other = expr.args
        self._sizes[id(expr)] = self._size_or_unknown(then).union(self._size_or_unknown(other))
        self._union_entries(expr, then, other)
        return costs[0].plus(costs[1].union(costs[2]))

    def _joined_entries(self, expr: ast.Call) -> None:
        self._union_entries(expr, *expr.args)

    def _union_entries(self, expr: Expr, one: Expr, other: Expr) -> None:
        first, second = self._entries_of(one), self._entries_of(other)
        if first is not None and second is not None:
            key, value = first.key.union(second.key), first.value.union(second.value)
            self._entries[id(expr)] = _Entries(first.kind, key, value)

    def _copy(self, expr: Expr, source: Expr) -> None:
        size, entries = self._size(source), self._entries_of(source)
        if size is not None:
            self._sizes[id(expr)] = size
        if entries is not None:
            self._entries[id(expr)] = entries

    def _list(self, expr: ast.ListLiteral) -> Range:
        total, item = fixed(10), None
        for one in expr.items:
            total = total.plus(self.cost(one))
            size = self._size_or_unknown(one)
            item = size if item is None else item.union(size)
        self._entries[id(expr)] = _Entries("list", ONE, item or NOTHING)
        return total

    def _map(self, expr: ast.MapLiteral) -> Range:
        total, key, value = fixed(30), None, None
        for entry in expr.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            size = self._size_or_unknown(entry.key)
            key = size if key is None else key.union(size)
            size = self._size_or_unknown(entry.value)
            value = size if value is None else value.union(size)
        self._entries[id(expr)] = _Entries("map", key or NOTHING, value or NOTHING)
        return total

    def _comprehension(self, expr: ast.Comprehension) -> Range:
        if expr.macro in ("optMap", "optFlatMap"):
            return self._optional_map(expr)
        over = self.cost(expr.range)
        count = self._size_or_unknown(expr.range)
        for name, variable in zip(expr.variables, self._variables_of(expr), strict=True):
            self._variables.setdefault(name, []).append(variable)
        turn, once = self._turn(expr)
        item = self._size_or_unknown(expr.args[-1])
        if expr.macro == "filter":
            item = self._size_or_unknown(ast.Ident(expr.variables[0]))
        for name in expr.variables:
            self._variables[name].pop()
        if expr.macro in ("map", "filter", "transformList", "sortBy"):
            self._sizes[id(expr)] = count
            self._entries[id(expr)] = _Entries("list", ONE, NOTHING.union(item))
        elif expr.macro in ("transformMap", "transformMapEntry"):
            self._sizes[id(expr)] = count
        else:
            self._sizes[id(expr)] = ONE
        if expr.macro == "sortBy":
            text = self._checked.type(expr.args[0]) in (STRING, BYTES)
            once = once.plus(count.times(count).scaled(2.1 if text else 2.0)).plus(fixed(13))
        return over.plus(once).plus(count.times(turn))

    def _turn(self, expr: ast.Comprehension) -> tuple[Range, Range]:
        """What one turn costs, and what all of them cost once."""
        costs = [self.cost(arg) for arg in expr.args]
        last = costs[-1]
        match expr.macro:
            case "all":
                return Range(3, last.plus(fixed(3)).most), ONE
            case "exists":
                return Range(4, last.plus(fixed(4)).most), ONE
            case "exists_one":
                return last.plus(Range(1, 2)), fixed(2)
            case "filter":
                return last.plus(Range(1, 13)), fixed(11)
            case "transformMap":
                return _filtered(costs, last.plus(fixed(3))), fixed(31)
            case "transformMapEntry":
                return _filtered(costs, last.plus(fixed(2))), fixed(31)
            case _:
                pass
        return _filtered(costs, last.plus(fixed(12))), fixed(11)

    def _variables_of(self, expr: ast.Comprehension) -> tuple[_Variable, ...]:
        entries, path = self._entries_of(expr.range), self._path(expr.range)
        kind = entries.kind if entries is not None else self._checked.type(expr.range).kind
        key = _Variable((*path, _KEYS), entries.key if entries else None)
        value = _Variable((*path, _ITEMS), entries.value if entries else None)
        if len(expr.variables) == 1:
            return (value if kind == "list" else key,)
        if kind == "list":
            key = _Variable((*path, _INDEXES), ONE)
        return key, value

    def _optional_map(self, expr: ast.Comprehension) -> Range:
        over = self.cost(expr.range)
        inner = _Variable(self._path(expr.range), self._size(expr.range))
        self._variables.setdefault(expr.variables[0], []).append(inner)
        made = self.cost(expr.args[0])
        self._variables[expr.variables[0]].pop()
        # The condition, then the value again with what is made of it.
        present = over.plus(made).plus(fixed(12 if expr.macro == "optMap" else 11))
        return over.plus(ONE).plus(ONE.union(present))

    def _argument(self, expr: Expr) -> Argument:
        literal = expr.value if isinstance(expr, ast.Literal) else None
        return Argument(self._checked.type(expr), self._size(expr), self._path(expr), literal)

    def _size_or_unknown(self, expr: Expr) -> Range:
        return self._size(expr) or UNKNOWN

    def _size(self, expr: Expr) -> Range | None:
        known = self._sizes.get(id(expr)) or _literal_size(expr)
        if known is not None:
            return known
        if (declared := self._size_at(self._path(expr))) is not None:
            return declared
        of = self._checked.types.get(id(expr))
        if of is not None and _is_scalar(of):
            return ONE
        if isinstance(expr, ast.Ident) and (variables := self._variables.get(expr.name)):
            return variables[-1].size
        return None

    def _entries_of(self, expr: Expr) -> _Entries | None:
        return self._entries.get(id(expr))

    def _size_at(self, path: tuple[str, ...]) -> Range | None:
        """The size of the value at a path through the schema.

        Paths begin with a variable; upstream takes all of them for the value itself.
        """
        if not path:
            return None
        at: Declared | None = self._root
        for name in path[1:]:
            if at is None:
                return None
            match name:
                case "@items":
                    at = at.item
                case "@keys":
                    at = at.key
                case _:
                    at = at.fields.get(name)
        return None if at is None else Range(0, at.most)


def _filtered(costs: Sequence[Range], made: Range) -> Range:
    return costs[0].plus(made.union(ONE)) if len(costs) == 2 else made


def _literal_size(expr: Expr) -> Range | None:
    match expr:
        case ast.Literal():
            return fixed(len(expr.value) if isinstance(expr.value, str | bytes) else 1)
        case ast.ListLiteral():
            return fixed(len(expr.items))
        case ast.MapLiteral():
            return fixed(len(expr.entries))
        case _:
            pass
    return None


def _is_scalar(of: CelType) -> bool:
    return of in _SCALARS or (is_optional(of) and _is_scalar(of.params[0]))
