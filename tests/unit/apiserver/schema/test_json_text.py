"""JSON bodies: what is read, what is refused and in which words, which keys came twice."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.apiserver.schema.json_text import read_json
from mooring.apiserver.schema.pairs import Pairs, position, repeated

VALUES: dict[str, tuple[bytes, Any]] = {
    "an object": (b' {"a": [1, "b", null, true]} ', {"a": [1, "b", None, True]}),
    "null": (b"null", None),
    "an integer stays one": (b'{"a": 12345678901234567890123}', {"a": 12345678901234567890123}),
    "a fraction stays one": (b'{"a": 1.0}', {"a": 1.0}),
    "colons in texts are no keys": (b'{"a": "b:c", "d": ":::"}', {"a": "b:c", "d": ":::"}),
    "escaped colons are no trouble": (b'{"a\\u003ab": "\\u003A"}', {"a:b": ":"}),
}


@pytest.mark.parametrize(("body", "value"), VALUES.values(), ids=VALUES)
def test_value(body: bytes, value: Any) -> None:
    read = read_json(body)
    assert read.value == value
    assert type(read.value) is type(value)
    assert list(repeated(read.written, read.value)) == []


REFUSED = {
    "nothing": (b"", "unexpected end of JSON input"),
    "spaces": (b"  ", "unexpected end of JSON input"),
    "an object that is cut off": (b'{"a":', "unexpected end of JSON input"),
    "something behind": (b'{"a":1}x', "invalid character 'x' after top-level value"),
    "a second object": (b"{}{}", "invalid character '{' after top-level value"),
    "a key without quotes": (
        b"{a:1}",
        "invalid character 'a' looking for beginning of object key string",
    ),
    "a comma too many": (
        b'{"a":1,}',
        "invalid character '}' looking for beginning of object key string",
    ),
    "no colon": (b'{"a" 1}', "invalid character '1' after object key"),
    "no comma": (b'{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
    "no comma in a list": (b"[1 2]", "invalid character '2' after array element"),
    "single quotes": (
        b"{'a':1}",
        r"invalid character '\'' looking for beginning of object key string",
    ),
    "NaN": (b'{"a":NaN}', "invalid character 'N' looking for beginning of value"),
    "Infinity": (b'{"a":Infinity}', "invalid character 'I' looking for beginning of value"),
    "a number without end": (
        b'{"a":1e999}',
        "json: cannot unmarshal number into Go value of type float64",
    ),
    "no UTF-8": (b'{"a":"\xff"}', "invalid UTF-8 in string"),
    "a byte order mark": (
        b"\xef\xbb\xbf{}",
        r"invalid character '\xef' looking for beginning of value",
    ),
    "a bomb of lists": (b"[" * 100_000, "exceeded max depth"),
    "a bomb of objects": (b'{"a":' * 100_000, "exceeded max depth"),
    "a whole bomb": (b"[" * 100_000 + b"]" * 100_000, "exceeded max depth"),
}


@pytest.mark.parametrize(("body", "text"), REFUSED.values(), ids=REFUSED)
def test_refusal(body: bytes, text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared whole below
        read_json(body)
    assert str(caught.value) == text


TWICE: dict[str, tuple[bytes, list[list[str | int]]]] = {
    "a key": (b'{"a":1,"b":2,"a":3}', [["a"]]),
    "a key that comes three times is told once": (b'{"a":1,"a":2,"a":3}', [["a"]]),
    "a key in an object in a list": (b'{"a":[{"b":1},{"c":1,"c":2}]}', [["a", 1, "c"]]),
    "a key in disguise": (b'{"a":1,"\\u0061":2}', [["a"]]),
    "a key behind spaces": (b'{"a"  :1 , "a"\n:2}', [["a"]]),
    "in document order": (
        b'{"z":{"y":1,"y":2},"a":1,"z":{"x":1,"x":2},"a":2}',
        [["z"], ["z", "x"], ["a"]],
    ),
    "the same key in other objects is no repetition": (b'{"a":{"a":1},"b":{"a":1}}', []),
}


@pytest.mark.parametrize(("body", "trails"), TWICE.values(), ids=TWICE)
def test_keys_that_come_twice(body: bytes, trails: list[list[str | int]]) -> None:
    read = read_json(body)
    assert read.value == json.loads(body)  # the last one wins
    assert [trail for _, trail in repeated(read.written, read.value)] == trails


def test_what_was_pruned_is_not_looked_into() -> None:
    written = Pairs([("foo", Pairs([("a", 1), ("a", 2)])), ("b", 1), ("b", 2), ("foo", 3)])
    assert [trail for _, trail in repeated(written, {"b": 2})] == [["b"]]


def test_positions_sort_into_document_order() -> None:
    written = Pairs([("b", [Pairs([("z", 1), ("a", 2)])]), ("a", 1), ("b", 2), ("a", 3)])
    trails = [["a"], ["b"]]
    assert sorted(trails, key=lambda trail: position(written, trail)) == [["b"], ["a"]]
    inner = Pairs([("b", [Pairs([("z", 1), ("a", 2)])])])
    assert position(inner, ["b", 0, "a"]) == (0, 0, 1)


_written = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(st.text(max_size=2), inner), max_size=4).map(Pairs)
    ),
    max_leaves=12,
)


def _text(written: Any) -> str:
    if isinstance(written, Pairs):
        return "{" + ",".join(f"{json.dumps(k)}: {_text(v)}" for k, v in written) + "}"
    if isinstance(written, list):
        return "[" + ",".join(map(_text, written)) + "]"
    return json.dumps(written)


def _has_repeated(written: Any) -> bool:
    if isinstance(written, Pairs):
        return len(dict(written)) < len(written) or any(_has_repeated(v) for _, v in written)
    return isinstance(written, list) and any(map(_has_repeated, written))


@settings(deadline=None)  # the machine may be busy
@given(_written)
def test_any_repetition_is_noticed_and_nothing_else(written: Any) -> None:
    body = _text(written).encode()
    read = read_json(body)
    assert read.value == json.loads(body)
    if _has_repeated(written):
        assert read.written == written
    else:
        assert list(repeated(read.written, read.value)) == []


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(ValueError):  # anything else would escape
        read_json(body)
