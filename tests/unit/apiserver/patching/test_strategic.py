"""Strategic merge patches: what they do to each shape of field, and how they put lists in order."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring import errors
from mooring.apiserver.patching.strategic import strategic
from mooring.apiserver.schema.parse import load
from mooring.model.document import Doc
from tests.unit.apiserver.patching.things import SCHEMA, THING, a_thing, spoil, things


def _patched(doc: Doc, patch: Any) -> Doc:
    return strategic(doc, patch, THING, SCHEMA)


def _spec(**spec: Any) -> Doc:
    return a_thing(spec=spec)


def _parts(*parts: Any) -> Doc:
    return _spec(parts=[_part(part) if isinstance(part, str) else part for part in parts])


def _part(name: str, **more: Any) -> Doc:
    return {"name": name, **more}


def _gone(name: str) -> Doc:
    return {"name": name, "$patch": "delete"}


def _order(*names: str) -> list[Doc]:
    return [{"name": name} for name in names]


def _finalizers(*names: str) -> Doc:
    return a_thing(metadata={"finalizers": list(names)})


CASES: dict[str, tuple[Doc, Doc, Doc]] = {
    "messages and maps merge": (
        a_thing(data={"a": "1"}, spec={"size": 1}),
        {"data": {"b": "2"}, "spec": {"limits": {"least": 2}}},
        a_thing(data={"a": "1", "b": "2"}, spec={"size": 1, "limits": {"least": 2}}),
    ),
    "null removes": (a_thing(data={"a": "1"}), {"data": None}, a_thing()),
    "null within what is new is left out": (
        a_thing(),
        {"spec": {"size": 1, "limits": None}},
        _spec(size=1),
    ),
    "a list without a merge key is replaced": (
        _spec(modes=["a"]),
        {"spec": {"modes": ["b"]}},
        _spec(modes=["b"]),
    ),
    "an unknown list is replaced": (a_thing(x=[1]), {"x": [2]}, a_thing(x=[2])),
    "an item is merged by its key": (
        _parts(_part("a", color="red"), "b"),
        {"spec": {"parts": [_part("a", tags=["x"])]}},
        _parts(_part("a", color="red", tags=["x"]), "b"),
    ),
    "new items come first": (_parts("x"), {"spec": {"parts": [_part("y")]}}, _parts("y", "x")),
    "new items keep the order of the patch": (
        _parts("x"),
        {"spec": {"parts": [_part("z"), _part("y")]}},
        _parts("z", "y", "x"),
    ),
    "an item is deleted": (_parts("x", "y"), {"spec": {"parts": [_gone("x")]}}, _parts("y")),
    "deleting what is not there does nothing": (
        _parts("x"),
        {"spec": {"parts": [_gone("q")]}},
        _parts("x"),
    ),
    "a list is replaced by directive": (
        _parts("x", "y"),
        {"spec": {"parts": [{"$patch": "replace"}, _part("z")]}},
        _parts("z"),
    ),
    "the order is as told": (
        _parts("x", "y"),
        {"spec": {"parts": [_part("z")], "$setElementOrder/parts": _order("y", "z", "x")}},
        _parts("y", "z", "x"),
    ),
    "an order alone moves items": (
        _parts("x", "y"),
        {"spec": {"$setElementOrder/parts": _order("y", "x")}},
        _parts("y", "x"),
    ),
    "an item that the order does not name stays where it was": (
        _parts("server", "x", "y"),
        {"spec": {"$setElementOrder/parts": _order("y", "x")}},
        _parts("server", "y", "x"),
    ),
    "an item that takes the place of a deleted one comes after what the server has": (
        _parts("server", "x", "y"),
        {"spec": {"parts": [_part("z"), _gone("y")], "$setElementOrder/parts": _order("z", "x")}},
        _parts("server", "z", "x"),
    ),
    "an order for a list that is nowhere does nothing": (
        a_thing(),
        {"spec": {"$setElementOrder/parts": _order("x")}},
        a_thing(spec={}),
    ),
    "an order of nothing lets a deletion pass": (
        _parts("x"),
        {"spec": {"$setElementOrder/parts": [], "parts": [_gone("x")]}},
        _parts(),
    ),
    "a set grows": (
        _finalizers("a"),
        {"metadata": {"finalizers": ["b", "a"]}},
        _finalizers("b", "a"),
    ),
    "items leave a set by directive": (
        _finalizers("a", "b", "c"),
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b", "x"]}},
        _finalizers("a", "c"),
    ),
    "a set is put in order": (
        _finalizers("a", "b"),
        {"metadata": {"$setElementOrder/finalizers": ["c", "b", "a"], "finalizers": ["c"]}},
        _finalizers("c", "b", "a"),
    ),
    "a set of which null is told goes, in whatever order": (
        _finalizers("a"),
        {"metadata": {"$setElementOrder/finalizers": ["a"], "finalizers": None}},
        a_thing(),
    ),
    "sets within items grow": (
        _parts(_part("x", tags=["a"])),
        {"spec": {"parts": [_part("x", tags=["b"])]}},
        _parts(_part("x", tags=["b", "a"])),
    ),
    "only retained keys survive": (
        _spec(size=1, disk={"path": "/"}),
        {"spec": {"$retainKeys": ["size", "modes"], "modes": ["a"]}},
        _spec(size=1, modes=["a"]),
    ),
    "retained keys in a new item are no field": (
        a_thing(spec={}),
        {"spec": {"parts": [{"$retainKeys": ["name"], "name": "a"}]}},
        _parts("a"),
    ),
    "an object is replaced by directive": (
        a_thing(data={"a": "1"}),
        {"data": {"$patch": "replace", "b": "2"}},
        a_thing(data={"b": "2"}),
    ),
    "an object is emptied by directive": (
        a_thing(data={"a": "1"}),
        {"data": {"$patch": "delete"}},
        a_thing(data={}),
    ),
    "a directive on what is not there adds nothing": (
        a_thing(),
        {"data": {"$patch": "delete"}, "spec": {"claim": {"$patch": "replace", "name": "x"}}},
        a_thing(spec={}),
    ),
    "a value of another type replaces": (
        a_thing(data={"a": "1"}),
        {"data": "x"},
        a_thing(data="x"),
    ),
    "inline fields merge as their parent's": (
        _spec(disk={"path": "/", "options": {"a": "1"}}),
        {"spec": {"disk": {"options": {"b": "2"}}}},
        _spec(disk={"path": "/", "options": {"a": "1", "b": "2"}}),
    ),
    "atomic messages merge all the same": (
        _spec(target={"name": "x", "kind": "y"}),
        {"spec": {"target": {"name": "z"}}},
        _spec(target={"name": "z", "kind": "y"}),
    ),
}


@pytest.mark.parametrize(("doc", "patch", "then"), CASES.values(), ids=CASES)
def test_patch(doc: Doc, patch: Doc, then: Doc) -> None:
    result = _patched(doc, patch)
    assert result == then


REFUSED: dict[str, tuple[Doc, Any, type[errors.ApiError], str]] = {
    "an item without the merge key": (
        _parts("x"),
        {"spec": {"parts": [{"color": "red", "tags": ["a", "b"]}]}},
        errors.ServerError,
        "map: map[color:red tags:[a b]] does not contain declared merge key: name",
    ),
    "a deletion without the merge key": (
        _parts("x"),
        {"spec": {"parts": [{"$patch": "delete"}]}},
        errors.ServerError,
        "map: map[$patch:delete] does not contain declared merge key: name",
    ),
    "an unknown directive in an item": (
        _parts("x"),
        {"spec": {"parts": [{"$patch": "twist", "name": "x"}]}},
        errors.ServerError,
        "unknown patch type: twist in map: map[$patch:twist name:x]",
    ),
    "an unknown directive in an object": (
        a_thing(data={"a": "1"}),
        {"data": {"$patch": "merge"}},
        errors.ServerError,
        "unknown patch type: merge in map: map[$patch:merge]",
    ),
    "merge as the directive of a list": (
        _parts("x"),
        {"spec": {"parts": [{"$patch": "merge", "name": "x"}]}},
        errors.ServerError,
        "merging lists cannot yet be specified in the patch",
    ),
    "items out of the told order": (
        _parts("x"),
        {"spec": {"parts": [_part("b"), _part("a")], "$setElementOrder/parts": _order("a", "b")}},
        errors.ServerError,
        "The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match $setElementOrder "
        "list:\n[map[name:a] map[name:b]]\n",
    ),
    "an order for a field that does not exist": (
        _parts("x"),
        {"spec": {"$setElementOrder/wheels": []}},
        errors.ServerError,
        'unable to find api field in struct Spec for the json field "wheels"',
    ),
    "an order that is no list": (
        _parts("x"),
        {"spec": {"$setElementOrder/parts": "x"}},
        errors.ServerError,
        "expected a []interface {}, but received a string",
    ),
    "an order for no list at all": (
        _parts("x"),
        {"spec": {"$setElementOrder": []}},
        errors.BadRequest,
        "invalid patch format of setElementOrder list",
    ),
    "a deletion from no list at all": (
        _finalizers("x"),
        {"metadata": {"$deleteFromPrimitiveList": []}},
        errors.BadRequest,
        "invalid patch format of primitive list",
    ),
    "retained keys that leave out what the patch sets": (
        _spec(size=1),
        {"spec": {"$retainKeys": ["modes"], "size": 2}},
        errors.BadRequest,
        "invalid patch format of retainKeys",
    ),
    "retained keys that are no list": (
        _spec(size=1),
        {"spec": {"$retainKeys": "size"}},
        errors.BadRequest,
        "invalid patch format of retainKeys",
    ),
    "items of two types": (
        _finalizers("a"),
        {"metadata": {"finalizers": [1]}},
        errors.ServerError,
        "list element types are not identical: [[a] [1]]",
    ),
    "a list of lists": (
        _finalizers("a"),
        {"metadata": {"finalizers": [["b"]]}},
        errors.Invalid,
        "the server rejected our request due to an error in our request",
    ),
    "a patch that is no object": (
        a_thing(),
        ["x"],
        errors.BadRequest,
        "json: cannot unmarshal array into Go value of type map[string]interface {}",
    ),
}


@pytest.mark.parametrize(("doc", "patch", "error", "text"), REFUSED.values(), ids=REFUSED)
def test_refusal(doc: Doc, patch: Any, error: type[errors.ApiError], text: str) -> None:
    with pytest.raises(error) as refusal:
        _patched(doc, patch)
    assert refusal.value.message == text


def test_a_patch_too_deep_to_follow_is_a_bad_request() -> None:
    patch: Doc = {}
    for _ in range(5000):
        patch = {"spec": patch}
    with pytest.raises(errors.BadRequest):
        _patched(a_thing(), patch)


def test_long_lists_are_merged_in_good_time() -> None:
    many = [f"example.com/{n}" for n in range(50_000)]
    patch = {"metadata": {"finalizers": many, "$setElementOrder/finalizers": many}}
    assert len(_patched(_finalizers(*many[::2]), patch)["metadata"]["finalizers"]) == 50_000


_NAMES = st.permutations("abcdef").flatmap(lambda p: st.integers(0, 6).map(lambda n: p[:n]))


@given(live=_NAMES, wanted=_NAMES, data=st.data())
def test_what_the_order_names_is_in_that_order(
    live: list[str], wanted: list[str], data: st.DataObject
) -> None:
    brought = [name for name in wanted if data.draw(st.booleans()) or name not in live]
    patch = {
        "spec": {
            "parts": [_part(name) for name in brought],
            "$setElementOrder/parts": _order(*wanted),
        }
    }
    result = [part["name"] for part in _patched(_parts(*live), patch)["spec"]["parts"]]
    assert [name for name in result if name in wanted] == wanted
    others = [name for name in live if name not in wanted]
    assert [name for name in result if name not in wanted] == others


@given(doc=things(), patch=things())
def test_arguments_are_neither_changed_nor_shared(doc: Doc, patch: Doc) -> None:
    before = copy.deepcopy((doc, patch))
    result = _patched(doc, patch)
    assert (doc, patch) == before
    spoil(result)
    assert (doc, patch) == before


@given(doc=things(), patch=things())
def test_a_patch_twice_is_the_patch_once(doc: Doc, patch: Doc) -> None:
    once = _patched(doc, patch)
    assert _patched(once, patch) == once


def test_a_set_of_server_side_apply_may_be_replaced_all_the_same() -> None:
    driver: Doc = {"spec": {"volumeLifecycleModes": ["Persistent"]}}
    patch: Doc = {"spec": {"volumeLifecycleModes": ["Ephemeral"]}}
    assert strategic(driver, patch, "storage.v1.CSIDriver", load()) == patch
