"""Server-side apply: who owns what, who is in conflict, and what becomes of the document."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring import errors
from mooring.apiserver.patching.apply import apply, check_applied, check_declared
from mooring.apiserver.patching.field_set import FieldSet, has, paths
from mooring.apiserver.patching.managed_fields import after_update
from mooring.apiserver.patching.shape import shape_of
from mooring.model.document import Doc
from tests.unit.apiserver.patching.things import LATER, NOW, SCHEMA, THING, a_thing, spoil, things


def _applied(
    live: Doc | None,
    applied: Doc,
    manager: str = "m",
    *,
    force: bool = False,
    now: str = NOW,
    subresource: str = "",
    api_version: str = "test/v1",
) -> Doc:
    return apply(
        live,
        applied,
        manager=manager,
        api_version=api_version,
        now=now,
        subresource=subresource,
        force=force,
        shape=shape_of(THING, SCHEMA),
    )


def _updated(old: Doc | None, new: Doc, manager: str = "u", **more: str) -> Doc:
    said: dict[str, Any] = {"api_version": "test/v1", "now": NOW, "subresource": "", **more}
    entries = after_update(old, new, manager=manager, shape=shape_of(THING, SCHEMA), **said)
    return {**new, "metadata": {**new["metadata"], "managedFields": entries}}


def _owners(doc: Doc) -> dict[str, FieldSet]:
    return {e["manager"]: e["fieldsV1"] for e in doc["metadata"].get("managedFields", [])}


def _bare(doc: Doc) -> Doc:
    metadata = {k: v for k, v in doc["metadata"].items() if k != "managedFields"}
    return {**doc, "metadata": metadata}


def _data(**data: str) -> Doc:
    return a_thing(data=data)


def _parts(*names: str) -> Doc:
    return a_thing(spec={"parts": [{"name": name} for name in names]})


def test_a_first_apply_creates() -> None:
    result = _applied(None, _data(a="1"))
    assert _bare(result) == _data(a="1")
    assert result["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Apply",
            "apiVersion": "test/v1",
            "time": NOW,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}}},
        }
    ]


def test_an_apply_of_nothing_owns_nothing() -> None:
    assert _applied(None, a_thing()) == a_thing()


def test_another_value_than_the_owner_has_is_a_conflict() -> None:
    live = _applied(None, _data(k="1"), "m1")
    with pytest.raises(errors.Conflict) as refusal:
        _applied(live, _data(k="2"), "m2")
    assert refusal.value.message == 'Apply failed with 1 conflict: conflict with "m1": .data.k'
    assert refusal.value.details == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "m1"',
                "field": ".data.k",
            }
        ]
    }


def test_several_conflicts_are_told_by_owner() -> None:
    live = _updated(None, _data(b="1", z="1"), "upd")
    live = _updated(live, {**live, "status": {"phase": "x"}}, "ctl", subresource="status")
    live = _applied(live, _data(c="1"), "app")
    with pytest.raises(errors.Conflict) as refusal:
        _applied(live, _data(b="2", c="2", z="2"), "m")
    assert refusal.value.message == (
        'Apply failed with 3 conflicts: conflicts with "app":\n- .data.c\n'
        'conflicts with "upd" using test/v1:\n- .data.b\n- .data.z'
    )
    assert [cause["message"] for cause in refusal.value.details["causes"]] == [
        'conflict with "app"',
        'conflict with "upd" using test/v1',
        'conflict with "upd" using test/v1',
    ]


def test_a_conflict_names_the_subresource_and_the_item() -> None:
    part = {"name": "x", "color": "red"}
    live = _updated(
        None,
        a_thing(status={"conditions": [{"type": "T", "status": "1"}]}),
        "c",
        subresource="status",
    )
    live = _applied(live, a_thing(spec={"parts": [part]}), "p")
    with pytest.raises(errors.Conflict) as refusal:
        _applied(live, a_thing(spec={"parts": [{**part, "color": "blue"}]}))
    assert refusal.value.details["causes"][0]["field"] == '.spec.parts[name="x"].color'
    with pytest.raises(errors.Conflict) as refusal:
        _applied(
            live,
            a_thing(status={"conditions": [{"type": "T", "status": "2"}]}),
            subresource="status",
        )
    assert refusal.value.message == (
        'Apply failed with 1 conflict: conflict with "c" with subresource "status" using test/v1:'
        ' .status.conditions[type="T"].status'
    )


def test_force_takes_the_field() -> None:
    live = _applied(None, _data(k="1"), "m1")
    result = _applied(live, _data(k="2"), "m2", force=True)
    assert _bare(result) == _data(k="2")
    assert _owners(result) == {"m2": {"f:data": {"f:k": {}}}}


def test_an_equal_value_is_shared() -> None:
    live = _applied(None, _data(k="1"), "m1")
    result = _applied(live, _data(k="1"), "m2", now=LATER)
    assert _owners(result) == {"m1": {"f:data": {"f:k": {}}}, "m2": {"f:data": {"f:k": {}}}}
    times = {e["manager"]: e.get("time") for e in result["metadata"]["managedFields"]}
    assert times == {"m1": NOW, "m2": None}  # who only agreed never changed anything


def test_a_dropped_field_goes_if_nobody_else_owns_it() -> None:
    live = _applied(None, _data(a="1", b="1"))
    result = _applied(live, _data(a="1"))
    assert _bare(result) == _data(a="1")
    assert _owners(result) == {"m": {"f:data": {"f:a": {}}}}


def test_a_dropped_field_stays_if_somebody_else_owns_it() -> None:
    live = _applied(None, _data(a="1", b="1"), "m1")
    live = _applied(live, _data(b="1"), "m2")
    result = _applied(live, _data(a="1"), "m1")
    assert _bare(result) == _data(a="1", b="1")
    assert _owners(result) == {"m1": {"f:data": {"f:a": {}}}, "m2": {"f:data": {"f:b": {}}}}


def test_what_an_applier_lost_it_cannot_drop() -> None:
    live = _applied(None, _data(a="1", b="1"))
    live = _updated(live, {**live, "data": {"a": "1", "b": "2"}})
    assert _bare(_applied(live, _data(a="1"))) == _data(a="1", b="2")


def test_the_last_entry_takes_its_map_along() -> None:
    live = _applied(None, _data(a="1"))
    result = _applied(live, a_thing())
    assert result == a_thing()


def test_a_dropped_message_goes_with_what_nobody_owns_in_it() -> None:
    live = _applied(None, a_thing(spec={"size": 1, "disk": {"path": "/"}}))
    live["spec"]["disk"]["options"] = {"default": "1"}  # filled in by the server, owned by nobody
    assert _bare(_applied(live, a_thing(spec={"size": 1}))) == a_thing(spec={"size": 1})


def test_defaults_next_to_dropped_entries_stay() -> None:
    live = _applied(None, a_thing(data={"a": "1", "b": "1"}))
    live["data"]["default"] = "1"
    assert _bare(_applied(live, _data(a="1"))) == _data(a="1", default="1")


def test_what_was_there_before_the_first_apply_has_an_owner() -> None:
    live = _data(a="1", b="1")
    result = _applied(live, _data(a="1"), now=LATER)
    assert result["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Apply",
            "apiVersion": "test/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}}},
        },
        {
            "manager": "before-first-apply",
            "operation": "Update",
            "apiVersion": "test/v1",
            "time": LATER,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}, "f:b": {}}},
        },
    ]
    with pytest.raises(errors.Conflict, match='conflict with "before-first-apply" using test/v1'):
        _applied(live, _data(a="2"))


def test_an_applier_keeps_its_entry_over_versions() -> None:
    live = _applied(None, _data(a="1", b="1"), api_version="test/v0")
    result = _applied(live, _data(a="1"))
    assert _bare(result) == _data(a="1")
    assert [entry["apiVersion"] for entry in result["metadata"]["managedFields"]] == ["test/v1"]


def test_update_and_apply_by_one_manager_are_two_owners() -> None:
    live = _updated(None, _data(k="1"), "m")
    with pytest.raises(errors.Conflict, match='conflict with "m" using test/v1'):
        _applied(live, _data(k="2"), "m")


def test_what_the_path_cannot_touch_is_not_owned() -> None:
    applied = a_thing(spec={"size": 1}, status={"phase": "x"})
    assert _owners(_applied(None, applied)) == {"m": {"f:spec": {"f:size": {}}}}
    live = _applied(None, a_thing(spec={"size": 1}), "other")
    result = _applied(live, applied, subresource="status")
    assert _owners(result)["m"] == {"f:status": {"f:phase": {}}}


def test_what_the_path_cannot_touch_is_no_conflict() -> None:
    live = _updated(None, a_thing(status={"phase": "x"}), subresource="status")
    result = _applied(live, a_thing(status={"phase": "y"}))
    assert {k: v for k, v in _owners(result).items() if k != "m"} == _owners(live)


def test_null_says_nothing() -> None:
    live = _applied(None, _data(a="1"), "m1")
    result = _applied(live, a_thing(data={"a": None, "b": "1"}, spec=None), "m2")
    assert _bare(result) == _data(a="1", b="1")
    assert _owners(result) == {"m1": {"f:data": {"f:a": {}}}, "m2": {"f:data": {"f:b": {}}}}


LISTS: dict[str, tuple[Doc, Doc, Doc]] = {
    "items of others stay": (_parts("a", "b"), _parts("b"), _parts("a", "b")),
    "new items follow those that were there": (
        _parts("a", "b"),
        _parts("c"),
        _parts("a", "b", "c"),
    ),
    "applied items are in the applied order": (
        _parts("a", "b", "c"),
        _parts("c", "a"),
        _parts("b", "c", "a"),
    ),
    "items merge by key": (
        a_thing(spec={"parts": [{"name": "a", "color": "red"}]}),
        a_thing(spec={"parts": [{"name": "a", "tags": ["x"]}]}),
        a_thing(spec={"parts": [{"name": "a", "color": "red", "tags": ["x"]}]}),
    ),
    "sets merge": (
        a_thing(metadata={"finalizers": ["a", "b"]}),
        a_thing(metadata={"finalizers": ["c", "b"]}),
        a_thing(metadata={"finalizers": ["a", "c", "b"]}),
    ),
    "an empty list takes nothing away": (_parts("a"), _parts(), _parts("a")),
    "an empty map takes nothing away": (_data(a="1"), a_thing(data={}), _data(a="1")),
}


@pytest.mark.parametrize(("live", "applied", "then"), LISTS.values(), ids=LISTS)
def test_merge_into_what_others_own(live: Doc, applied: Doc, then: Doc) -> None:
    assert _bare(_applied(_updated(None, live), applied)) == then


ATOMIC: dict[str, tuple[Doc, Doc]] = {
    "list": ({"modes": ["a"]}, {"modes": ["b"]}),
    "map": ({"selector": {"a": "1"}}, {"selector": {"b": "1"}}),
    "message": ({"target": {"name": "a", "kind": "k"}}, {"target": {"name": "b"}}),
}


@pytest.mark.parametrize(("live", "applied"), ATOMIC.values(), ids=ATOMIC)
def test_what_is_atomic_is_replaced_whole(live: Doc, applied: Doc) -> None:
    before = _updated(None, a_thing(spec=live))
    result = _applied(before, a_thing(spec=applied), force=True)
    assert _bare(result) == a_thing(spec=applied)
    with pytest.raises(errors.Conflict):
        _applied(before, a_thing(spec=applied))


def test_stored_owners_that_cannot_be_read_are_the_server_s_fault() -> None:
    live = a_thing(metadata={"managedFields": [{"manager": "x"}]})
    with pytest.raises(errors.ServerError, match="failed to decode managed fields"):
        _applied(live, _data(a="1"))


REFUSED: dict[str, tuple[Any, str, type[errors.ApiError], str]] = {
    "no manager": (
        _data(a="1"),
        "",
        errors.Invalid,
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for '
        "apply patch",
    ),
    "no kind": ({}, "m", errors.BadRequest, "invalid object type: /, Kind="),
    "another kind": (
        {**a_thing(), "kind": "Other"},
        "m",
        errors.BadRequest,
        "invalid object type: test/v1, Kind=Other",
    ),
    "another version": (
        {**a_thing(), "apiVersion": "v2"},
        "m",
        errors.BadRequest,
        "invalid object type: /v2, Kind=Thing",
    ),
    "owners in the configuration": (
        a_thing(metadata={"managedFields": []}),
        "m",
        errors.BadRequest,
        "metadata.managedFields must be nil",
    ),
    "a list": (
        [],
        "m",
        errors.BadRequest,
        "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
        "json: cannot unmarshal array into Go value of type map[string]interface {}",
    ),
}


@pytest.mark.parametrize(("applied", "manager", "error", "text"), REFUSED.values(), ids=REFUSED)
def test_refusal(applied: Any, manager: str, error: type[errors.ApiError], text: str) -> None:
    with pytest.raises(error) as refusal:
        check_applied(applied, manager=manager, api_version="test/v1", kind="Thing")
    assert refusal.value.message == text


def test_a_good_configuration_passes() -> None:
    applied = a_thing(metadata={"managedFields": None}, data={"a": "1"})
    check_applied(applied, manager="m", api_version="test/v1", kind="Thing")
    check_declared(applied, shape_of(THING, SCHEMA))


def test_undeclared_fields_are_named() -> None:
    with pytest.raises(errors.ServerError) as refusal:
        check_declared({**a_thing(), "dat": {}}, shape_of(THING, SCHEMA))
    assert refusal.value.message == (
        "failed to create typed patch object (n/t; test/v1, Kind=Thing): "
        ".dat: field not declared in schema"
    )
    with pytest.raises(errors.ServerError) as refusal:
        check_declared(a_thing(data={"a": 1, "b": 2}), shape_of(THING, SCHEMA))
    assert refusal.value.message.endswith(
        "errors:\n  .data.a: expected string, got &value.valueUnstructured{Value:1}"
        "\n  .data.b: expected string, got &value.valueUnstructured{Value:2}"
    )


_MANAGERS = st.sampled_from(["one", "two", "kubectl"])


@given(live=st.none() | things(), applied=things(), manager=_MANAGERS)
def test_apply_twice_is_apply_once(live: Doc | None, applied: Doc, manager: str) -> None:
    before = None if live is None else _updated(None, live)
    once = _applied(before, applied, manager, force=True)
    assert _applied(once, applied, manager, now=LATER) == once


@given(live=things(), applied=things())
def test_force_ends_with_the_applied_values_and_their_ownership(live: Doc, applied: Doc) -> None:
    result = _applied(_updated(None, live), applied, "m", force=True)
    mine = _owners(result).get("m", {})
    assert _applied(result, applied, "m", now=LATER) == result
    assert all(
        has(mine, path) for path in paths(_owners(_applied(None, applied, "m")).get("m", {}))
    )
    for name in ("data", "spec"):
        assert _covers(result.get(name), applied.get(name))


def _covers(value: Any, part: Any) -> bool:
    """Whether all that is in `part` is in `value`, whatever else there is."""
    if isinstance(part, dict) and isinstance(value, dict):
        return all(_covers(value.get(name), inner) for name, inner in part.items())
    if isinstance(part, list) and isinstance(value, list):
        return all(any(_covers(item, wanted) for item in value) for wanted in part)
    return bool(part is None or value == part)


@given(first=things(), second=things())
def test_what_is_applied_then_dropped_is_gone_if_not_shared(first: Doc, second: Doc) -> None:
    result = _applied(_applied(None, first), second)
    assert _owners(result) == _owners(_applied(None, second))
    assert _sorted(_bare(result)) == _sorted(second)


def _sorted(value: Any) -> Any:
    """The same value, its lists in an order of their own: applied items keep their old places."""
    if isinstance(value, dict):
        return {name: _sorted(inner) for name, inner in value.items()}
    return sorted(map(_sorted, value), key=_spelling) if isinstance(value, list) else value


def _spelling(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@given(first=things(), second=things(), third=things())
def test_what_somebody_else_applied_survives_a_drop(first: Doc, second: Doc, third: Doc) -> None:
    live = _applied(None, first, "other")
    try:
        live = _applied(live, second, "m")
        live = _applied(live, third, "m")
    except errors.Conflict:
        return
    assert _owners(live).get("other") == _owners(_applied(None, first, "other")).get("other")
    for name in ("data", "spec"):
        assert _covers(live.get(name), first.get(name))


@given(live=things(), applied=things())
def test_arguments_are_neither_changed_nor_shared(live: Doc, applied: Doc) -> None:
    live = _updated(None, live)
    before = copy.deepcopy((_bare(live), applied))
    result = _bare(_applied(live, applied, force=True))
    spoil(result)
    assert (_bare(live), applied) == before
