"""The types of an expression: what each part yields, and which overloads a call may mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mooring.apiserver.cel import ast
from mooring.apiserver.cel.ast import Expr
from mooring.apiserver.cel.errors import CompileError, Issue
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.literals import wrong_literals
from mooring.apiserver.cel.structs import Structs, no_structs
from mooring.apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    ERROR,
    INT,
    LIST,
    MAP,
    NULL,
    OPTIONAL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    CelType,
    Records,
    Unifier,
    is_dyn,
    is_optional,
    list_of,
    map_of,
    optional_of,
    type_of,
)

_LITERALS = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "bool": BOOL,
    "null": NULL,
}
TYPE_NAMES: dict[str, CelType] = {
    **{one.name: one for one in (BOOL, BYTES, DOUBLE, INT, STRING, UINT, LIST, MAP, NULL, TYPE)},
    **{one.name: one for one in (TIMESTAMP, DURATION, OPTIONAL)},
}


@dataclass(frozen=True, slots=True)
class Environment:
    """What an expression may name."""

    functions: Functions
    variables: Mapping[str, CelType]
    records: Records = field(default_factory=dict)
    types: Mapping[str, CelType] = field(default_factory=lambda: TYPE_NAMES)
    structs: Structs = no_structs


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked expression. Types and overloads are found by the identity of a part."""

    source: str
    tree: Expr
    types: Mapping[int, CelType]
    overloads: Mapping[int, tuple[Overload, ...]]
    names: Mapping[int, str]  # parts that are a variable, a type or a qualified function
    variables: frozenset[str]  # those of the environment that are used

    @property
    def result(self) -> CelType:
        return self.types[id(self.tree)]

    def type(self, expr: Expr) -> CelType:
        return self.types[id(expr)]


