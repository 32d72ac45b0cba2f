"""An immutable picture of the objects that were read, with the caller's own rights.

Absent and unread are two things: `find` returns None for both, `is_known` tells them apart, and
`unseen` says why something was not read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast

import msgspec

from mooring.model.keys import Key
from mooring.model.meta import ApiObject

T = TypeVar("T", bound=ApiObject)
V = TypeVar("V")

Objects = Mapping[type[ApiObject], Mapping[Key, ApiObject]]


class World(msgspec.Struct, frozen=True):
    objects: Objects = MappingProxyType({})
    whole: frozenset[type[ApiObject]] = frozenset()  # kinds of which every object was read
    absent: frozenset[tuple[type[ApiObject], Key]] = frozenset()  # asked for, not there
    unseen: Mapping[type[ApiObject], str] = MappingProxyType({})  # why not: rights, no such kind
    derived: dict[str, Any] = msgspec.field(default_factory=dict)
    """What was worked out of the objects, which do not change: indexes, above all."""

    def once(self, name: str, make: "Callable[[World], V]") -> V:
        """What `make` returns for this world, made at the first time."""
        if name not in self.derived:
            self.derived[name] = make(self)
        return cast("V", self.derived[name])

    def find(self, kind: type[T], key: Key) -> T | None:
        return cast("T | None", self.objects.get(kind, {}).get(key))

    def all(self, kind: type[T]) -> Iterator[T]:
        """Those that were read, in the order of their keys."""
        return iter(cast("tuple[T, ...]", self.once(f"all {kind.__name__}", _sorted(kind))))

    def is_known(self, kind: type[ApiObject], key: Key) -> bool:
        """Whether it is certain that the object exists, or that it does not."""
        return kind in self.whole or (kind, key) in self.absent or key in self.objects.get(kind, {})


def _sorted(kind: type[ApiObject]) -> "Callable[[World], tuple[ApiObject, ...]]":
    def made(world: World) -> tuple[ApiObject, ...]:
        held = world.objects.get(kind, {})
        return tuple(held[key] for key in sorted(held))

    return made


def world_of(
    objects: Iterable[ApiObject],
    *,
    whole: Iterable[type[ApiObject]] = (),
    absent: Iterable[tuple[type[ApiObject], Key]] = (),
    unseen: Mapping[type[ApiObject], str] = MappingProxyType({}),
) -> World:
    held: dict[type[ApiObject], dict[Key, ApiObject]] = {}
    for each in objects:
        held.setdefault(type(each), {})[each.key] = each
    frozen = MappingProxyType({kind: MappingProxyType(found) for kind, found in held.items()})
    return World(frozen, frozenset(whole), frozenset(absent), MappingProxyType(dict(unseen)))
