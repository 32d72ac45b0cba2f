"""Who owns what after creates, updates and patches."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.patching import managed_fields
from mooring.apiserver.patching.field_set import FieldSet, fields_of, paths, union
from mooring.apiserver.patching.managed_fields import (
    after_update,
    decoded,
    manager_name,
)
from mooring.apiserver.patching.shape import shape_of
from mooring.model.document import Doc
from tests.unit.apiserver.patching.things import LATER, NOW, SCHEMA, THING, a_thing, things


def _after(
    old: Doc | None,
    new: Doc,
    manager: str = "m",
    *,
    now: str = NOW,
    subresource: str = "",
    api_version: str = "test/v1",
) -> list[Doc]:
    return after_update(
        old,
        new,
        manager=manager,
        api_version=api_version,
        now=now,
        subresource=subresource,
        shape=shape_of(THING, SCHEMA),
    )


def _stored(old: Doc | None, new: Doc, manager: str = "m", **more: Any) -> Doc:
    """`new` as it is stored, with its owners."""
    return _owned(new, *_after(old, new, manager, **more))


def _owned(doc: Doc, *entries: Doc) -> Doc:
    return {**doc, "metadata": {**doc["metadata"], "managedFields": list(entries)}}


def _entry(manager: str, fields: FieldSet, operation: str = "Update", **more: str) -> Doc:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "test/v1",
        "time": NOW,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def _owners(entries: list[Doc]) -> dict[str, FieldSet]:
    return {entry["manager"]: entry["fieldsV1"] for entry in entries}


def test_the_creator_owns_all() -> None:
    assert _after(None, a_thing(data={"a": "1"})) == [_entry("m", {"f:data": {".": {}, "f:a": {}}})]


def test_members_of_an_entry_are_in_their_usual_order() -> None:
    old = _stored(None, a_thing(data={"a": "1"}), "one")
    new = a_thing(data={"a": "1"}, status={"phase": "x"})
    first, second = _after(old, new, "two", now=LATER, subresource="status")
    usual = ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1"]
    assert list(first) == usual
    assert list(second) == [*usual, "subresource"]


def test_who_says_nothing_owns_nothing() -> None:
    assert _after(None, a_thing()) == []


A: FieldSet = {"f:data": {"f:a": {}}}
AB: FieldSet = {"f:data": {".": {}, "f:a": {}, "f:b": {}}}
DATA = a_thing(data={"a": "1", "b": "1"})

MOVES: dict[str, tuple[Doc, Doc, str, dict[str, FieldSet]]] = {
    "a changed value moves to the writer": (
        _stored(None, DATA, "one"),
        a_thing(data={"a": "2", "b": "1"}),
        "two",
        {"one": {"f:data": {".": {}, "f:b": {}}}, "two": A},
    ),
    "the writer keeps what it had": (
        _stored(None, DATA, "one"),
        a_thing(data={"a": "2", "b": "1"}),
        "one",
        {"one": AB},
    ),
    "a removed field leaves all owners": (
        _owned(DATA, _entry("one", AB), _entry("two", A, "Apply")),
        a_thing(data={"b": "1"}),
        "three",
        {"one": {"f:data": {".": {}, "f:b": {}}}},
    ),
    "a changed value leaves all other owners": (
        _owned(DATA, _entry("one", AB), _entry("two", A, "Apply")),
        a_thing(data={"a": "2", "b": "1"}),
        "three",
        {"one": {"f:data": {".": {}, "f:b": {}}}, "three": A},
    ),
    "who only removes gets no entry": (
        _stored(None, DATA, "one"),
        a_thing(),
        "two",
        {},
    ),
    "another item of a set is the writer's": (
        _stored(None, a_thing(metadata={"finalizers": ["a"]}), "one"),
        a_thing(metadata={"finalizers": ["a", "b"]}),
        "two",
        {
            "one": {"f:metadata": {"f:finalizers": {".": {}, 'v:"a"': {}}}},
            "two": {"f:metadata": {"f:finalizers": {'v:"b"': {}}}},
        },
    ),
}


@pytest.mark.parametrize(("old", "new", "manager", "then"), MOVES.values(), ids=MOVES)
def test_ownership(old: Doc, new: Doc, manager: str, then: dict[str, FieldSet]) -> None:
    assert _owners(_after(old, new, manager, now=LATER)) == then


def test_only_who_gained_has_a_new_time() -> None:
    old = _stored(None, DATA, "one")
    entries = _after(old, a_thing(data={"a": "2", "b": "1"}), "two", now=LATER)
    assert {entry["manager"]: entry["time"] for entry in entries} == {"one": NOW, "two": LATER}
    entries = _after(old, a_thing(data={"b": "1"}), "one", now=LATER)
    assert [entry["time"] for entry in entries] == [NOW]


def test_no_change_changes_no_entry() -> None:
    old = _stored(None, DATA, "one")
    assert _after(old, copy.deepcopy(DATA), "two", now=LATER) == old["metadata"]["managedFields"]


def test_versions_and_subresources_are_owners_of_their_own() -> None:
    old = _stored(None, DATA)
    new = a_thing(data={"a": "2", "b": "1"})
    entries = _after(old, new, api_version="test/v2", now=LATER)
    assert [(e["manager"], e["apiVersion"]) for e in entries] == [
        ("m", "test/v1"),
        ("m", "test/v2"),
    ]
    entries = _after(old, {**DATA, "status": {"phase": "x"}}, subresource="status", now=LATER)
    assert [(e["manager"], e.get("subresource")) for e in entries] == [("m", None), ("m", "status")]


def test_entries_are_sorted_by_operation_time_and_manager() -> None:
    old = _owned(
        DATA,
        _entry("z", {"f:data": {".": {}}}, time=NOW),
        _entry("a", {"f:spec": {"f:size": {}}}, time=LATER),
        _entry("b", {"f:data": {"f:b": {}}}, time=LATER),
        _entry("y", {"f:data": {"f:b": {}}}, "Apply", time=LATER),
    )
    entries = _after(old, a_thing(data={"a": "2", "b": "1"}), "c", now=LATER)
    assert [entry["manager"] for entry in entries] == ["y", "z", "a", "b", "c"]


GIVEN = [_entry("given", A)]

SENT: dict[str, tuple[Any, str, list[str]]] = {
    "what is sent back unchanged stays": ([_entry("one", AB)], "", ["one", "m"]),
    "null keeps what is stored": (None, "", ["one", "m"]),
    "an object without keys forgets all": ([{}], "", []),
    "no entries forgets all": ([], "", []),
    "entries can be set": (GIVEN, "", ["m"]),
    "nobody sets them through a subresource": (GIVEN, "status", ["one"]),
    "nobody forgets them through a subresource": ([{}], "status", ["one"]),
    "no list keeps what is stored": ("x", "", ["one", "m"]),
    "an unknown operation keeps what is stored": (
        [{**GIVEN[0], "operation": "Guess"}],
        "",
        ["one", "m"],
    ),
    "no version keeps what is stored": ([{**GIVEN[0], "apiVersion": ""}], "", ["one", "m"]),
    "unknown fields types keep what is stored": (
        [{**GIVEN[0], "fieldsType": "F2"}],
        "",
        ["one", "m"],
    ),
    "unreadable fields keep what is stored": (
        [{**GIVEN[0], "fieldsV1": {"x": {}}}],
        "",
        ["one", "m"],
    ),
    "a time that is none keeps what is stored": ([{**GIVEN[0], "time": 5}], "", ["one", "m"]),
}


@pytest.mark.parametrize(("sent", "subresource", "then"), SENT.values(), ids=SENT)
def test_managed_fields_in_the_request(sent: Any, subresource: str, then: list[str]) -> None:
    old = _stored(None, DATA, "one")
    new = a_thing(metadata={"managedFields": sent}, data={"a": "2", "b": "1"})
    if subresource:
        new = a_thing(metadata={"managedFields": sent}, data=DATA["data"])
    entries = _after(old, new, now=LATER, subresource=subresource)
    assert [entry["manager"] for entry in entries] == then


def test_fields_nested_too_deeply_keep_what_is_stored() -> None:
    deep: FieldSet = {}
    for _ in range(5000):
        deep = {"f:a": deep}
    old = _stored(None, DATA, "one")
    new = a_thing(metadata={"managedFields": [{**GIVEN[0], "fieldsV1": deep}]}, data=DATA["data"])
    assert _owners(_after(old, new)) == {"one": AB}


def test_what_nobody_tracks_stays_untracked() -> None:
    assert _after(DATA, a_thing(data={"a": "2"})) == []


def test_a_create_takes_over_what_its_body_says_of_owners() -> None:
    new = a_thing(metadata={"managedFields": GIVEN}, data={"a": "1"})
    assert _owners(_after(None, new)) == {"m": {"f:data": {".": {}, "f:a": {}}}}


def test_more_than_ten_updaters_fold_into_ancient_changes() -> None:
    doc: Doc | None = None
    for n in range(15):
        new = a_thing(data={f"k{i:02}": "1" for i in range(n + 1)})
        doc = _stored(doc, new, f"m{n:02}", now=f"2025-01-01T00:00:{n:02}Z")
    assert doc is not None
    entries = doc["metadata"]["managedFields"]
    assert [e["manager"] for e in entries] == [
        "ancient-changes",
        *(f"m{n:02}" for n in range(6, 15)),
    ]
    assert entries[0]["time"] == "2025-01-01T00:00:05Z"
    assert entries[0]["fieldsV1"] == {"f:data": {".": {}, **{f"f:k{n:02}": {} for n in range(6)}}}


def test_appliers_do_not_count_among_the_ten() -> None:
    entries = [_entry(f"a{n}", {"f:spec": {"f:size": {}}}, "Apply") for n in range(20)]
    kept = _after(_owned(DATA, *entries), a_thing(data={"a": "2", "b": "1"}))
    assert len(kept) == 21


def test_versions_fold_apart() -> None:
    entries = [
        _entry(f"m{n:02}", {"f:data": {f"f:k{n}": {}}}, apiVersion=f"test/v{n % 2}")
        for n in range(12)
    ]
    kept = _after(_owned(DATA, *entries), a_thing(data={"a": "2", "b": "1"}), "new")
    ancient = [entry["apiVersion"] for entry in kept if entry["manager"] == "ancient-changes"]
    assert len(kept) == 10
    assert sorted(ancient) == ["test/v0", "test/v1"]


def test_a_client_spelling_is_brought_into_the_usual_one() -> None:
    raw = {**GIVEN[0], "fieldsV1": {'k:{ "b":1, "a":2 }': {}, "f:z": {".": {}}}, "extra": 1}
    (entry,) = decoded([raw]).values()
    assert entry.doc()["fieldsV1"] == {"f:z": {}, 'k:{"a":2,"b":1}': {}}
    assert "extra" not in entry.doc()


NAMES: dict[str, tuple[str, str, str]] = {
    "as the request says": ("me", "kubectl/v1", "me"),
    "as the client calls itself, up to the slash": ("", "kubectl/v1.35 (linux)", "kubectl"),
    "without what cannot be printed": ("", "a\x00b\u200b\u00e9", "ab\u00e9"),
    "in at most 128 bytes": ("", "x" * 200, "x" * 128),
    "in at most 128 bytes, of whole characters": ("", "\u00e9" * 100, "\u00e9" * 64),
    "unknown, if it does not say": ("", "", "unknown"),
    "unknown, if there is nothing before the slash": ("", "/1", "unknown"),
}


@pytest.mark.parametrize(("given_name", "agent", "then"), NAMES.values(), ids=NAMES)
def test_manager_name(given_name: str, agent: str, then: str) -> None:
    assert manager_name(given_name, agent) == then


_WRITES = st.lists(
    st.tuples(things(), st.sampled_from(["one", "two", "three"])), min_size=1, max_size=5
)


@given(writes=_WRITES)
def test_every_leaf_has_an_owner_and_every_owner_a_leaf(writes: list[tuple[Doc, str]]) -> None:
    doc: Doc | None = None
    for new, manager in writes:
        doc = _stored(doc, new, manager) if doc is None or _tracked(doc) else None
        if doc is None:
            return  # all was removed by one who wrote nothing: tracking has ended
        everything: FieldSet = {}
        for entry in doc["metadata"]["managedFields"]:
            everything = union(everything, entry["fieldsV1"])
        assert _leaves(everything) == _leaves(fields_of(new, THING, SCHEMA))


def _tracked(doc: Doc) -> bool:
    return bool(doc["metadata"]["managedFields"])


def _leaves(fields: FieldSet) -> set[tuple[str, ...]]:
    members = set(paths(fields))
    inner = {path[:n] for path in members for n in range(len(path))}
    return members - inner


@given(old=things(), new=things())
def test_arguments_are_not_changed(old: Doc, new: Doc) -> None:
    old = _stored(None, old, "one")
    before = copy.deepcopy((old, new))
    _after(old, new, "two")
    assert (old, new) == before


@given(old=things(), new=things(), other=things())
def test_what_is_remembered_of_other_objects_is_what_would_be_worked_out(
    old: Doc, new: Doc, other: Doc
) -> None:
    for doc in (other, new):
        stored = _stored(None, old, "creator")
        remembered = _after(stored, doc, "writer", now=LATER)
        managed_fields._SHARES.clear()
        assert _after(stored, doc, "writer", now=LATER) == remembered
