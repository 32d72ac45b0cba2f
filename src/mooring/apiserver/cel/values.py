"""Values of the language that Python has no type of its own for.

int, double, string, bytes, bool, null, list and map are Python's own, as documents have them.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from mooring.apiserver.cel.errors import NO_SUCH_OVERLOAD, CelError

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class UInt(int):
    """An unsigned 64-bit number."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, as nanoseconds since 1970; `east` is the offset that it was written with."""

    nanos: int
    east: int = field(default=0, compare=False)  # seconds


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanos: int


@dataclass(frozen=True, slots=True)
class TypeValue:
    """What `type(x)` returns and `int` means."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing; `present` tells a missing one from an optional null."""

    value: Any
    present: bool = True


NONE = Optional(None, present=False)


class Opaque:
    """A value of a library's own type."""

    __slots__ = ()
    kind: ClassVar[str]


class SetList(list[Any]):
    """A list of list-type set: equal in any order; `+` is the union."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list) or len(self) != len(other):
            return False
        members = set(map(_member, self))
        return all(_member(item) in members for item in other)

    __hash__ = None

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __add__(self, other: list[Any]) -> "SetList":
        members = set(map(_member, self))
        return SetList([*self, *(item for item in other if _member(item) not in members)])


class MapList(list[Any]):
    """A list of list-type map: equal in any order of its keys; `+` overwrites by key."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list) or len(self) != len(other):
            return False
        mine = {self._key(item): item for item in self}
        return all(mine.get(self._key(item), _NOTHING) == item for item in other)

    __hash__ = None

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __add__(self, other: list[Any]) -> "MapList":
        merged = {self._key(item): item for item in self}
        merged.update((self._key(item), item) for item in other)
        return MapList(list(merged.values()), self.keys)

    def _key(self, item: Any) -> tuple[Any, ...]:
        if not isinstance(item, dict):
            return ()
        return tuple(_member(item.get(key)) for key in self.keys)


_NOTHING = object()


def _member(item: Any) -> Any:
    return item if type(item) not in (list, dict) else repr(item)


_KINDS: dict[type, str] = {
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    bool: "bool",
    type(None): "null_type",
    list: "list",
    SetList: "list",
    MapList: "list",
    dict: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    TypeValue: "type",
    Optional: "optional_type",
}


def kind_of(value: Any) -> str:
    """The name of a value's type, as `type(value)` shows it."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    if isinstance(value, Opaque):
        return value.kind
    if isinstance(value, dict):
        return "map"
    raise CelError(NO_SUCH_OVERLOAD)


def size_of(value: Any) -> int:
    """What cost counts: characters, bytes, items or entries; everything else is 1."""
    if type(value) in _SIZED:
        return len(value)
    if type(value) is Optional and value.present:
        return size_of(value.value)
    return 1


_SIZED = frozenset((str, bytes, list, dict, SetList, MapList))
