"""YAML bodies: as JSON in other clothes, and harmless."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.apiserver.codec.yaml_body import read_yaml
from mooring.apiserver.schema.pairs import repeated

SCALARS: dict[str, tuple[str, Any]] = {
    "a text": ("abc", "abc"),
    "a quoted number is a text": ('"5"', "5"),
    "an integer": ("5", 5),
    "an octal integer": ("0644", 420),
    "an octal integer, newer style": ("0o644", 420),
    "a hexadecimal integer": ("0x1F", 31),
    "a binary integer": ("-0b11", -3),
    "an integer with underscores": ("1_000", 1000),
    "a leading zero that is not octal": ("089", 89),
    "a fraction": (".5", 0.5),
    "a fraction of nothing is an integer, as in JSON": ("1.0", 1),
    "an exponent": ("1e3", 1000),
    "more than an integer can hold": ("12345678901234567890123", 1.2345678901234568e22),
    "more than a float can hold is a text": ("1e400", "1e400"),
    "yes is true": ("yes", True),
    "off is false": ("Off", False),
    "y is true": ("y", True),
    "a quoted yes is a text": ("'yes'", "yes"),
    "a tilde is null": ("~", None),
    "nothing is null": ("", None),
    "a date is a text": ("2026-01-02", "2026-01-02"),
    "a time is a text": ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
    "a duration is a text, not base 60": ("1:30", "1:30"),
    "an IP address is a text": ("10.0.0.1", "10.0.0.1"),
    "a tag can make a text": ("!!str 5", "5"),
    "a tag can make a number": ("!!int '5'", 5),
    "a tag of one's own is ignored": ("!foo 5", "5"),
    "a block": ("|\n  x\n  y\n", "x\ny\n"),
}


@pytest.mark.parametrize(("text", "value"), SCALARS.values(), ids=SCALARS)
def test_scalar(text: str, value: Any) -> None:
    read = read_yaml(f"a: {text}\n".encode()).value["a"]
    assert (read, type(read)) == (value, type(value))


VALUES: dict[str, tuple[str, Any]] = {
    "nothing at all": ("", None),
    "only a comment": ("# hi\n", None),
    "a document with marks": ("---\na: 1\n...\n", {"a": 1}),
    "JSON": ('{"a": {"b": [1, 2]}}', {"a": {"b": [1, 2]}}),
    "almost JSON": ("{a: {b: [1, 2,]}}", {"a": {"b": [1, 2]}}),
    "keys become texts": (
        "1: a\nyes: b\n1.5: c\n2026-01-02: d\n0x10: e\n",
        {"1": "a", "true": "b", "1.5": "c", "2026-01-02": "d", "16": "e"},
    ),
    "aliases": ("a: &x {b: 1}\nc: *x\nd: [*x]\n", {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}]}),
    "an alias as a key": ("a: &x b\n*x : c\n", {"a": "b", "b": "c"}),
    "a merge, in which one's own keys win": (
        "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n",
        {"a": {"b": 1, "c": 2}, "d": {"c": 3, "b": 1}},
    ),
    "a merge of several, of which the first wins": (
        "a: {<<: [{b: 1}, {b: 2, c: 3}]}\n",
        {"a": {"b": 1, "c": 3}},
    ),
}


@pytest.mark.parametrize(("text", "value"), VALUES.values(), ids=VALUES)
def test_document(text: str, value: Any) -> None:
    read = read_yaml(text.encode())
    assert read.value == value
    assert list(repeated(read.written, read.value)) == []


def test_what_aliases_bring_is_not_shared() -> None:
    value = read_yaml(b"a: &x {b: 1}\nc: *x\n").value
    value["a"]["b"] = 2
    assert value["c"] == {"b": 1}


def test_keys_that_come_twice_are_noticed() -> None:
    read = read_yaml(b"a: {b: 1, 'b': 2}\na: {c: 1}\n")
    assert read.value == {"a": {"c": 1}}
    assert [trail for _, trail in repeated(read.written, read.value)] == [["a"]]


def test_a_merge_is_no_repetition() -> None:
    assert read_yaml(b"a: {<<: {b: 1}, b: 2}").written is None


def _laughs(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for i in range(1, levels):
        aliases = ", ".join([f"*a{i - 1}"] * 9)
        lines.append(f"a{i}: &a{i} [{aliases}]")
    return "\n".join(lines)


REFUSED = {
    "two documents": ("a: 1\n---\nb: 2\n", "yaml: more than one document"),
    "no YAML": ("a: b: c", "yaml: mapping values are not allowed in this context"),
    "no YAML on a later line": (
        "a: 1\nb: c: d\n",
        "yaml: line 2: mapping values are not allowed in this context",
    ),
    "control characters": ("a: \x01", "yaml: control characters are not allowed"),
    "infinity": ("a: .inf", "yaml: .inf has no form in JSON"),
    "not a number": ("a: .nan", "yaml: .nan has no form in JSON"),
    "binary data": ("a: !!binary YQ==", "yaml: cannot use a value tagged !!binary"),
    "a null key": ("~: a", "yaml: unsupported map key of type: null"),
    "a list as a key": ("[a]: b", "yaml: invalid map key"),
    "a list as a key, by alias": ("a: &x [b]\n*x : c", "yaml: invalid map key"),
    "an alias of nothing": ("a: *b", "yaml: unknown anchor 'b' referenced"),
    "an alias within itself": ("a: &a [*a]", "yaml: anchor 'a' value contains itself"),
    "a merge of something else": (
        "a: {<<: 5}",
        "yaml: map merge requires map or sequence of maps as the value",
    ),
    "a billion laughs": (
        _laughs(12),
        "yaml: document is too large, or contains excessive aliasing",
    ),
    "a bomb of lists": ("[" * 100_000, "yaml: exceeded max depth"),
    "a bomb of list items": ("- " * 100_000, "yaml: exceeded max depth"),
    "a bomb built of aliases": (
        "\n".join(["- &a0 x", *(f"- &a{i} [[[[*a{i - 1}]]]]" for i in range(1, 40))]),
        "yaml: exceeded max depth",
    ),
}


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
def test_refusal(text: str, why: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared whole below
        read_yaml(text.encode())
    assert str(caught.value) == why


def test_what_is_no_utf_8_is_refused() -> None:
    with pytest.raises(ValueError, match="yaml: "):
        read_yaml(b"a: \xff\xff")


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=60) | st.text("ab:-{}[]&*<>!|'\",# \n01.~?", max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(ValueError):  # anything else would escape
        read_yaml(body)
