"""Declared functions: their types, what they do, and what a call of them costs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.types import CelType
from mooring.apiserver.cel.values import kind_of

Cost: TypeAlias = Callable[..., int]


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function; the receiver of a member function is its first argument.

    `cost` is asked with the arguments; None: a call costs 1.
    """

    id: str
    args: tuple[CelType, ...]
    result: CelType
    run: Callable[..., Any]
    member: bool = False
    cost: Cost | None = None

    def takes(self, values: tuple[Any, ...]) -> bool:
        """Whether the values have these types, looked at from outside."""
        return len(values) == len(self.args) and all(map(_is_a, values, self.args))


def _is_a(value: Any, wanted: CelType) -> bool:
    return wanted.kind in ("dyn", "param") or kind_of(value) == wanted.name


Functions: TypeAlias = Mapping[str, tuple[Overload, ...]]


def merge(libraries: Iterable[Functions]) -> Functions:
    """All functions of the libraries; overloads of one name follow each other."""
    merged: dict[str, tuple[Overload, ...]] = {}
    for library in libraries:
        for name, overloads in library.items():
            merged[name] = merged.get(name, ()) + overloads
    return merged


def dispatch(name: str, overloads: tuple[Overload, ...], values: tuple[Any, ...]) -> Overload:
    """The overload for these values, or cel-go's error."""
    for overload in overloads:
        if overload.takes(values):
            return overload
    kinds = ", ".join(map(kind_of, values))
    raise CelError(f"no such overload: {name}({kinds})")
