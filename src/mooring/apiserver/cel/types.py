"""Types of the language, and which value may stand where another is asked for."""

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class CelType:
    """A type: what it is called, and of what.

    Kinds that are no names: `record` (a declared object), `param` (a type variable), `opaque` (a
    library's own), `error` (of what did not check).
    """

    kind: str
    name: str
    params: tuple["CelType", ...] = ()

    def __str__(self) -> str:
        if not self.params:
            return _SHOWN.get(self.name, self.name)
        return f"{self.name}({', '.join(map(str, self.params))})"


_SHOWN = {
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
    "null_type": "null",
}


def _simple(kind: str, name: str = "") -> CelType:
    return CelType(kind, name or kind)


BOOL, INT, UINT, DOUBLE = _simple("bool"), _simple("int"), _simple("uint"), _simple("double")
STRING, BYTES = _simple("string"), _simple("bytes")
NULL, DYN = _simple("null", "null_type"), _simple("dyn")
TIMESTAMP = _simple("timestamp", "google.protobuf.Timestamp")
DURATION = _simple("duration", "google.protobuf.Duration")
TYPE = _simple("type")
ERROR = _simple("error", "!error!")
A, B = _simple("param", "A"), _simple("param", "B")


def list_of(item: CelType) -> CelType:
    return CelType("list", "list", (item,))


def map_of(key: CelType, value: CelType) -> CelType:
    return CelType("map", "map", (key, value))


def optional_of(value: CelType) -> CelType:
    return CelType("opaque", "optional_type", (value,))


def type_of(value: CelType) -> CelType:
    return CelType("type", "type", (value,))


def opaque(name: str) -> CelType:
    return _simple("opaque", name)


def record(name: str) -> CelType:
    return _simple("record", name)


LIST, MAP = list_of(DYN), map_of(DYN, DYN)
OPTIONAL = optional_of(DYN)


def is_dyn(one: CelType) -> bool:
    return one.kind in ("dyn", "error")


def is_optional(one: CelType) -> bool:
    return one.name == "optional_type"


def has_dyn(one: CelType) -> bool:
    """Whether only the value will tell what it is, here or inside."""
    return one.kind in ("dyn", "error", "param") or any(map(has_dyn, one.params))


Bindings: TypeAlias = dict[str, CelType]
Records: TypeAlias = Mapping[str, Mapping[str, CelType]]


class _Bound:
    """What type variables stand for, and how to take back the last of it."""

    __slots__ = ("_before", "known")

    def __init__(self) -> None:
        self.known: Bindings = {}
        self._before: list[tuple[str, CelType | None]] = []

    def bind(self, variable: CelType, to: CelType) -> None:
        self._before.append((variable.name, self.known.get(variable.name)))
        self.known[variable.name] = to

    def keep(self) -> None:
        self._before.clear()

    def take_back(self) -> None:
        while self._before:
            name, before = self._before.pop()
            if before is None:
                del self.known[name]
            else:
                self.known[name] = before


class Unifier:
    """What the type variables of an expression stand for."""

    def __init__(self) -> None:
        self._bound = _Bound()
        self._made = 0

    def fresh(self) -> CelType:
        self._made += 1
        return CelType("param", f"_var{self._made - 1}")

    def instance(self, types: tuple[CelType, ...]) -> tuple[CelType, ...]:
        """The types with variables of their own."""
        names = {name for one in types for name in _variables(one)}
        if not names:
            return types
        own = {name: self.fresh() for name in sorted(names)}
        return tuple(_replace(one, own) for one in types)

    def assignable(self, given: CelType, wanted: CelType) -> bool:
        return self.all_assignable((given,), (wanted,))

    def all_assignable(self, given: tuple[CelType, ...], wanted: tuple[CelType, ...]) -> bool:
        """Whether all fit together; if so, what the variables stand for is kept."""
        if len(given) != len(wanted):
            return False
        bound = self._bound
        if not all(_fits(bound, one, other) for one, other in zip(given, wanted, strict=True)):
            bound.take_back()
            return False
        bound.keep()
        return True

    def join(self, one: CelType, other: CelType) -> CelType | None:
        """The more general of two types; None: they have nothing in common."""
        if not self.assignable(one, other):
            return None
        return one if _less_specific(one, other) else other

    def resolve(self, one: CelType, *, free_is_dyn: bool = False) -> CelType:
        if one.kind == "param":
            bound = self._bound.known.get(one.name)
            if bound is not None:
                return self.resolve(bound, free_is_dyn=free_is_dyn)
            return DYN if free_is_dyn else one
        if not one.params:
            return one
        params = tuple([self.resolve(param, free_is_dyn=free_is_dyn) for param in one.params])
        if all(map(operator.is_, params, one.params)):
            return one
        return CelType(one.kind, one.name, params)


def _variables(one: CelType) -> set[str]:
    if one.kind == "param":
        return {one.name}
    return {name for param in one.params for name in _variables(param)}


def _replace(one: CelType, own: Bindings) -> CelType:
    if one.kind == "param":
        return own.get(one.name, one)
    if not one.params:
        return one
    return CelType(one.kind, one.name, tuple(_replace(param, own) for param in one.params))


def _fits(bound: _Bound, given: CelType, wanted: CelType) -> bool:
    if wanted.kind == "param":
        fits, known = _stands_for(bound, given, wanted)
        if fits or known:
            return fits
    if given.kind == "param":
        return _stands_for(bound, wanted, given)[0]
    if given is wanted or is_dyn(given) or is_dyn(wanted):
        return True
    if given.kind == "null" or wanted.kind == "null":
        other = wanted if given.kind == "null" else given
        return other.kind in ("null", "opaque", "record", "duration", "timestamp")
    if given.kind != wanted.kind or (given.kind != "type" and given.name != wanted.name):
        return False
    if given.kind == "type" or len(given.params) != len(wanted.params):
        return given.kind == "type"
    return all(
        _fits(bound, one, other) for one, other in zip(given.params, wanted.params, strict=True)
    )


def _stands_for(bound: _Bound, one: CelType, variable: CelType) -> tuple[bool, bool]:
    """Whether the variable may stand for the type, and whether it stood for one already."""
    if one == variable:
        return True, True
    known = bound.known.get(variable.name)
    if known is not None:
        if one == known:
            return True, True
        if not _fits(bound, one, known):
            return False, True
        general = one if _less_specific(one, known) else known
        if not _occurs(bound, variable, general):
            bound.bind(variable, general)
        return True, True
    if _occurs(bound, variable, one):
        return False, False
    bound.bind(variable, one)
    return True, False


def _occurs(bound: _Bound, variable: CelType, within: CelType) -> bool:
    if variable == within:
        return True
    if within.kind == "param":
        known = bound.known.get(within.name)
        return known is not None and _occurs(bound, variable, known)
    return any(_occurs(bound, variable, param) for param in within.params)


def _less_specific(one: CelType, other: CelType) -> bool:
    if one.kind in ("dyn", "param"):
        return True
    if other.kind in ("dyn", "param") or one.kind != other.kind:
        return False
    if one.kind == "type":
        return True
    if one.name != other.name or len(one.params) != len(other.params):
        return False
    return all(map(_less_specific, one.params, other.params))
