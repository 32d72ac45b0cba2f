"""The first look at an openAPIV3Schema: every keyword has a value of its type, and none of it is
deeper or larger than what the other checks can walk. This one walks without recursion.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mooring.apiserver.structural.complaints import Complaints
from mooring.apiserver.structural.paths import Path, spell
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, type_invalid

MOST_DEPTH = 100  # schemas inside of schemas; also of a default and of the values of an enum
MOST_SCHEMAS = 20_000  # in one openAPIV3Schema

_TEXTS = (
    *("id", "$schema", "$ref", "description", "type", "format", "title", "pattern"),
    *("x-kubernetes-list-type", "x-kubernetes-map-type"),
)
_FLAGS = (
    *("nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems"),
    *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
    "x-kubernetes-int-or-string",
)
_NUMBERS = ("maximum", "minimum", "multipleOf")
_COUNTS = (*("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"),)
_TEXT_LISTS = ("required", "x-kubernetes-list-map-keys")
_RULE_TEXTS = ("rule", "message", "messageExpression", "reason", "fieldPath")


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_count(value: Any) -> bool:
    return type(value) is int


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_object_list(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_object, value))


def _is_object_map(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_object, value.values()))


def _is_object_or_flag(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_dependencies(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(held, dict) or _is_text_list(held) for held in value.values()
    )


def _is_rules(value: Any) -> bool:
    return _is_object_list(value) and all(map(_is_rule, value))


def _is_rule(rule: Doc) -> bool:
    texts = all(rule.get(name) is None or is_text(rule[name]) for name in _RULE_TEXTS)
    return texts and isinstance(rule.get("optionalOldSelf"), bool | None)


_SHAPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(_TEXTS, (is_text, "string")),
    **dict.fromkeys(_FLAGS, (_is_flag, "boolean")),
    **dict.fromkeys(_NUMBERS, (_is_number, "number")),
    **dict.fromkeys(_COUNTS, (_is_count, "integer")),
    **dict.fromkeys(_TEXT_LISTS, (_is_text_list, "array of strings")),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), (_is_object_list, "array of objects")),
    **dict.fromkeys(
        ("properties", "patternProperties", "definitions"), (_is_object_map, "map of objects")
    ),
    **dict.fromkeys(
        ("additionalProperties", "additionalItems"), (_is_object_or_flag, "object or boolean")
    ),
    "enum": (_is_list, "array"),
    "externalDocs": (_is_object, "object"),
    "not": (_is_object, "object"),
    "items": (lambda value: _is_object(value) or _is_object_list(value), "object"),
    "dependencies": (_is_dependencies, "map of objects or of arrays of strings"),
    "x-kubernetes-validations": (_is_rules, "array of rules"),
}


def shape_problems(schema: Any, at: str) -> list[FieldError]:
    """What keeps a schema from being looked at any further."""
    found = Complaints()
    if not isinstance(schema, dict):
        found.add(_misshapen(None, at, schema, "object"))
        return found.errors
    for count, (path, depth, held) in enumerate(schemas_in(schema, (None, at)), 1):
        if count > MOST_SCHEMAS:
            detail = (
                f"a schema may hold at most {MOST_SCHEMAS} schemas: say less, or split the kind"
            )
            return [*found.errors, forbidden(at, detail)]
        if depth > MOST_DEPTH:
            detail = f"schemas may be nested at most {MOST_DEPTH} deep: use a flatter one"
            return [*found.errors, forbidden(spell(path), detail)]
        _check(path, held, found)
        if found.is_full():
            break
    return found.errors


def schemas_in(schema: Doc, path: Path) -> Iterator[tuple[Path, int, Doc]]:
    """A schema and all schemas in it, with their paths and depths; what has no shape is left out.

    Without recursion, and not further down than one beyond the depth that is allowed.
    """
    rest: list[tuple[Path, int, Doc]] = [(path, 1, schema)]
    while rest:
        here, depth, held = rest.pop()
        yield here, depth, held
        if depth <= MOST_DEPTH:
            below = [(step, child) for step, child in _children(held) if isinstance(child, dict)]
            rest += [((here, step), depth + 1, child) for step, child in reversed(below)]


def _children(schema: Doc) -> Iterator[tuple[str, Any]]:
    for keyword in ("properties", "patternProperties", "definitions", "dependencies"):
        if isinstance(held := schema.get(keyword), dict):
            yield from ((f".{keyword}[{name}]", child) for name, child in held.items())
    for keyword in ("allOf", "anyOf", "oneOf", "items"):
        if isinstance(held := schema.get(keyword), list):
            yield from ((f".{keyword}[{place}]", child) for place, child in enumerate(held))
    for keyword in ("not", "items", "additionalProperties", "additionalItems"):
        yield f".{keyword}", schema.get(keyword)


def _check(path: Path, schema: Doc, found: Complaints) -> None:
    for keyword, value in schema.items():
        shape = _SHAPES.get(keyword)
        if shape is not None and value is not None and not shape[0](value):
            found.add(_misshapen(path, f".{keyword}", value, shape[1]))
    for keyword in ("default", "enum", "example"):
        if is_deep(schema.get(keyword), MOST_DEPTH):
            detail = f"may be nested at most {MOST_DEPTH} deep"
            found.add(forbidden(spell((path, f".{keyword}")), detail))


def is_deep(value: Any, most: int) -> bool:
    """Whether a value has more than so many lists and objects inside of each other."""
    layer, depth = [value], 0
    while layer := [held for held in layer if isinstance(held, dict | list) and held]:
        depth += 1
        if depth > most:
            return True
        layer = [
            child for held in layer for child in (held.values() if isinstance(held, dict) else held)
        ]
    return False


def _misshapen(path: Path, step: str, value: Any, wanted: str) -> FieldError:
    shown = "null" if value is None else type(value).__name__
    names = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}
    shown = names.get(shown, {"dict": "object", "list": "array"}.get(shown, shown))
    return type_invalid(spell((path, step)), shown, f"must be of type {wanted}")
