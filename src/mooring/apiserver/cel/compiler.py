"""A checked expression to closures."""

from collections.abc import Mapping
from typing import Any

from mooring.apiserver.cel import ast, operators
from mooring.apiserver.cel.ast import Expr
from mooring.apiserver.cel.call_cost import LIST_COST, MAP_COST
from mooring.apiserver.cel.calls import call_code
from mooring.apiserver.cel.checker import TYPE_NAMES, Checked
from mooring.apiserver.cel.code import Code, Frame, constant, is_constant
from mooring.apiserver.cel.errors import NO_SUCH_OVERLOAD, CelError, CostExceeded
from mooring.apiserver.cel.logic import and_code, if_code, or_code
from mooring.apiserver.cel.loops import loop_code, optional_map_code, sort_by_code
from mooring.apiserver.cel.selects import index_code, optional_index_code, select_code
from mooring.apiserver.cel.structs import STRUCT_COST, StructValue
from mooring.apiserver.cel.types import CelType
from mooring.apiserver.cel.values import NONE, Optional, TypeValue, UInt


class Program:
    """A compiled expression."""

    def __init__(self, code: Code, slots: int, variables: Mapping[str, int]) -> None:
        self._run = code.run
        self._cost = code.cost
        self._blank: Frame = [0] + [None] * slots
        self._variables = tuple(variables.items())  # name and slot of those that it uses

    def run(self, values: Mapping[str, Any], limit: int) -> tuple[Any, int]:
        """The result, or a CelError, and what it cost. Never more than the limit by much."""
        frame = self._blank.copy()
        frame[0] = limit - self._cost
        for name, slot in self._variables:
            if name not in values:
                return CelError(f"no such attribute(s): {name}"), 0
            frame[slot] = values[name]
        try:
            result = self._run(frame)
        except CelError as error:
            return error, limit - frame[0]
        except RecursionError:
            return CostExceeded(), limit - frame[0]
        except (TypeError, AttributeError):
            # An object stored long ago need not have the types that its schema declares now.
            return CelError(NO_SUCH_OVERLOAD), limit - frame[0]
        if frame[0] < 0:
            return CostExceeded(), limit - frame[0]
        return result, limit - frame[0]


def compile_checked(checked: Checked, types: Mapping[str, CelType] | None = None) -> Program:
    compiler = _Compiler(checked, TYPE_NAMES if types is None else types)
    code = compiler.code(checked.tree)
    return Program(code, compiler.slots, compiler.variables)


