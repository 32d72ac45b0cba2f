"""What the expressions of a mutating policy make, applied to a document. Pure."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mooring.apiserver.cel.structs import StructValue, misplaced
from mooring.apiserver.cel.times import duration_text, timestamp_text
from mooring.apiserver.cel.values import Duration, Timestamp, UInt, kind_of
from mooring.apiserver.limits.budgets import MOST_BODY_BYTES, MOST_PATCH_VALUES
from mooring.apiserver.patching.conformity import complaints
from mooring.apiserver.patching.json_patch import (
    DEEPEST,
    MOST_OPERATIONS,
    TestFailed,
    Unfit,
    patched,
)
from mooring.apiserver.patching.overlay import overlaid, settled
from mooring.apiserver.patching.shape import OwnedAs, Shape, as_seen
from mooring.apiserver.schema.contract import Scalar
from mooring.errors import TooLarge
from mooring.model.document import Doc

_NUMBERS = frozenset({Scalar.INT32, Scalar.INT64, Scalar.DOUBLE})
_MOST_VALUES = 2 * MOST_PATCH_VALUES  # names in maps count here, too
_EXACT = 2**53  # numbers beyond are text in JSON, as protobuf has it


class CannotPatch(Exception):
    """Something is wrong with a patch, or it does not fit the document."""


def with_configuration(doc: Doc, value: StructValue, shape: Shape) -> Doc:
    """The document with an `Object{...}` applied as server-side apply does it, owned by nobody.

    Shares nothing with either. Raises: CannotPatch.
    """
    _check_size(value)
    _check_places(value)
    patch = to_json(value)
    for field in ("apiVersion", "kind"):
        patch[field] = doc[field]
    try:
        return _merged(doc, patch, shape)
    except CannotPatch as error:
        raise CannotPatch(f"error applying patch: {error}") from None


def with_operations(doc: Doc, values: Sequence[StructValue]) -> Doc:
    """The document after a list of `JSONPatch{...}`, or itself if a `test` among them fails.

    Raises: CannotPatch.
    """
    _check_size(values)
    try:
        return patched(doc, [_operation(value) for value in values[: MOST_OPERATIONS + 1]])
    except TestFailed:
        return doc
    except (Unfit, RecursionError, TooLarge) as error:
        raise CannotPatch(f"JSON Patch: {error}") from None


def _merged(doc: Doc, patch: Doc, shape: Shape) -> Doc:
    found = [*complaints(patch, shape), *_nulls(patch, shape, "")]
    if found:
        text = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
        raise CannotPatch(f"failed to convert patch object to typed object: {text}")
    if atomic := list(_atomics(patch, shape, "")):
        told = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
        raise CannotPatch(f"invalid ApplyConfiguration: {told}")
    merged: Doc = settled(overlaid(doc, patch, shape), shape)
    return merged


def _nulls(value: Any, shape: Shape | None, path: str) -> Iterator[str]:
    """Where it says null: it takes no field away, as nobody owns one by it."""
    if shape is not None:
        shape = as_seen(shape, value)
    match value:
        case None:
            is_number = shape is not None and shape.scalar in _NUMBERS
            wanted = "numeric (int or float)" if is_number else "a value"
            yield f"{path}: expected {wanted}, got structpb.NullValue"
        case dict():
            fields = (shape.fields if shape is not None else None) or {}
            for name, inner in value.items():
                yield from _nulls(inner, fields.get(name), f"{path}.{name}")
        case list():
            for index, inner in enumerate(value):
                item = shape.item if shape is not None else None
                yield from _nulls(inner, item, f"{path}[{index}]")
        case _:
            pass


def _check_size(value: StructValue | Sequence[StructValue]) -> None:
    """An expression may name one value in many places, at little cost: written out it is as large
    as all of them. It may be about as large as a patch that a client sends."""
    left, values = MOST_BODY_BYTES, 0
    rest: list[tuple[Any, int]] = [(value, 0)]
    while rest:
        one, depth = rest.pop()
        inner: Iterable[Any] = ()
        match one:
            case StructValue():
                inner = one.fields.values()
            case dict():
                inner = (*one.keys(), *one.values())
            case list() | tuple():
                inner = one
            case str() | bytes():
                left -= len(one)
            case _:
                pass
        rest.extend((each, depth + 1) for each in inner)
        values += 1
        if left < 0 or depth > DEEPEST or values + len(rest) > _MOST_VALUES:
            raise CannotPatch("what the expression makes is too large, or too deep, for a patch")


def _check_places(value: StructValue) -> None:
    if wrong := "\n".join(misplaced(value, value.name)):
        raise CannotPatch(f"type mismatch: {wrong}")


def _atomics(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """Where it would replace a list or an object whole: what it does not mention would be lost."""
    shape = as_seen(shape, value)
    if isinstance(value, dict):
        if shape.owned_as is OwnedAs.LEAF:
            yield path
        for name, inner in value.items():
            field = (shape.fields or {}).get(name)
            if field is not None:
                yield from _atomics(inner, field, f"{path}.{name}")
    elif isinstance(value, list):
        if shape.owned_as is OwnedAs.LEAF:
            yield path
        if shape.item is not None:
            for index, inner in enumerate(value):
                yield from _atomics(inner, shape.item, f"{path}[{index}]")


def _operation(value: StructValue) -> Doc:
    made = value.fields.get("value")
    if isinstance(made, StructValue):
        _check_places(made)
    return {name: to_json(inner) for name, inner in value.fields.items()}


def to_json(value: Any) -> Any:
    """A value of the language as it is written in JSON. Raises: CannotPatch."""
    match value:
        case StructValue():
            return {name: to_json(inner) for name, inner in value.fields.items()}
        case dict():
            return {_key(name): to_json(inner) for name, inner in value.items()}
        case list():
            return [to_json(inner) for inner in value]
        case bool() | str() | float() | None:
            return value
        case UInt() | int():
            return int(value) if abs(value) < _EXACT else str(int(value))
        case bytes():
            return base64.b64encode(value).decode()
        case Timestamp():
            return timestamp_text(value)
        case Duration():
            return duration_text(value)
        case _:
            raise CannotPatch(f"a value of type {kind_of(value)} cannot be written as JSON")


def _key(name: Any) -> str:
    if isinstance(name, str):
        return name
    raise CannotPatch(f'map key "{name}" is of type {kind_of(name)}, not string')
