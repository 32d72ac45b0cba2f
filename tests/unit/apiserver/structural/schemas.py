"""Schemas to draw, and documents for them."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from mooring.model.document import Doc

NAMES = ("a", "b", "c", "spec", "port")
AT = "spec.validation.openAPIV3Schema"

_texts = st.text(alphabet="abcXYZ019-. é", max_size=6)


def an_object(**properties: Any) -> Doc:
    return {"type": "object", "properties": properties}


def a_list(items: Doc, **more: Any) -> Doc:
    return {"type": "array", "items": items, **more}


def a_text(**more: Any) -> Doc:
    return {"type": "string", **more}


def an_integer(**more: Any) -> Doc:
    return {"type": "integer", **more}


def root(**properties: Any) -> Doc:
    return an_object(spec=an_object(**properties))


_leaves = st.one_of(
    st.builds(a_text, maxLength=st.integers(3, 9), minLength=st.integers(0, 3)),
    st.builds(a_text, enum=st.lists(_texts, min_size=1, max_size=3)),
    st.builds(a_text, format=st.sampled_from(["date", "ipv4", "unknown", "date-time"])),
    st.builds(a_text, pattern=st.sampled_from(["^a", "[0-9]+$", "x|é"])),
    st.builds(an_integer, minimum=st.integers(-3, 3), maximum=st.integers(3, 9)),
    st.builds(an_integer, format=st.sampled_from(["int32", "int64"]), multipleOf=st.just(2)),
    st.just({"type": "number", "minimum": 0.5, "exclusiveMinimum": True}),
    st.just({"type": "boolean"}),
    st.just({"x-kubernetes-int-or-string": True}),
    st.just({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
)


def _objects(children: st.SearchStrategy[Doc]) -> st.SearchStrategy[Doc]:
    properties = st.dictionaries(st.sampled_from(NAMES), children, max_size=4)

    @st.composite
    def build(draw: st.DrawFn) -> Doc:
        held = draw(properties)
        schema: Doc = {"type": "object", "properties": held}
        schema["required"] = (
            draw(st.lists(st.sampled_from(sorted(held)), max_size=2)) if held else []
        )
        if draw(st.booleans()):
            schema["oneOf"] = [{"required": ["a"]}, {"properties": {"b": {"minimum": 2}}}]
        if draw(st.booleans()):
            schema["anyOf"] = [{"required": ["b"]}, {"maxProperties": 2}]
        if draw(st.booleans()):
            schema["not"] = {"required": ["c", "spec"]}
        return schema

    return build()


def _with_null(schema: Doc, is_nullable: bool) -> Doc:  # noqa: FBT001  drawn
    return {**schema, "nullable": True} if is_nullable else schema


schemas = st.recursive(
    st.builds(_with_null, _leaves, st.booleans()),
    lambda inner: st.one_of(
        _objects(inner),
        st.builds(a_list, inner, maxItems=st.integers(1, 4)),
        st.builds(lambda held: {"type": "object", "additionalProperties": held}, inner),
        st.just({"type": "object", "additionalProperties": True}),
    ),
    max_leaves=8,
)
"""Structural schemas, of any type."""

root_schemas = st.dictionaries(st.sampled_from(NAMES), schemas, max_size=4).map(
    lambda held: {"type": "object", "properties": held}
)

values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-5, 12), st.sampled_from([0.5, 2.0, 7.25]), _texts
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from((*NAMES, "x", "metadata")), inner, max_size=4),
    ),
    max_leaves=10,
)
"""Any documents, valid or not."""

documents = st.dictionaries(st.sampled_from((*NAMES, "x", "kind")), values, max_size=5)

_VALID_TEXTS = {
    "date": st.just("2026-02-28"),
    "ipv4": st.just("10.0.0.1"),
    "date-time": st.just("2026-02-28T10:00:00Z"),
}
_PATTERN_TEXTS = {"^a": "abc", "[0-9]+$": "v12", "x|é": "é"}


def valid(schema: Doc) -> st.SearchStrategy[Any]:
    """Documents that a drawn schema without junctors takes."""
    if schema.get("x-kubernetes-int-or-string"):
        return st.one_of(st.integers(-9, 9), _texts)
    fitting = _VALID[schema["type"]](schema)
    return st.none() | fitting if schema.get("nullable") and "enum" not in schema else fitting


def _valid_text(schema: Doc) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "pattern" in schema:
        return st.just(_PATTERN_TEXTS[schema["pattern"]])
    if schema.get("format") in _VALID_TEXTS:
        return _VALID_TEXTS[schema["format"]]
    longest = schema.get("maxLength", 9)
    return st.text(min_size=min(schema.get("minLength", 0), longest), max_size=longest)


def _valid_integer(schema: Doc) -> st.SearchStrategy[Any]:
    numbers = st.integers(schema.get("minimum", -9), schema.get("maximum", 9))
    return numbers.map(lambda number: number * 2) if "multipleOf" in schema else numbers


def _valid_object(schema: Doc) -> st.SearchStrategy[Any]:
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return documents
    if schema.get("additionalProperties") is True:
        return st.dictionaries(_texts, st.integers(), max_size=3)
    if "additionalProperties" in schema:
        return st.dictionaries(_texts, valid(schema["additionalProperties"]), max_size=3)
    always = {name: valid(schema["properties"][name]) for name in schema.get("required") or ()}
    others = {name: valid(held) for name, held in schema["properties"].items()}
    optional = {name: held for name, held in others.items() if name not in always}
    return st.fixed_dictionaries(always, optional=optional)


_VALID: dict[str, Callable[[Doc], st.SearchStrategy[Any]]] = {
    "string": _valid_text,
    "integer": _valid_integer,
    "number": lambda _: st.sampled_from([0.75, 1, 3.5]),
    "boolean": lambda _: st.booleans(),
    "object": _valid_object,
    "array": lambda schema: st.lists(valid(schema["items"]), max_size=schema["maxItems"]),
}


def without_junctors(schema: Doc) -> Doc:
    kept = {word: held for word, held in schema.items() if word not in ("anyOf", "oneOf", "not")}
    if "properties" in kept:
        kept["properties"] = {k: without_junctors(s) for k, s in kept["properties"].items()}
    for word in ("items", "additionalProperties"):
        if isinstance(kept.get(word), dict):
            kept[word] = without_junctors(kept[word])
    return kept