class _Compiler:
    def __init__(self, checked: Checked, types: Mapping[str, CelType]) -> None:
        self._checked = checked
        self._types = types
        self._scopes: list[dict[str, int]] = []
        self.slots = 0
        self.variables: dict[str, int] = {}

    def _slot(self) -> int:
        self.slots += 1
        return self.slots

    def code(self, expr: Expr) -> Code:
        match expr:
            case ast.Literal():
                return constant(expr.value)
            case ast.Ident():
                return self._name(self._checked.names[id(expr)])
            case ast.Select():
                if id(expr) in self._checked.names:
                    return self._name(self._checked.names[id(expr)])
                of = self._checked.type(expr.operand)
                return select_code(expr, self.code(expr.operand), of)
            case ast.Index():
                of = self._checked.type(expr.operand)
                make = optional_index_code if expr.optional else index_code
                return make(self.code(expr.operand), self.code(expr.index), of)
            case ast.Call():
                return self._call(expr)
            case ast.ListLiteral():
                return self._list(expr)
            case ast.MapLiteral():
                return self._map(expr)
            case ast.Comprehension():
                return self._comprehension(expr)
            case ast.StructLiteral():
                return self._struct(expr)

    def _name(self, name: str) -> Code:
        for scope in reversed(self._scopes):
            if name in scope:
                return _variable(scope[name])
        if name in self._types and name not in self._checked.variables:
            return constant(TypeValue(self._types[name].name))
        if name not in self.variables:
            self.variables[name] = self._slot()
        return _variable(self.variables[name])

    def _call(self, expr: ast.Call) -> Code:
        args = tuple(map(self.code, expr.args))
        match expr.function:
            case ast.AND:
                return and_code(args)
            case ast.OR:
                return or_code(args)
            case ast.IF:
                return if_code(*args)
            case _:
                pass
        function = self._checked.names.get(id(expr), expr.function.removeprefix("."))
        types = [self._checked.type(arg) for arg in expr.args]
        if expr.target is not None and id(expr) not in self._checked.names:
            args = (self.code(expr.target), *args)
            types.insert(0, self._checked.type(expr.target))
        return call_code(function, self._checked.overloads[id(expr)], args, types)

    def _list(self, expr: ast.ListLiteral) -> Code:
        items = tuple(map(self.code, expr.items))
        if not expr.optional and all(map(is_constant, items)):
            return constant([item.constant for item in items])
        cost = LIST_COST + sum(item.cost for item in items)
        if not expr.optional:
            runs = tuple(item.run for item in items)
            return Code(lambda frame: [run(frame) for run in runs], cost)
        marked = tuple((item.run, at in expr.optional) for at, item in enumerate(items))

        def run(frame: Frame) -> list[Any]:
            made = []
            for part, optional in marked:
                item = part(frame)
                if not optional:
                    made.append(item)
                elif _given(item, "list element"):
                    made.append(item.value)
            return made

        return Code(run, cost)

    def _map(self, expr: ast.MapLiteral) -> Code:
        entries = tuple(
            (self.code(entry.key), self.code(entry.value), entry.optional) for entry in expr.entries
        )
        cost = MAP_COST + sum(key.cost + value.cost for key, value, _ in entries)
        runs = tuple((key.run, value.run, optional) for key, value, optional in entries)

        def run(frame: Frame) -> dict[Any, Any]:
            made: dict[Any, Any] = {}
            for key_run, value_run, optional in runs:
                key, item = key_run(frame), value_run(frame)
                if type(key) not in _KEYS:
                    raise CelError("unsupported key type")
                if optional and not _given(item, f"entry '{operators.shown(key)}'"):
                    continue
                if key in made:
                    raise CelError(f"Failed with repeated key: {operators.shown(key)}")
                made[key] = item.value if optional else item
            return made

        fixed = all(is_constant(key) and is_constant(value) for key, value, _ in entries)
        if fixed and not any(optional for *_, optional in entries):
            try:
                return constant(run([0]))
            except CelError:
                pass
        return Code(run, cost)

    def _struct(self, expr: ast.StructLiteral) -> Code:
        members = tuple((one.name, self.code(one.value), one.optional) for one in expr.fields)
        cost = STRUCT_COST + sum(value.cost for _, value, _ in members)
        runs = tuple((name, value.run, optional) for name, value, optional in members)

        def run(frame: Frame) -> StructValue:
            made: dict[str, Any] = {}
            for name, value_run, optional in runs:
                value = value_run(frame)
                if not optional:
                    made[name] = value
                elif _given(value, f"field '{name}'"):
                    made[name] = value.value
            return StructValue(expr.name.removeprefix("."), made)

        return Code(run, cost)

    def _comprehension(self, expr: ast.Comprehension) -> Code:
        over = self.code(expr.range)
        slots = tuple(self._slot() for _ in expr.variables)
        self._scopes.append(dict(zip(expr.variables, slots, strict=True)))
        args = tuple(map(self.code, expr.args))
        self._scopes.pop()
        if expr.macro in ("optMap", "optFlatMap"):
            return optional_map_code(over, slots[0], args[0], flat=expr.macro == "optFlatMap")
        if expr.macro == "sortBy":
            return sort_by_code(over, slots[0], args[0])
        return loop_code(expr.macro, over, slots, args)


_KEYS = frozenset((str, int, bool, UInt, float))


def _variable(slot: int) -> Code:
    return Code(lambda frame: frame[slot], 1, root=1)


def _given(item: Any, what: str) -> bool:
    if type(item) is not Optional:
        raise CelError(f"cannot initialize optional {what} from non-optional value")
    return item is not NONE and item.present
