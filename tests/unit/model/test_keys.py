"""Keys: how they print, read back and sort."""

import pytest

from mooring.model.keys import Key, parse_key

SPELLINGS = {"in a namespace": (Key("ns", "web"), "ns/web"), "cluster-wide": (Key("", "pv"), "pv")}


@pytest.mark.parametrize(("key", "text"), SPELLINGS.values(), ids=SPELLINGS)
def test_a_key_reads_back(key: Key, text: str) -> None:
    assert str(key) == text
    assert parse_key(text) == key
    assert hash(parse_key(text)) == hash(key)


@pytest.mark.parametrize("text", ["", "ns/", "a/b/c"])
def test_not_a_key(text: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        parse_key(text)


def test_keys_sort_by_namespace_then_name() -> None:
    keys = [Key("b", "a"), Key("a", "z"), Key("a", "b")]
    assert sorted(keys) == [Key("a", "b"), Key("a", "z"), Key("b", "a")]
