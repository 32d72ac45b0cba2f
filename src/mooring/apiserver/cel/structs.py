"""Types whose values expressions may make: `Object{...}`, `Object.spec{...}`, `JSONPatch{...}`.

Nothing is known of the fields of an Object but where it belongs, which its name says.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mooring.apiserver.cel.types import DYN, STRING, CelType, list_of, record
from mooring.apiserver.cel.values import Opaque

STRUCT_COST = 40


@dataclass(frozen=True, slots=True)
class Struct:
    """A type that has a constructor; without fields, it takes any."""

    type: CelType
    fields: Mapping[str, CelType] | None = None

    def field(self, name: str) -> CelType | None:
        return DYN if self.fields is None else self.fields.get(name)


Structs = Callable[[str], Struct | None]
"""What is declared by that name."""


def no_structs(_: str) -> Struct | None:
    return None


OBJECT = record("Object")
JSON_PATCH = record("JSONPatch")
PATCHES = list_of(JSON_PATCH)
_PATCH = Struct(JSON_PATCH, {"op": STRING, "path": STRING, "from": STRING, "value": DYN})


def patch_structs(name: str) -> Struct | None:
    """What the mutations of admission policies are made of."""
    if name == JSON_PATCH.name:
        return _PATCH
    if name == OBJECT.name or name.startswith(f"{OBJECT.name}."):
        return Struct(record(name))
    return None


@dataclass(frozen=True, slots=True)
class StructValue(Opaque):
    """What a constructor made."""

    name: str  # of its type
    fields: Mapping[str, Any]

    @property
    def kind(self) -> str:  # type: ignore[override]  # each has its own
        return self.name

    def get(self, field: str) -> Any:
        """None: it has none."""
        return self.fields.get(field)


def misplaced(value: Any, place: str) -> Iterator[str]:
    """Where the name of a type is not that of the place it stands in, `place` at first."""
    match value:
        case StructValue():
            if value.name != place:
                yield (
                    f'unexpected type name "{value.name}", expected "{place}", '
                    "which matches field name path from root Object type"
                )
            for name, inner in value.fields.items():
                yield from misplaced(inner, f"{place}.{name}")
        case list():
            for inner in value:
                yield from misplaced(inner, place)
        case dict():
            for inner in value.values():
                yield from misplaced(inner, place)
        case _:
            pass
