"""Entries by name: always in order, whenever they were put in."""

from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.store.contract import Entry
from mooring.apiserver.store.named import NamedEntries

NAMES = st.sampled_from(["a", "a/b", "a/c", "ab", "b", "b/a", "é", "\U0001f600"])
PREFIXES = st.sampled_from(["", "a", "a/", "b/", "z"])


def _entry(name: str, revision: int = 1) -> Entry:
    return Entry("t", name, b"", revision)


def _found(entries: NamedEntries, prefix: str = "", after: str = "") -> list[str]:
    return list(entries.names(*entries.bounds(prefix, after)))


@given(
    first=st.sets(NAMES),
    acts=st.lists(st.tuples(st.sampled_from(["put", "remove", "list"]), NAMES)),
    prefix=PREFIXES,
    after=st.one_of(st.just(""), NAMES),
)
def test_a_range_is_what_sorting_would_find(
    first: set[str], acts: list[tuple[str, str]], prefix: str, after: str
) -> None:
    entries = NamedEntries({name: _entry(name) for name in first})
    known = set(first)
    for act, name in acts:
        if act == "put":
            entries.put(_entry(name))
            known.add(name)
        elif act == "remove" and name in known:
            entries.remove(name)
            known.remove(name)
        else:
            assert _found(entries) == sorted(known)
    assert entries.keys() == known
    assert _found(entries, prefix, after) == sorted(
        name for name in known if name.startswith(prefix) and name > after
    )


def test_putting_a_name_again_replaces_its_entry() -> None:
    entries = NamedEntries({})
    entries.put(_entry("a", 1))
    entries.put(_entry("a", 2))
    assert [entries[name].revision for name in _found(entries)] == [2]