def check(source: str, tree: Expr, environment: Environment) -> Checked:
    """The expression with its types; CompileError says which do not fit."""
    checker = _Checker(environment)
    checker.check(tree)
    types = {
        at: checker.unifier.resolve(one, free_is_dyn=True) for at, one in checker.types.items()
    }
    if issues := checker.issues or wrong_literals(tree, types):
        raise CompileError(source, issues)
    used = frozenset(checker.used)
    return Checked(source, tree, types, checker.overloads, checker.names, used)


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self.issues: list[Issue] = []
        self.types: dict[int, CelType] = {}
        self.overloads: dict[int, tuple[Overload, ...]] = {}
        self.names: dict[int, str] = {}
        self.used: set[str] = set()
        self.unifier = Unifier()
        self._environment = environment
        self._scopes: list[dict[str, CelType]] = []

    def check(self, expr: Expr) -> CelType:
        found = self.types[id(expr)] = self._type(expr)
        return found

    def _issue(self, at: int, text: str) -> CelType:
        self.issues.append(Issue(at, text))
        return ERROR

    def _type(self, expr: Expr) -> CelType:
        match expr:
            case ast.Literal():
                return _LITERALS[expr.kind]
            case ast.Ident():
                return self._name(expr, expr.name) or self._undeclared(expr.at, expr.name)
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
            case ast.StructLiteral():
                return self._struct(expr)
            case ast.Comprehension():
                return self._comprehension(expr)

    def _undeclared(self, at: int, name: str) -> CelType:
        return self._issue(at, f"undeclared reference to '{name}' (in container '')")

    def _name(self, expr: Expr, name: str) -> CelType | None:
        """The type of a variable or type of that name, which the part then is."""
        for scope in reversed(self._scopes):
            if name in scope:
                self.names[id(expr)] = name
                return scope[name]
        plain = name.removeprefix(".")
        if plain in self._environment.variables:
            self.used.add(plain)
            self.names[id(expr)] = plain
            return self._environment.variables[plain]
        if plain in self._environment.types:
            self.names[id(expr)] = plain
            return type_of(self._environment.types[plain])
        return None

    def _select(self, expr: ast.Select) -> CelType:
        if not expr.test and not expr.optional:
            name = self._qualified(expr)
            if name is not None and (named := self._name(expr, name)) is not None:
                return named
        operand = self.unifier.resolve(self.check(expr.operand))
        target, inside = (operand.params[0], True) if is_optional(operand) else (operand, False)
        found = self._field(expr, target)
        if expr.test:
            return BOOL
        return optional_of(found) if inside or expr.optional else found

    def _qualified(self, expr: Expr) -> str | None:
        """`a.b.c` that may be one name: not if a macro has a variable `a`."""
        name = ast.qualified_name(expr)
        first = "" if name is None else name.partition(".")[0]
        return None if any(first in scope for scope in self._scopes) else name

    def _field(self, expr: ast.Select, target: CelType) -> CelType:
        match target.kind:
            case "map":
                return target.params[1]
            case "record":
                if struct := self._environment.structs(target.name):
                    found = struct.field(expr.field)
                else:
                    found = self._environment.records.get(target.name, {}).get(expr.field)
                if found is not None:
                    return found
                return self._issue(expr.at, f"undefined field '{expr.field}'")
            case "param":
                self.unifier.assignable(DYN, target)
                return DYN
            case _:
                pass
        if not is_dyn(target):
            self._issue(expr.at, f"type '{target}' does not support field selection")
        return DYN

    def _index(self, expr: ast.Index) -> CelType:
        function = "_[?_]" if expr.optional else "_[_]"
        args = (self.check(expr.operand), self.check(expr.index))
        return self._resolve(expr, function, args, member=False)

    def _call(self, expr: ast.Call) -> CelType:
        args = tuple(map(self.check, expr.args))
        if expr.function in (ast.AND, ast.OR):
            return self._logic(expr, args)
        if expr.target is None:
            return self._resolve(expr, expr.function.removeprefix("."), args, member=False)
        prefix = self._qualified(expr.target)
        if prefix is not None and f"{prefix}.{expr.function}" in self._environment.functions:
            self.names[id(expr)] = f"{prefix}.{expr.function}"
            return self._resolve(expr, f"{prefix}.{expr.function}", args, member=False)
        target = self.check(expr.target)
        return self._resolve(expr, expr.function, (target, *args), member=True)

    def _logic(self, expr: ast.Call, args: tuple[CelType, ...]) -> CelType:
        bad = False
        for arg, found in zip(expr.args, args, strict=True):
            bad = not self._must_be(arg, BOOL, found) or bad
        return ERROR if bad else BOOL

    def _must_be(self, expr: Expr, wanted: CelType, found: CelType) -> bool:
        if self.unifier.assignable(found, wanted):
            return True
        shown = self.unifier.resolve(found)
        self._issue(expr.at, f"expected type '{wanted}' but found '{shown}'")
        return False

    def _resolve(
        self, expr: Expr, function: str, args: tuple[CelType, ...], *, member: bool
    ) -> CelType:
        declared = self._environment.functions.get(function)
        if declared is None:
            return self._undeclared(expr.at, function)
        chosen: list[Overload] = []
        result: CelType | None = None
        for overload in declared:
            if overload.member != member:
                continue
            wanted = self.unifier.instance((overload.result, *overload.args))
            if not self.unifier.all_assignable(args, wanted[1:]):
                continue
            chosen.append(overload)
            found = self.unifier.resolve(wanted[0])
            if result is None:
                result = found
            elif not is_dyn(result) and found != result:
                result = DYN
        if result is None:
            return self._no_overload(expr, function, args, member=member)
        self.overloads[id(expr)] = tuple(chosen)
        return result

    def _no_overload(
        self, expr: Expr, function: str, args: tuple[CelType, ...], *, member: bool
    ) -> CelType:
        shown = [str(self.unifier.resolve(arg, free_is_dyn=True)) for arg in args]
        target, rest = (shown[0] + ".", shown[1:]) if member else ("", shown)
        signature = f"{target}({', '.join(rest)})"
        return self._issue(
            expr.at, f"found no matching overload for '{function}' applied to '{signature}'"
        )

    def _list(self, expr: ast.ListLiteral) -> CelType:
        item: CelType | None = None
        for at, part in enumerate(expr.items):
            found = self.check(part)
            if at in expr.optional:
                found = self._unwrapped(part, found)
            item = self._joined(item, found)
        return list_of(item or self.unifier.fresh())

    def _map(self, expr: ast.MapLiteral) -> CelType:
        key: CelType | None = None
        value: CelType | None = None
        for entry in expr.entries:
            key = self._joined(key, self.check(entry.key))
            found = self.check(entry.value)
            if entry.optional:
                found = self._unwrapped(entry.value, found)
            value = self._joined(value, found)
        return map_of(key or self.unifier.fresh(), value or self.unifier.fresh())

    def _struct(self, expr: ast.StructLiteral) -> CelType:
        declared = self._environment.structs(expr.name)
        for member in expr.fields:
            found = self.check(member.value)
            if declared is None:
                continue
            if member.optional:
                found = self._unwrapped(member.value, found)
            wanted = declared.field(member.name)
            if wanted is None:
                self._issue(member.at, f"undefined field '{member.name}'")
            elif not self.unifier.assignable(found, wanted):
                shown = self.unifier.resolve(found, free_is_dyn=True)
                self._issue(
                    member.at,
                    f"expected type of field '{member.name}' is '{wanted}' "
                    f"but provided type is '{shown}'",
                )
        return self._undeclared(expr.at, expr.name) if declared is None else declared.type

    def _unwrapped(self, expr: Expr, found: CelType) -> CelType:
        found = self.unifier.resolve(found)
        if is_optional(found):
            return found.params[0]
        if not is_dyn(found):
            self._issue(expr.at, f"expected type '{optional_of(found)}' but found '{found}'")
        return found

    def _joined(self, before: CelType | None, found: CelType) -> CelType:
        """The type of the parts of a literal; `literals.py` refuses mixed ones."""
        return found if before is None else self.unifier.join(before, found) or DYN

    def _comprehension(self, expr: ast.Comprehension) -> CelType:
        over = self.unifier.resolve(self.check(expr.range))
        if expr.macro in ("optMap", "optFlatMap"):
            return self._on_optional(expr, over)
        self._scopes.append(dict(zip(expr.variables, self._variables(expr, over), strict=True)))
        found = tuple(map(self.check, expr.args))
        self._scopes.pop()
        return self._result(expr, over, found)

    def _variables(self, expr: ast.Comprehension, over: CelType) -> tuple[CelType, ...]:
        two = len(expr.variables) == 2
        match over.kind:
            case "list":
                return (INT, over.params[0]) if two else (over.params[0],)
            case "map":
                return over.params if two else (over.params[0],)
            case "dyn" | "error" | "param":
                self.unifier.assignable(DYN, over)
                return (DYN,) * len(expr.variables)
            case _:
                pass
        self._issue(
            expr.range.at,
            f"expression of type '{over}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        )
        return (ERROR,) * len(expr.variables)

    def _result(
        self, expr: ast.Comprehension, over: CelType, found: tuple[CelType, ...]
    ) -> CelType:
        args = expr.args
        if len(args) == 2:  # a condition, then what to make
            self._must_be(args[0], BOOL, found[0])
        match expr.macro:
            case "all" | "exists" | "exists_one":
                self._must_be(args[0], BOOL, found[0])
                return BOOL
            case "filter":
                self._must_be(args[0], BOOL, found[0])
                return list_of(self._variables_of(over))
            case "sortBy":
                return list_of(self._variables_of(over))
            case "transformMap":
                key = INT if over.kind == "list" else over.params[0] if over.params else DYN
                return map_of(key, found[-1])
            case "transformMapEntry":
                made = self.unifier.resolve(found[-1])
                if made.kind != "map" and not is_dyn(made):
                    self._issue(args[-1].at, f"expected type 'map(_, _)' but found '{made}'")
                return made if made.kind == "map" else MAP
            case _:
                pass
        return list_of(found[-1])

    def _variables_of(self, over: CelType) -> CelType:
        return over.params[0] if over.kind in ("list", "map") else DYN

    def _on_optional(self, expr: ast.Comprehension, over: CelType) -> CelType:
        if not is_optional(over) and not is_dyn(over):
            self._issue(
                expr.at, f"found no matching overload for 'hasValue' applied to '{over}.()'"
            )
        inside = over.params[0] if is_optional(over) else DYN
        self._scopes.append({expr.variables[0]: inside})
        found = self.check(expr.args[0])
        self._scopes.pop()
        if expr.macro == "optMap":
            return optional_of(found)
        self._must_be(expr.args[0], optional_of(DYN), found)
        return found
