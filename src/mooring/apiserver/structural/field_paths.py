"""Paths that schemas hold themselves: `fieldPath` of rules, `jsonPath` of selectable fields."""

import re

from mooring.model.document import Doc

_token = re.compile(r"[.\[\]]|'(?:[^'\\]|\\.)*+'?|[^.\[\]]+", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_escape = re.compile(r"\\(.)", re.DOTALL)
_NO_FIELD = "does not refer to a valid field"


class BadFieldPath(ValueError):
    """A path leads to no field; the text says why."""


def find_field(path: str, schema: Doc, *, quoted: bool = True) -> tuple[str, Doc]:
    """Where `.a.b` or `['a']` leads: `a.b` as errors spell it, and the schema found there.

    `quoted`: names in brackets are allowed.
    Raises: BadFieldPath.
    """
    spelled = ""
    tokens = _token.findall(path)
    place = 0
    while place < len(tokens):
        opening, place = tokens[place], place + 1
        if opening == "[" and not quoted:
            raise BadFieldPath("array notation is not allowed")
        if opening not in (".", "["):
            raise BadFieldPath(f"expected [ or . but got: {opening}")
        if place == len(tokens):
            raise BadFieldPath("unexpected end of JSON path")
        name, place = tokens[place], place + 1
        if opening == "[":
            if len(name) < 2 or name[0] != "'" or name[-1] != "'":
                raise BadFieldPath(f"expected single quoted string but got {name}")
            name = _escape.sub(lambda found: _ESCAPES.get(found[1], found[1]), name[1:-1])
            if place == len(tokens):
                raise BadFieldPath("unexpected end of JSON path")
            if tokens[place] != "]":
                raise BadFieldPath(f"expected ] but got {tokens[place]}")
            place += 1
        spelled, schema = _step(spelled, name, schema)
    return spelled, schema


def _step(spelled: str, name: str, schema: Doc) -> tuple[str, Doc]:
    if properties := schema.get("properties"):
        if name not in properties:
            raise BadFieldPath(_NO_FIELD)
        return f"{spelled}.{name}" if spelled else name, properties[name]
    additional = schema.get("additionalProperties")
    if not isinstance(additional, dict):
        raise BadFieldPath(_NO_FIELD)
    return f"{spelled}[{name}]", additional
