"""What a schema has to say when it calls a list a set or a map."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.structural.paths import Path, spell
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required

_LIST_TYPE = "x-kubernetes-list-type"
_MAP_KEYS = "x-kubernetes-list-map-keys"
_LIST_TYPES = ("atomic", "set", "map")
_SET_ITEM = "must be atomic as item of a list with x-kubernetes-list-type=set"
_FIRM = (
    "this property is in x-kubernetes-list-map-keys, "
    "so it must have a default or be a required property"
)
_NOT_NULL = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"


def list_problems(schema: Doc, path: Path, *, atomic_items: bool = True) -> Iterable[FieldError]:
    """`atomic_items`: the items of a set have to be atomic."""
    list_type, type_ = schema.get(_LIST_TYPE), schema.get("type") or ""
    keys = schema.get(_MAP_KEYS) or []
    if list_type is not None:
        if type_ != "array":
            at, detail = spell((path, ".type")), f"must be array if {_LIST_TYPE} is specified"
            yield invalid(at, type_, detail) if type_ else required(at, detail)
        elif atomic_items:
            yield from set_item_problems(schema, path)
        if list_type not in _LIST_TYPES:
            yield not_supported(spell((path, f".{_LIST_TYPE}")), list_type, _LIST_TYPES)
    if keys and list_type != "map":
        at, detail = spell((path, f".{_LIST_TYPE}")), f"must be map if {_MAP_KEYS} is non-empty"
        yield required(at, detail) if list_type is None else invalid(at, list_type, detail)
    if list_type == "map":
        yield from _map_problems(schema, keys, path)


def set_item_problems(schema: Doc, path: Path) -> Iterable[FieldError]:
    items = schema.get("items")
    if schema.get(_LIST_TYPE) != "set" or not isinstance(items, dict):
        return
    inner = items.get(_LIST_TYPE)
    if items.get("type") == "array" and inner not in (None, "atomic"):
        yield invalid(spell((path, f".items.{_LIST_TYPE}")), inner, _SET_ITEM)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(spell((path, ".items.x-kubernetes-map-type")), inner, _SET_ITEM)


def map_key_problems(schema: Doc, path: Path) -> Iterable[FieldError]:
    """Items of sets and maps are never null, and the keys of a map are always there."""
    items, list_type = schema.get("items"), schema.get(_LIST_TYPE)
    if not isinstance(items, dict) or list_type not in ("set", "map"):
        return
    if items.get("nullable"):
        detail = f"cannot be nullable when {_LIST_TYPE} is {list_type}"
        yield forbidden(spell((path, ".items.nullable")), detail)
    if list_type == "set":
        return
    always, properties = set(items.get("required") or ()), items.get("properties") or {}
    for key in schema.get(_MAP_KEYS) or ():
        held = properties.get(key)
        if held is None:
            continue
        at = (path, f".items.properties[{key}]")
        if key not in always and held.get("default") is None:
            yield required(spell((at, ".default")), _FIRM)
        if held.get("nullable"):
            yield forbidden(spell((at, ".nullable")), _NOT_NULL)


def _map_problems(schema: Doc, keys: list[str], path: Path) -> Iterable[FieldError]:
    keys_at = (path, f".{_MAP_KEYS}")
    if not keys:
        yield required(spell(keys_at), f"must not be empty if {_LIST_TYPE} is map")
    items: Any = schema.get("items")
    if items is None:
        yield required(spell((path, ".items")), f"must have a schema if {_LIST_TYPE} is map")
    elif isinstance(items, list):
        detail = f"must only have a single schema if {_LIST_TYPE} is map"
        yield invalid(spell((path, ".items")), items, detail)
    elif items.get("type") != "object":
        detail = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid(spell((path, ".items.type")), items.get("type") or "", detail)
    else:
        yield from _key_problems(items.get("properties") or {}, keys, path)


def _key_problems(properties: Doc, keys: list[str], path: Path) -> Iterable[FieldError]:
    keys_at, seen = (path, f".{_MAP_KEYS}"), set[str]()
    for key in keys:
        if key not in properties:
            yield invalid(spell(keys_at), keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield invalid(spell((path, f".items.properties[{key}].type")), "object", detail)
        if key in seen:
            yield invalid(spell(keys_at), keys, "must not contain duplicate entries")
        seen.add(key)
