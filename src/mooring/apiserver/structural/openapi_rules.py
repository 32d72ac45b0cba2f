"""What Kubernetes does not take of OpenAPI, and what it asks of its own extensions."""

from typing import Any

import msgspec

from mooring.apiserver.structural.complaints import Complaints
from mooring.apiserver.structural.contract import META_FIELDS
from mooring.apiserver.structural.list_type_rules import list_problems, map_key_problems
from mooring.apiserver.structural.paths import Path, spell
from mooring.apiserver.structural.rule_entries import entry_problems
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_QUADRATIC = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_MAP_TYPE = "x-kubernetes-map-type"


class Demands(msgspec.Struct, frozen=True):
    """What is asked of a schema; on an update, only what the stored schemas keep as well."""

    known_types: bool = True
    pruned_defaults: bool = True
    atomic_set_items: bool = True
    firm_map_keys: bool = True


class _Place(msgspec.Struct, frozen=True):
    """Where a schema is in its resource."""

    no_default: str = ""  # why there may be no default
    in_meta: bool = False  # in apiVersion, kind or metadata of a resource


def openapi_problems(schema: Doc, path: Path, demands: Demands) -> list[FieldError]:
    """What is wrong with a schema and with those in it, in the order of Kubernetes."""
    walk = _Walk(demands)
    walk.look(schema, path, _Place(), is_root=True)
    return walk.found.errors


class _Walk:
    def __init__(self, demands: Demands) -> None:
        self.demands = demands
        self.found = Complaints()

    def look(self, schema: Any, path: Path, place: _Place, *, is_root: bool = False) -> None:
        if not isinstance(schema, dict) or self.found.is_full():
            return
        self._keywords(schema, path, place)
        if schema.get("uniqueItems"):
            self.forbid(path, "uniqueItems", _QUADRATIC)
        self._additional(schema, path, place)
        for name, child in (schema.get("properties") or {}).items():
            inner = place
            if name in META_FIELDS and (is_root or schema.get("x-kubernetes-embedded-resource")):
                why = f"in top-level {name}" if is_root else place.no_default
                inner = _Place(why, in_meta=True)
            self.look(child, (path, f".properties[{name}]"), inner)
        self.look(schema.get("not"), (path, ".not"), place)
        for word in ("allOf", "oneOf", "anyOf"):
            for index, part in enumerate(schema.get(word) or ()):
                self.look(part, (path, f".{word}[{index}]"), place)
        self._unsupported_children(schema, path, place)
        self._map_type(schema, path)
        for error in list_problems(schema, path, atomic_items=self.demands.atomic_set_items):
            self.found.add(error)
        if self.demands.firm_map_keys:
            for error in map_key_problems(schema, path):
                self.found.add(error)
        for error in entry_problems(schema, path):
            self.found.add(error)

    def forbid(self, path: Path, keyword: str, detail: str) -> None:
        self.found.add(forbidden(spell((path, f".{keyword}")), detail))

    def _keywords(self, schema: Doc, path: Path, place: _Place) -> None:
        type_ = schema.get("type") or ""
        if self.demands.known_types and type_ and type_ not in TYPES:
            self.found.add(not_supported(spell((path, ".type")), type_, TYPES))
        if schema.get("default") is not None and place.no_default:
            self.forbid(path, "default", f"must not be set {place.no_default}")
        if schema.get("id"):
            self.forbid(path, "id", "id is not supported")
        if schema.get("additionalItems") is not None:
            self.forbid(path, "additionalItems", "additionalItems is not supported")
        for keyword in ("patternProperties", "definitions"):
            if schema.get(keyword):
                self.forbid(path, keyword, f"{keyword} is not supported")
        for keyword in ("dependencies", "$ref"):
            if schema.get(keyword) is not None:
                self.forbid(path, keyword, f"{keyword} is not supported")
        if type_ == "null":
            detail = "type cannot be set to null, use nullable as an alternative"
            self.forbid(path, "type", detail)
        if isinstance(schema.get("items"), list) and schema["items"]:
            self.forbid(path, "items", "items must be a schema object and not an array")
        if place.in_meta and schema.get("x-kubernetes-embedded-resource"):
            detail = "must not be used inside of resource meta"
            self.forbid(path, "x-kubernetes-embedded-resource", detail)

    def _additional(self, schema: Doc, path: Path, place: _Place) -> None:
        additional = schema.get("additionalProperties")
        if additional is None:
            return
        if schema.get("properties") and additional is not True:
            detail = "additionalProperties and properties are mutual exclusive"
            self.forbid(path, "additionalProperties", detail)
        if place.in_meta:
            why = "inside additionalProperties applying to object metadata"
            place = msgspec.structs.replace(place, no_default=why)
        self.look(additional, (path, ".additionalProperties"), place)

    def _unsupported_children(self, schema: Doc, path: Path, place: _Place) -> None:
        """Definitions, items and dependencies: looked at even where they are refused."""
        for name, child in (schema.get("definitions") or {}).items():
            self.look(child, (path, f".definitions[{name}]"), place)
        items = schema.get("items")
        if isinstance(items, list):
            for index, child in enumerate(items):
                self.look(child, (path, f".items[{index}]"), place)
        else:
            self.look(items, (path, ".items"), place)
        for name, child in (schema.get("dependencies") or {}).items():
            self.look(child, (path, f".dependencies[{name}]"), place)

    def _map_type(self, schema: Doc, path: Path) -> None:
        if schema.get(_PRESERVE) is False:
            at = spell((path, f".{_PRESERVE}"))
            self.found.add(invalid(at, schema[_PRESERVE], "must be true or undefined"))
        map_type, type_ = schema.get(_MAP_TYPE), schema.get("type") or ""
        if map_type is None:
            return
        if type_ != "object":
            at, detail = spell((path, ".type")), f"must be object if {_MAP_TYPE} is specified"
            self.found.add(invalid(at, type_, detail) if type_ else required(at, detail))
        if map_type not in ("atomic", "granular"):
            at = spell((path, f".{_MAP_TYPE}"))
            self.found.add(not_supported(at, map_type, ("atomic", "granular")))
