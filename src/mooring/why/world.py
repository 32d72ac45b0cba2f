"""An immutable picture of the objects that were read, with the caller's own rights.

Absent and unread are two things: `find` returns None for both, `is_known` tells them apart, and
`unseen` says why something was not read.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar, cast

import msgspec

from mooring.model.keys import Key
from mooring.model.meta import ApiObject

T = TypeVar("T", bound=ApiObject)

Objects = Mapping[type[ApiObject], Mapping[Key, ApiObject]]


class World(msgspec.Struct, frozen=True):
    objects: Objects = MappingProxyType({})
    whole: frozenset[type[ApiObject]] = frozenset()  # kinds of which every object was read
    absent: frozenset[tuple[type[ApiObject], Key]] = frozenset()  # asked for, not there
    unseen: Mapping[type[ApiObject], str] = MappingProxyType({})  # why not: rights, no such kind

    def find(self, kind: type[T], key: Key) -> T | None:
        return cast("T | None", self.objects.get(kind, {}).get(key))

    def all(self, kind: type[T]) -> Iterator[T]:
        """Those that were read, in the order of their keys."""
        held = self.objects.get(kind, {})
        return (cast("T", held[key]) for key in sorted(held))

    def is_known(self, kind: type[ApiObject], key: Key) -> bool:
        """Whether it is certain that the object exists, or that it does not."""
        return kind in self.whole or (kind, key) in self.absent or key in self.objects.get(kind, {})


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
