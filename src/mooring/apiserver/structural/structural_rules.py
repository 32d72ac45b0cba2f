"""What makes a schema structural: each value is described once, outside of allOf, anyOf, oneOf and
not, and what these constrain exists there.
"""

from enum import Enum
from typing import Any

from mooring.apiserver.structural.complaints import Complaints
from mooring.apiserver.structural.paths import Path, spell
from mooring.apiserver.structural.patterns import problem_of
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, required

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_INTEGER_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_JUNCTORS = ("anyOf", "allOf", "oneOf")

_FORBIDDEN_INSIDE = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    _PRESERVE: "must be false to be structural",
    _EMBEDDED: "must be false to be structural",
    _INT_OR_STRING: "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}
# Keywords that say something by being there at all, whatever their value.
_POINTERS = ("default", "x-kubernetes-list-type", "x-kubernetes-map-type")
_METADATA_SAYS = frozenset(
    (
        *("format", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength"),
        *("minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "enum"),
        *("maxProperties", "minProperties", "required", "not", *_JUNCTORS, "items", "properties"),
        *("additionalProperties", "title", "description", "nullable"),
        *(_PRESERVE, _EMBEDDED, _INT_OR_STRING, "x-kubernetes-list-map-keys"),
        *("x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-validations"),
    )
)


class _Level(Enum):
    ROOT = "at the root"
    ITEM = "for specified array items"
    FIELD = "for specified object fields"


class _Where(Enum):
    """Where a schema is: this decides where `anyOf: integer or string` may be."""

    OUTSIDE = "outside of junctors"
    FIRST_OF_ALL = "first of an allOf that is outside"
    INSIDE = "inside of junctors"


def structural_problems(schema: Doc, path: Path) -> list[FieldError]:
    """Where a schema is not structural, in the order of the texts."""
    found = Complaints()
    _invariants(schema, _Level.ROOT, path, found)
    _completeness(schema, schema, path, path, found)
    return sorted(found.errors, key=str)


def is_structural(schema: Doc) -> bool:
    return not structural_problems(schema, None)


def _is_said(schema: Doc, keyword: str) -> bool:
    value = schema.get(keyword)
    return value is not None and (bool(value) or _is_number(value) or keyword in _POINTERS)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _invariants(schema: Doc, level: _Level, path: Path, found: Complaints) -> None:
    if found.is_full():
        return
    type_, items = schema.get("type") or "", schema.get("items")
    if type_ == "array" and items is None:
        found.add(required(spell((path, ".items")), "must be specified"))
    if items is not None:
        _invariants(items, _Level.ITEM, (path, ".items"), found)
    for name, child in (schema.get("properties") or {}).items():
        _invariants(child, _Level.FIELD, (path, f".properties[{name}]"), found)
    additional = schema.get("additionalProperties")
    if additional is not None:
        if level is _Level.ROOT:
            at = spell((path, ".additionalProperties"))
            found.add(forbidden(at, "must not be used at the root"))
        if isinstance(additional, dict):
            _invariants(additional, _Level.FIELD, (path, ".additionalProperties"), found)
    _extensions(schema, path, found)
    _constraints(schema, _Where.OUTSIDE, path, found)
    _type(schema, level, path, found)
    _meta_fields(schema, level, path, found)


def _extensions(schema: Doc, path: Path, found: Complaints) -> None:
    if not schema.get(_INT_OR_STRING):
        return
    for keyword in (_PRESERVE, _EMBEDDED):
        if schema.get(keyword):
            detail = "must be false if x-kubernetes-int-or-string is true"
            found.add(invalid(spell((path, f".{keyword}")), schema[keyword], detail))


def _type(schema: Doc, level: _Level, path: Path, found: Complaints) -> None:
    type_, at = schema.get("type") or "", (path, ".type")
    if schema.get(_EMBEDDED) and type_ != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        found.add(invalid(spell(at), type_, detail) if type_ else required(spell(at), detail))
    elif not type_ and not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVE):
        found.add(required(spell(at), f"must not be empty {level.value}"))
    if schema.get(_EMBEDDED) and schema.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        found.add(forbidden(spell((path, ".additionalProperties")), detail))
    if level is _Level.ROOT and type_ and type_ != "object":
        found.add(invalid(spell(at), type_, "must be object at the root"))


def _meta_fields(schema: Doc, level: _Level, path: Path, found: Complaints) -> None:
    """Of a resource's metadata only the names may be constrained."""
    properties = schema.get("properties") or {}
    is_resource = level is _Level.ROOT or bool(schema.get(_EMBEDDED))
    for name in ("kind", "apiVersion"):
        if is_resource and name in properties:
            type_ = properties[name].get("type") or ""
            if type_ != "string":
                at = (path, f".properties[{name}].type")
                found.add(invalid(spell(at), type_, "must be string"))
    metadata = properties.get("metadata")
    if metadata is not None and is_resource:
        at, type_ = (path, ".properties[metadata]"), metadata.get("type") or ""
        if type_ != "object":
            found.add(invalid(spell((at, ".type")), type_, "must be object"))
        if level is _Level.ROOT and _says_more_than_names(metadata):
            detail = (
                "must not specify anything other than name and generateName, "
                "but metadata is implicitly specified"
            )
            found.add(forbidden(spell(at), detail))
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not properties:
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields"
        )
        found.add(required(spell((path, ".properties")), detail))


