"""JSON patches: what each operation does, what is refused, and that nothing explodes."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring import errors
from mooring.apiserver.patching.json_patch import MOST_COPIED_BYTES, json_patch
from mooring.model.document import Doc
from tests.unit.apiserver.patching.things import json_objects, json_values


def _op(op: str, path: str, **more: Any) -> Doc:
    return {"op": op, "path": path, **more}


WORKS: dict[str, tuple[Doc, list[Doc], Doc]] = {
    "no operation changes nothing": ({"a": 1}, [], {"a": 1}),
    "add sets a member": ({}, [_op("add", "/a", value=1)], {"a": 1}),
    "add replaces a member": ({"a": 1}, [_op("add", "/a", value=2)], {"a": 2}),
    "add without a value adds null": ({}, [_op("add", "/a")], {"a": None}),
    "add inserts into a list": (
        {"a": [1, 3]},
        [_op("add", "/a/1", value=2)],
        {"a": [1, 2, 3]},
    ),
    "add at - appends": ({"a": [1]}, [_op("add", "/a/-", value=2)], {"a": [1, 2]}),
    "add at -1 appends, too": ({"a": [1]}, [_op("add", "/a/-1", value=2)], {"a": [1, 2]}),
    "remove takes a member out": ({"a": 1, "b": 2}, [_op("remove", "/a")], {"b": 2}),
    "remove at -1 takes the last item": ({"a": [1, 2]}, [_op("remove", "/a/-1")], {"a": [1]}),
    "replace sets a member": ({"a": 1}, [_op("replace", "/a", value=2)], {"a": 2}),
    "replace sets a missing member, too": ({}, [_op("replace", "/a", value=2)], {"a": 2}),
    "replace sets an item": ({"a": [1, 2]}, [_op("replace", "/a/0", value=9)], {"a": [9, 2]}),
    "replace of the root is a new document": ({"a": 1}, [_op("replace", "", value={})], {}),
    "move takes and puts": (
        {"a": {"b": 1}},
        [_op("move", "/c", **{"from": "/a/b"})],
        {"a": {}, "c": 1},
    ),
    "copy puts another one": (
        {"a": [1]},
        [_op("copy", "/b", **{"from": "/a"}), _op("add", "/b/-", value=2)],
        {"a": [1], "b": [1, 2]},
    ),
    "test of an equal value passes": (
        {"a": {"b": 1, "c": 2}},
        [_op("test", "/a", value={"c": 2, "b": 1})],
        {"a": {"b": 1, "c": 2}},
    ),
    "test for null passes where nothing is": ({}, [_op("test", "/a", value=None)], {}),
    "test of the root compares all of it": ({"a": 1}, [_op("test", "", value={"a": 1})], {"a": 1}),
    "~1 is a slash and ~0 a tilde": ({"a/b~c": 1}, [_op("remove", "/a~1b~0c")], {}),
    "~01 is ~1, not a slash": ({"~1": 1}, [_op("remove", "/~01")], {}),
    "an empty name is a name": ({"": 1}, [_op("remove", "/")], {}),
    "null is no operations at all": ({"a": 1}, None, {"a": 1}),  # type: ignore[dict-item] # as sent
}


@pytest.mark.parametrize(("doc", "operations", "then"), WORKS.values(), ids=WORKS)
def test_operation(doc: Doc, operations: list[Doc], then: Doc) -> None:
    assert json_patch(doc, operations) == then


FAILS: dict[str, tuple[Doc, list[Any]]] = {
    "a test of another value": ({"a": 1}, [_op("test", "/a", value=2)]),
    "a test of true where 1 is": ({"a": 1}, [_op("test", "/a", value=True)]),
    "a test of 1.0 where 1 is": ({"a": 1}, [_op("test", "/a", value=1.0)]),
    "a test for a value where nothing is": ({}, [_op("test", "/a", value=1)]),
    "a remove of what is not there": ({}, [_op("remove", "/a")]),
    "a remove beyond the list": ({"a": [1]}, [_op("remove", "/a/1")]),
    "a remove of the root": ({"a": 1}, [_op("remove", "")]),
    "a path through a missing member": ({}, [_op("add", "/a/b", value=1)]),
    "a path through a scalar": ({"a": "x"}, [_op("add", "/a/b", value=1)]),
    "a path that does not start with a slash": ({"a": 1}, [_op("remove", "a")]),
    "an index beyond the end": ({"a": []}, [_op("add", "/a/1", value=1)]),
    "an index that is no number": ({"a": [1]}, [_op("replace", "/a/x", value=1)]),
    "an index in other digits": ({"a": [1, 2]}, [_op("replace", "/a/\u0661", value=1)]),
    "an index too long to be one": ({"a": [1]}, [_op("remove", "/a/" + "9" * 400)]),
    "a move into itself": ({"a": {}}, [_op("move", "/a/b", **{"from": "/a"})]),
    "a copy of the root": ({"a": 1}, [_op("copy", "/b", **{"from": ""})]),
    "a copy without from": ({"a": 1}, [_op("copy", "/b")]),
    "an unknown operation": ({"a": 1}, [_op("merge", "/a", value=1)]),
    "an operation that is null": ({"a": 1}, [None]),
    "a document that becomes a list": ({"a": 1}, [_op("replace", "", value=[])]),
}


@pytest.mark.parametrize(("doc", "operations"), FAILS.values(), ids=FAILS)
def test_failure_tells_nothing(doc: Doc, operations: list[Any]) -> None:
    with pytest.raises(errors.Invalid) as refusal:
        json_patch(doc, operations)
    status = refusal.value.status()
    assert status["message"] == "the server rejected our request due to an error in our request"
    assert status["details"] == {}


UNDECODABLE: dict[str, tuple[Any, str]] = {
    "an object": ({"op": "add"}, "object into Go value of type []handlers.jsonPatchOp"),
    "a string": ("x", "string into Go value of type []handlers.jsonPatchOp"),
    "a list of numbers": ([1], "number into Go value of type handlers.jsonPatchOp"),
    "an op that is a number": (
        [{"op": 1, "path": "/a"}],
        "number into Go struct field jsonPatchOp.op of type string",
    ),
    "a path that is a list": (
        [{"op": "add", "path": []}],
        "array into Go struct field jsonPatchOp.path of type string",
    ),
}


@pytest.mark.parametrize(("operations", "then"), UNDECODABLE.values(), ids=UNDECODABLE)
def test_what_is_no_patch_is_a_bad_request(operations: Any, then: str) -> None:
    with pytest.raises(errors.BadRequest) as refusal:
        json_patch({}, operations)
    assert refusal.value.message == f"error decoding patch: json: cannot unmarshal {then}"


def test_ten_thousand_operations_are_the_most() -> None:
    assert json_patch({}, [_op("add", "/a", value=1)] * 10_000) == {"a": 1}
    with pytest.raises(errors.TooLarge) as refusal:
        json_patch({}, [_op("add", "/a", value=1)] * 10_001)
    assert refusal.value.message == (
        "Request entity too large: "
        "The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_copies_that_double_are_stopped() -> None:
    bomb = [_op("copy", f"/a/{n}", **{"from": "/a"}) for n in range(200)]
    with pytest.raises(errors.Invalid):
        json_patch({"a": {"seed": "x" * 1000}}, bomb)


def test_copies_may_have_three_mebibytes_together() -> None:
    doc = {"a": "x" * (MOST_COPIED_BYTES // 4)}
    copies = [_op("copy", f"/{n}", **{"from": "/a"}) for n in range(3)]
    assert len(json_patch(doc, copies)) == 4
    with pytest.raises(errors.Invalid):
        json_patch(doc, [*copies, _op("copy", "/more", **{"from": "/a"})])


def test_a_document_cannot_be_made_too_deep_to_handle() -> None:
    deeper = [
        _op("move", "/b", **{"from": "/a"}),
        _op("add", "/a", value={}),
        _op("move", "/a/x", **{"from": "/b"}),
    ]
    assert json_patch({"a": {}}, deeper * 100)
    with pytest.raises(errors.Invalid):
        json_patch({"a": {}}, deeper * 3000)


_PATHS = st.lists(st.sampled_from([*"abcd", "0", "-"]), min_size=1, max_size=3).map(
    lambda tokens: "/" + "/".join(tokens)
)
_OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
            "path": _PATHS,
            "from": _PATHS,
            "value": json_values(),
        }
    ),
    max_size=4,
)


@given(doc=json_objects(), operations=_OPERATIONS)
def test_arguments_are_neither_changed_nor_shared(doc: Doc, operations: list[Doc]) -> None:
    before = copy.deepcopy((doc, operations))
    try:
        result = json_patch(doc, operations)
    except errors.Invalid:
        result = {}
    assert (doc, operations) == before
    assert not _containers(result) & (_containers(doc) | _containers(operations))


def _containers(value: Any) -> set[int]:
    """The identities of all lists and objects within a value."""
    if not isinstance(value, dict | list):
        return set()
    inner = value.values() if isinstance(value, dict) else value
    return {id(value)}.union(*(_containers(child) for child in inner))
