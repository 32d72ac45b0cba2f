"""A structural schema: what a CustomResourceDefinition says of its objects, one node per value.

It is made once per version of a definition (`parse.py`) and then asked for every write: what to
prune, which defaults to set, what is wrong with the values, and who owns which part of a list.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar, cast

import msgspec

from mooring.model.document import Doc

Trail = list[str | int]
"""The way from the root of a document to a value: names, map keys and indices."""

META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))

T = TypeVar("T")


class ListType(Enum):
    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `x-kubernetes-validations`, as written."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""  # "": FieldValueInvalid
    field_path: str = ""
    optional_old_self: bool = False


class Node(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What is known of one value. `written` holds all of it as the author wrote it."""

    type: str = ""  # "": any, or int-or-string
    properties: Mapping[str, "Node"] = msgspec.field(default_factory=dict)
    additional: "Node | bool | None" = None  # additionalProperties; None: not given
    items: "Node | None" = None
    nullable: bool = False
    default: Any = msgspec.UNSET
    preserve_unknown: bool = False
    embedded_resource: bool = False
    int_or_string: bool = False
    list_type: ListType = ListType.ATOMIC
    list_keys: tuple[str, ...] = ()
    atomic: bool = False  # x-kubernetes-map-type: atomic
    rules: tuple[Rule, ...] = ()
    written: Doc = msgspec.field(default_factory=dict)  # enum, minimum, pattern, allOf, ...


def once(node: Node, name: str, make: Callable[[Node], T]) -> T:
    """What `make` reads out of a node, made at the first asking and kept beside the node."""
    kept = node.__dict__
    if name not in kept:
        kept[name] = make(node)
    return cast(T, kept[name])
