"""Nothing is twice in sets and maps."""

from typing import Any

import pytest

from mooring.apiserver.limits.budgets import MOST_ERRORS
from mooring.apiserver.structural.list_types import list_type_problems
from mooring.apiserver.structural.parse import node_of
from mooring.model.document import Doc
from tests.unit.apiserver.structural.schemas import a_list, a_text, an_object

LIST_TYPE, MAP_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
ANY = {"x-kubernetes-preserve-unknown-fields": True}
A_SET = a_list(ANY, **{LIST_TYPE: "set"})
PORTS = a_list({"type": "object"}, **{LIST_TYPE: "map", MAP_KEYS: ["protocol", "port"]})
NAMED = a_list(an_object(name=a_text(), tags=A_SET), **{LIST_TYPE: "map", MAP_KEYS: ["name"]})


def told(schema: Doc, value: Any, **more: Any) -> list[str]:
    node = node_of(an_object(spec=an_object(f=schema)))
    return [str(error) for error in list_type_problems({"spec": {"f": value}}, node, **more)]


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        (A_SET, ["a", "b"], []),
        (A_SET, ["a", "a"], ['spec.f[1]: Duplicate value: "a"']),
        (
            A_SET,
            ["a", "b", "a", "b", "a"],
            ['spec.f[2]: Duplicate value: "a"', 'spec.f[3]: Duplicate value: "b"'],
        ),
        (A_SET, [1, True, 1.0, None, "1", False, 0], []),
        (A_SET, [None, None], ["spec.f[1]: Duplicate value: null"]),
        (
            A_SET,
            [{"b": 1, "a": [2]}, {"a": [2], "b": 1}],
            ['spec.f[1]: Duplicate value: {"a":[2],"b":1}'],
        ),
        (A_SET, [[1], [1.5], [1]], ["spec.f[2]: Duplicate value: [1]"]),
        (NAMED, [{"name": "a"}, {"name": "b"}, {"x": 1}], []),
        (
            NAMED,
            [{"name": "a"}, {"name": "a", "x": 1}],
            ['spec.f[1]: Duplicate value: {"name":"a"}'],
        ),
        (NAMED, [{"x": 1}, {}], ["spec.f[1]: Duplicate value: {}"]),
        (NAMED, [{"name": None}, {}], []),
        (NAMED, [None, {}], ["spec.f[1]: Duplicate value: {}"]),
        (
            NAMED,
            ["a"],
            ['spec.f[0]: Invalid value: "a": must be an object for an array of list-type map'],
        ),
        (NAMED, [{"name": "a", "tags": [1, 1]}], ["spec.f[0].tags[1]: Duplicate value: 1"]),
        (NAMED, [{"name": [1]}, {"name": [1]}], ['spec.f[1]: Duplicate value: {"name":[1]}']),
        (
            PORTS,
            [
                {"port": 80, "protocol": "TCP"},
                {"port": 80, "protocol": "UDP"},
                {"port": 80, "protocol": "TCP"},
            ],
            ['spec.f[2]: Duplicate value: {"port":80,"protocol":"TCP"}'],
        ),
        (PORTS, [{"port": 80}, {"port": 80}], ['spec.f[1]: Duplicate value: {"port":80}']),
        (a_list(ANY), ["a", "a"], []),
        (
            {"type": "object", "additionalProperties": A_SET},
            {"k": ["a", "a"]},
            ['spec.f[k][1]: Duplicate value: "a"'],
        ),
        (A_SET, {"a": 1}, []),
    ],
)
def test_what_is_twice_is_told_at_its_second_place(
    schema: Doc, value: Any, errors: list[str]
) -> None:
    assert told(schema, value) == errors


def test_an_update_of_what_had_duplicates_is_let_pass() -> None:
    assert told(A_SET, ["a", "a"], old={"spec": {"f": ["b", "b"]}}) == []
    assert told(A_SET, ["a", "a"], old={"spec": {"f": [1, True]}}) != []
    assert told(A_SET, ["a", "a"], old={"spec": {"f": ["a"]}}) != []


def test_no_more_is_told_than_an_answer_can_hold() -> None:
    many = [str(number) for number in range(5_000)]
    assert len(told(A_SET, many + many)) == MOST_ERRORS + 1
