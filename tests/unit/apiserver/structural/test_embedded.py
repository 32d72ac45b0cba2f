"""Embedded resources have a type and metadata of their own."""

from collections.abc import Iterable

import pytest

from mooring.apiserver.structural.embedded import each_embedded, embedded_problems
from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.structural.paths import spell
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid
from tests.unit.apiserver.structural.schemas import a_list, an_object

RESOURCE = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
NODE = node_of(
    an_object(
        t=RESOURCE,
        l=a_list(RESOURCE),
        m={"type": "object", "additionalProperties": RESOURCE},
        outer={**RESOURCE, "properties": {"inner": RESOURCE}},
    )
)
GOOD = {"apiVersion": "v1", "kind": "Pod"}


def no_names(metadata: Doc, at: str) -> Iterable[FieldError]:
    return [invalid(f"{at}.name", metadata["name"], "no")] if "name" in metadata else []


@pytest.mark.parametrize(
    ("doc", "errors"),
    [
        ({}, []),
        ({"t": GOOD, "l": [GOOD], "m": {"k": GOOD}, "outer": {**GOOD, "inner": GOOD}}, []),
        ({"t": {}}, ["t.apiVersion: Required value", "t.kind: Required value"]),
        (
            {"t": {"apiVersion": 1, "kind": ""}},
            [
                "t.apiVersion: Invalid value: 1: must be a string",
                't.kind: Invalid value: "": must not be empty',
            ],
        ),
        (
            {"t": {**GOOD, "apiVersion": "a/b/c"}},
            ['t.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
        ),
        (
            {"l": [GOOD, {**GOOD, "metadata": {"name": "x"}}]},
            ['l[1].metadata.name: Invalid value: "x": no'],
        ),
        ({"m": {"k": {"kind": "X"}}}, ["m[k].apiVersion: Required value"]),
        ({"outer": {**GOOD, "inner": {"kind": "X"}}}, ["outer.inner.apiVersion: Required value"]),
        ({"t": {**GOOD, "metadata": 5}}, ["t.metadata: Invalid value: 5: must be an object"]),
        ({"t": 5}, []),
    ],
)
def test_their_type_and_metadata_are_checked(doc: Doc, errors: list[str]) -> None:
    assert [str(error) for error in embedded_problems(doc, NODE, no_names)] == errors


def test_a_kind_is_a_label_in_any_case() -> None:
    (error,) = embedded_problems({"t": {**GOOD, "kind": "a_b"}}, NODE, no_names, at="x.default")
    assert str(error).startswith(
        'x.default.t.kind: Invalid value: "a_b": may have mixed case, but should otherwise match: '
        "a DNS-1035 label must consist of"
    )


def test_outer_resources_come_before_inner_ones() -> None:
    found = each_embedded({"outer": {"inner": {"a": 1}}, "l": [{}]}, NODE)
    assert [spell(path) for path, _ in found] == ["outer", "outer.inner", "l[0]"]