def _says_more_than_names(metadata: Doc) -> bool:
    said = {keyword for keyword in _METADATA_SAYS if _is_said(metadata, keyword)}
    if metadata.get("additionalProperties") is not None:
        return True
    names = (metadata.get("properties") or {}).keys()
    if names <= {"name", "generateName"}:
        said.discard("properties")
    return bool(said)


def _constraints(schema: Doc, where: _Where, path: Path, found: Complaints) -> None:
    """The junctors of a schema and its pattern."""
    any_of, all_of = schema.get("anyOf") or [], schema.get("allOf") or []
    if where is _Where.INSIDE or not _is_int_or_string(any_of):
        for place, part in enumerate(any_of):
            _inside(part, (path, f".anyOf[{place}]"), found)
    for place, part in enumerate(all_of):
        is_first = place == 0 and where is _Where.OUTSIDE
        inner = _Where.FIRST_OF_ALL if is_first else _Where.INSIDE
        _inside(part, (path, f".allOf[{place}]"), found, inner)
    for place, part in enumerate(schema.get("oneOf") or ()):
        _inside(part, (path, f".oneOf[{place}]"), found)
    if schema.get("not") is not None:
        _inside(schema["not"], (path, ".not"), found)
    if (pattern := schema.get("pattern")) and (problem := problem_of(pattern)):
        detail = f"must be a valid regular expression, but isn't: {problem}"
        found.add(invalid(spell((path, ".pattern")), pattern, detail))


def _is_int_or_string(parts: list[Doc]) -> bool:
    said = [{word: held for word, held in part.items() if _is_said(part, word)} for part in parts]
    return said == _INTEGER_OR_STRING


def _inside(schema: Doc, path: Path, found: Complaints, where: _Where = _Where.INSIDE) -> None:
    """A schema inside of a junctor."""
    if found.is_full():
        return
    _constraints(schema, where, path, found)
    if schema.get("items") is not None:
        _inside(schema["items"], (path, ".items"), found)
    for name, child in (schema.get("properties") or {}).items():
        _inside(child, (path, f".properties[{name}]"), found)
    for keyword, words in _FORBIDDEN_INSIDE.items():
        if _is_said(schema, keyword) or (
            keyword == "additionalProperties" and isinstance(schema.get(keyword), dict)
        ):
            found.add(forbidden(spell((path, f".{keyword}")), words))
    if "metadata" in (schema.get("properties") or {}):
        at = spell((path, ".properties[metadata]"))
        found.add(forbidden(at, "must not be specified in a nested context"))


def _completeness(
    part: Doc, schema: Doc | None, at: Path, part_at: Path, found: Complaints
) -> None:
    """What junctors constrain is described by the schema that they are in."""
    if found.is_full():
        return
    for place, step, inner in _parts(part):
        _constrained(inner, schema, at, (part_at, f".{step}{place}"), found)


def _parts(schema: Doc) -> list[tuple[str, str, Doc]]:
    parts = [("", "not", schema["not"])] if schema.get("not") is not None else []
    for word in ("allOf", "anyOf", "oneOf"):
        parts += [(f"[{i}]", word, inner) for i, inner in enumerate(schema.get(word) or ())]
    return parts


def _constrained(part: Doc, schema: Doc | None, at: Path, part_at: Path, found: Complaints) -> None:
    if schema is None:
        found.add(required(spell(at), f"because it is defined in {spell(part_at)}"))
        return
    _completeness(part, schema, at, part_at, found)
    if part.get("items") is not None:
        items = schema.get("items")
        _constrained(part["items"], items, (at, ".items"), (part_at, ".items"), found)
    properties = schema.get("properties") or {}
    for name, child in (part.get("properties") or {}).items():
        step = f".properties[{name}]"
        _constrained(child, properties.get(name), (at, step), (part_at, step), found)
