"""What is wrong with a configuration that a client applies."""

from typing import Any

import pytest

from mooring.apiserver.patching.conformity import complaints
from mooring.apiserver.patching.shape import shape_of
from mooring.apiserver.schema.parse import load
from tests.unit.apiserver.patching.things import SCHEMA, THING, a_thing

OMITS = (
    "associative list with keys has an element that omits all key fields"
    ' ["port" "protocol"] (and doesn\'t have default values for any key fields)'
)

CASES: dict[str, tuple[Any, list[str]]] = {
    "all is well": (a_thing(data={"a": "1"}, spec={"size": 1, "modes": ["x"]}), []),
    "null always fits": (a_thing(data=None, spec={"size": None, "parts": None}), []),
    "anything fits where anything may be": (a_thing(spec={"anything": [{"a": 1}]}), []),
    "an undeclared field": ({"dat": {}}, [".dat: field not declared in schema"]),
    "an undeclared field further down": (
        {"spec": {"parts": [{"name": "a", "x": 1}]}},
        ['.spec.parts[name="a"].x: field not declared in schema'],
    ),
    "an undeclared field in an atomic message": (
        {"spec": {"target": {"x": 1}}},
        [".spec.target.x: field not declared in schema"],
    ),
    "a string for a map": ({"data": "x"}, [".data: expected map, got &{x}"]),
    "a list for an atomic map": (
        {"spec": {"selector": ["a"]}},
        [".spec.selector: expected map, got &{[a]}"],
    ),
    "an object for a list": (
        {"spec": {"modes": {"a": 1}}},
        [".spec.modes: expected list, got &{map[a:1]}"],
    ),
    "a number for a string": (
        {"spec": {"modes": ["a", 1]}},
        [".spec.modes[1]: expected string, got &value.valueUnstructured{Value:1}"],
    ),
    "a string for a number": (
        {"spec": {"size": "1"}},
        [".spec.size: expected numeric (int or float), got string"],
    ),
    "truth for a number": (
        {"spec": {"size": True}},
        [".spec.size: expected numeric (int or float), got bool"],
    ),
    "an object for a time": (
        {"metadata": {"deletionTimestamp": {}}},
        [".metadata.deletionTimestamp: expected any scalar, got &{map[]}"],
    ),
    "an item twice": (
        {"spec": {"parts": [{"name": "a"}, {"name": "a"}]}},
        ['.spec.parts: duplicate entries for key [name="a"]'],
    ),
    "an item of a set twice": (
        {"metadata": {"finalizers": ["a", "a"]}},
        ['.metadata.finalizers: duplicate entries for key [="a"]'],
    ),
    "an item without any key": (
        {"spec": {"parts": [{"name": "a", "ports": [{}]}]}},
        [f'.spec.parts[name="a"].ports: element 0: {OMITS}'],
    ),
    "an item that is null": (
        {"spec": {"parts": [None]}},
        [".spec.parts: element 0: associative list with keys may not have a null element"],
    ),
    "an item that is no object": (
        {"spec": {"parts": ["a"]}},
        [".spec.parts: element 0: associative list with keys may not have non-map elements"],
    ),
    "null in a set": (
        {"metadata": {"finalizers": [None]}},
        [
            ".metadata.finalizers: element 0: associative list without keys has an element "
            "that's an explicit null"
        ],
    ),
    "an object in a set": (
        {"metadata": {"finalizers": [{}]}},
        [
            ".metadata.finalizers: element 0: associative list without keys has an element "
            "that's a map type"
        ],
    ),
    "a list in a set": (
        {"metadata": {"finalizers": [[]]}},
        [".metadata.finalizers: element 0: not supported: associative list with lists as elements"],
    ),
}


@pytest.mark.parametrize(("applied", "then"), CASES.values(), ids=CASES)
def test_complaints(applied: Any, then: list[str]) -> None:
    assert list(complaints(applied, shape_of(THING, SCHEMA))) == then


def test_a_boolean_is_no_string() -> None:
    applied = {"immutable": "yes"}
    assert list(complaints(applied, shape_of("core.v1.ConfigMap", load()))) == [
        ".immutable: expected boolean, got &{yes}"
    ]
