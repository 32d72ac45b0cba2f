"""What expressions of mutating policies make, as JSON, and applied to documents."""

from typing import Any

import pytest

from mooring.apiserver.cel.structs import StructValue
from mooring.apiserver.cel.values import Duration, Timestamp, TypeValue, UInt
from mooring.apiserver.patching.shape import shape_of
from mooring.apiserver.policies.patches import (
    CannotPatch,
    to_json,
    with_configuration,
    with_operations,
)
from mooring.apiserver.schema.parse import load
from mooring.model.document import Doc

SHAPE = shape_of("core.v1.Pod", load())
POD: Doc = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"a": "1"}},
    "spec": {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"disk": "fast"}},
}

VALUES: dict[str, tuple[Any, Any]] = {
    "a part": (StructValue("Object.spec", {"a": 1}), {"a": 1}),
    "a map with a list of parts": ({"x": [StructValue("Object.x", {})]}, {"x": [{}]}),
    "a number": (5, 5),
    "an unsigned number": (UInt(5), 5),
    "a number that is too long for JSON": (2**60, str(2**60)),
    "bytes": (b"abc", "YWJj"),
    "a moment": (Timestamp(0), "1970-01-01T00:00:00Z"),
    "a while": (Duration(90 * 10**9), "90s"),
    "nothing, and whether": ([None, True], [None, True]),
}


@pytest.mark.parametrize(("value", "wanted"), VALUES.values(), ids=VALUES)
def test_json(value: Any, wanted: Any) -> None:
    assert to_json(value) == wanted


@pytest.mark.parametrize("value", [{1: "a"}, TypeValue("int")], ids=["a key", "a type"])
def test_what_is_no_json(value: Any) -> None:
    with pytest.raises(CannotPatch):
        to_json(value)


def an_object(**fields: Any) -> StructValue:
    return StructValue("Object", fields)


def a_spec(**fields: Any) -> StructValue:
    return an_object(spec=StructValue("Object.spec", fields))


def test_a_configuration_is_merged_and_shares_nothing() -> None:
    labels = an_object(metadata=StructValue("Object.metadata", {"labels": {"b": "2"}}))
    new = with_configuration(POD, labels, SHAPE)
    assert new["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert POD["metadata"]["labels"] == {"a": "1"}
    assert new["spec"] is not POD["spec"]


REFUSED: dict[str, tuple[StructValue, str]] = {
    "a part in another place": (
        an_object(spec=StructValue("Object.status", {})),
        'type mismatch: unexpected type name "Object.status", expected "Object.spec"',
    ),
    "a field that is not there": (a_spec(none=1), ".spec.none: field not declared in schema"),
    "an object that is replaced whole": (
        a_spec(nodeSelector={"disk": "slow"}),
        "may not mutate atomic arrays, maps or structs: .spec.nodeSelector",
    ),
    "null": (
        a_spec(activeDeadlineSeconds=None),
        ".spec.activeDeadlineSeconds: expected numeric (int or float), got structpb.NullValue",
    ),
}


@pytest.mark.parametrize(("value", "told"), REFUSED.values(), ids=REFUSED)
def test_configurations_that_cannot_be_applied(value: StructValue, told: str) -> None:
    with pytest.raises(CannotPatch) as raised:
        with_configuration(POD, value, SHAPE)
    assert told in str(raised.value)


def an_operation(**fields: Any) -> StructValue:
    return StructValue("JSONPatch", fields)


def test_operations_in_their_order() -> None:
    new = with_operations(
        POD,
        [
            an_operation(op="test", path="/metadata/name", value="web"),
            an_operation(op="add", path="/metadata/labels/x~1y", value="2"),
            an_operation(op="remove", path="/spec/nodeSelector"),
        ],
    )
    assert new["metadata"]["labels"] == {"a": "1", "x/y": "2"}
    assert "nodeSelector" not in new["spec"]


def test_a_test_that_fails_changes_nothing() -> None:
    steps = [
        an_operation(op="remove", path="/spec"),
        an_operation(op="test", path="/metadata/name", value="other"),
    ]
    assert with_operations(POD, steps) is POD


STEPS: dict[str, tuple[StructValue, str]] = {
    "no such member": (
        an_operation(op="remove", path="/metadata/none"),
        "error in remove for path: '/metadata/none': Unable to remove nonexistent key: none: "
        "missing value",
    ),
    "nowhere": (
        an_operation(op="add", path="/none/a/b", value=1),
        'add operation does not apply: doc is missing path: "/none/a/b": missing value',
    ),
    "no such item": (
        an_operation(op="add", path="/spec/containers/7", value={}),
        "error in add for path: '/spec/containers/7': Unable to access invalid index: 7: invalid "
        "index referenced",
    ),
    "from nowhere": (
        an_operation(op="move", path="/a", **{"from": "/none/a"}),
        "move operation does not apply: doc is missing from path: /none/a: missing value",
    ),
    "a test of nothing": (
        an_operation(op="test", path="/none/a", value=1),
        "test operation does not apply: is missing path: /none/a: missing value",
    ),
    "no operation": (an_operation(path="/a"), "Unexpected kind: "),
}


@pytest.mark.parametrize(("step", "told"), STEPS.values(), ids=STEPS)
def test_operations_that_do_not_fit(step: StructValue, told: str) -> None:
    with pytest.raises(CannotPatch) as raised:
        with_operations(POD, [step])
    assert str(raised.value) == f"JSON Patch: {told}"


def nested(value: Any, times: int, width: int = 10) -> Any:
    """`width` to the power of `times` places with the same value, in as many lists as it takes."""
    for _ in range(times):
        value = [value] * width
    return value


TOO_LARGE: dict[str, Any] = {
    "one text in ten thousand million places": nested("a", 10),
    "a long text in a thousand places": nested("a" * 10_000, 3),
    "a list in a list in a list, and so on": nested("a", 300, width=1),
}


@pytest.mark.parametrize("value", TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_is_large_by_repetition_is_not_written_out(value: Any) -> None:
    with pytest.raises(CannotPatch, match="too large, or too deep"):
        with_configuration(POD, a_spec(x=value), SHAPE)
    with pytest.raises(CannotPatch, match="too large, or too deep"):
        with_operations(POD, [an_operation(op="add", path="/spec/x", value=value)])
