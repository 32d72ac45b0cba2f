"""How much there is in a body is known before anything is made of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.codec.protobuf import decode_message
from mooring.apiserver.codec.yaml_body import read_yaml
from mooring.apiserver.limits.budgets import MOST_VALUES
from mooring.apiserver.limits.json_size import check_values, fits
from mooring.apiserver.schema.json_text import read_json
from mooring.errors import TooLarge

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def weight(value: object) -> int:
    """Commas and opening brackets, counted the slow way."""
    if isinstance(value, dict):
        return max(len(value), 1) + sum(map(weight, value.values()))
    if isinstance(value, list):
        return max(len(value), 1) + sum(map(weight, value))
    return 0


@given(documents)
def test_what_is_in_strings_does_not_count(value: object) -> None:
    body = json.dumps(value, ensure_ascii=False).encode()
    assert fits(body, weight(value))
    assert not fits(body, weight(value) - 1) or len(body) <= weight(value) - 1


FIT = {
    "a text of commas": b'{"data":{"v":"' + b"," * 100_000 + b'"}}',
    "a text of quotes": b'{"data":{"v":"' + b'\\"{[' * 50_000 + b'"}}',
    "as many as there may be": b"[" + b"0," * (MOST_VALUES - 1) + b"0]",
}
DO_NOT_FIT = {
    "one more": b"[" + b"0," * MOST_VALUES + b"0]",
    "empty objects": b"[" + b"{}," * 999_000 + b"{}]",
    "strings": b"[" + b'"a",' * 700_000 + b'"b"]',
    "a string that does not end": b"[" + b"{}," * 20_000 + b'"' + b'\\"' * 1_400_000,
}


@pytest.mark.parametrize("body", FIT.values(), ids=FIT)
def test_bodies_that_fit(body: bytes) -> None:
    check_values(body)


@pytest.mark.parametrize("body", DO_NOT_FIT.values(), ids=DO_NOT_FIT)
@pytest.mark.timeout(10)
def test_bodies_that_do_not_fit(body: bytes) -> None:
    with pytest.raises(TooLarge, match="at most 20000 values"):
        read_json(body)


def test_what_is_too_deep_is_told_as_such() -> None:
    with pytest.raises(ValueError, match="exceeded max depth"):
        read_json(b'{"a":' * 100_000)


def test_protobuf_counts_too() -> None:
    spec = b"\x12\x00" * 1_000_000  # containers, each of them empty
    size = len(spec)
    length = bytearray()
    while size:
        length.append((size & 0x7F) | (0x80 if size > 0x7F else 0))
        size >>= 7
    with pytest.raises(TooLarge):
        decode_message(b"\x12" + bytes(length) + spec, "core.v1.Pod")


def test_aliases_count_with_all_that_they_stand_for() -> None:
    body = b"a: &a " + b"x" * 1_000_000 + b"\nb: [*a, *a]\n"
    assert len(read_yaml(body).value["b"]) == 2
    with pytest.raises(ValueError, match="excessive aliasing"):
        read_yaml(b"a: &a " + b"x" * 1_000_000 + b"\nb: [*a, *a, *a, *a]\n")


def test_aliases_of_aliases_count() -> None:
    lines = [b"a0: &a0 " + b"x" * 1000]
    lines += [b"a%d: &a%d [%b]" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 6)]
    with pytest.raises(ValueError, match="excessive aliasing"):
        read_yaml(b"\n".join(lines))
