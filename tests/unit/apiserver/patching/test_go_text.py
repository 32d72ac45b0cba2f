"""Values as they stand in messages."""

from typing import Any

import pytest

from mooring.apiserver.patching import go_text

TEXTS: dict[str, tuple[Any, str, str]] = {
    "null": (None, "<nil>", "null"),
    "truth": (True, "true", "bool"),
    "a number": (1, "1", "number"),
    "a fraction": (1.5, "1.5", "number"),
    "a fraction that is none": (2.0, "2", "number"),
    "a string": ("x y", "x y", "string"),
    "a list": ([1, "a", None], "[1 a <nil>]", "array"),
    "an object, by name": ({"b": {}, "a": False}, "map[a:false b:map[]]", "object"),
}


@pytest.mark.parametrize(("value", "plain", "json_type"), TEXTS.values(), ids=TEXTS)
def test_text(value: Any, plain: str, json_type: str) -> None:
    assert go_text.plain(value) == plain
    assert go_text.json_type(value) == json_type


@pytest.mark.parametrize(
    ("value", "then"), [('a"b', '"a\\"b"'), (80, "80"), (True, "true"), (None, "null")]
)
def test_quoted(value: Any, then: str) -> None:
    assert go_text.quoted(value) == then
