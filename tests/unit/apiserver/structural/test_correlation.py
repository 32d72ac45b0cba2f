"""On an update, what was wrong before and did not change is not told."""

import pytest

from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.structural.validate import validate
from mooring.model.document import Doc
from mooring.model.field_error import FieldError
from tests.unit.apiserver.structural.schemas import a_list, a_text, an_integer, an_object, root

ONE_OF = {**an_object(a=a_text(), b=a_text()), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
NIL = '<nil>: Invalid value: ""'


def told(errors: list[FieldError]) -> list[str]:
    return [str(error) for error in errors]


TIGHTENED = node_of(
    an_object(
        kind=a_text(enum=["X"]),
        spec={
            **an_object(
                mode=a_text(enum=["A"]),
                note=a_text(),
                atomic=a_list(an_integer(maximum=3)),
                ports=a_list(
                    an_object(name=a_text(), port=an_integer(maximum=99)),
                    **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
                ),
                m={"type": "object", "additionalProperties": a_text(maxLength=1)},
                one=ONE_OF,
            ),
            "required": ["mode"],
        },
    )
)


@pytest.mark.parametrize(
    ("old", "new", "errors"),
    [
        pytest.param({"mode": "x"}, {"mode": "x", "note": "n"}, [], id="an unchanged value"),
        pytest.param(
            {"mode": "x"},
            {"mode": "y"},
            ['spec.mode: Unsupported value: "y": supported values: "A"'],
            id="a changed value",
        ),
        pytest.param({}, {"note": "n"}, ["spec.mode: Required value"], id="what is missing"),
        pytest.param({"note": "n"}, {"note": "n"}, [], id="missing in an unchanged object"),
        pytest.param(
            {"mode": "A", "atomic": [5]}, {"mode": "A", "atomic": [5]}, [], id="a whole list"
        ),
        pytest.param(
            {"mode": "A", "atomic": [5]},
            {"mode": "A", "atomic": [5, 1]},
            [
                "spec.atomic[0]: Invalid value: 5: spec.atomic[0] in body should be less "
                "than or equal to 3"
            ],
            id="items of an atomic list do not correlate",
        ),
        pytest.param(
            {"mode": "A", "ports": [{"name": "a", "port": 100}, {"name": "b", "port": 200}]},
            {"mode": "A", "ports": [{"name": "b", "port": 200}, {"name": "a", "port": 101}]},
            [
                "spec.ports[1].port: Invalid value: 101: spec.ports[1].port in body should "
                "be less than or equal to 99"
            ],
            id="items of a map correlate by their keys",
        ),
        pytest.param(
            {"mode": "A", "m": {"k": "long"}},
            {"mode": "A", "m": {"k": "long", "l": "long"}},
            ["spec.m.l: Too long: may not be more than 1 byte"],
            id="values of a map correlate by key",
        ),
        pytest.param(
            {"mode": "A", "one": {}},
            {"mode": "A", "one": {}, "note": "n"},
            [],
            id="an unchanged oneOf",
        ),
        pytest.param(
            {"mode": "A", "one": {"a": "1", "b": "1"}},
            {"mode": "A", "one": {"a": "2", "b": "1"}},
            [
                f'{NIL}: "spec.one" must validate one and only one schema (oneOf). Found 2 '
                "valid alternatives"
            ],
            id="a changed oneOf",
        ),
        pytest.param(
            {"mode": "A", "atomic": [True]},
            {"mode": "A", "atomic": [1, 5]},
            [
                "spec.atomic[1]: Invalid value: 5: spec.atomic[1] in body should be less "
                "than or equal to 3"
            ],
            id="true is no 1",
        ),
    ],
)
def test_errors_at_unchanged_values_are_not_told(old: Doc, new: Doc, errors: list[str]) -> None:
    found = validate({"kind": "X", "spec": new}, TIGHTENED, old={"kind": "X", "spec": old})
    assert told(found) == errors


def test_the_type_of_a_resource_is_not_ratcheted() -> None:
    doc = {"kind": "Y", "spec": {"mode": "A"}}
    old = {"kind": "Y", "spec": {"mode": "B"}}
    assert told(validate(doc, TIGHTENED, old=old)) == [
        'kind: Unsupported value: "Y": supported values: "X"'
    ]


def test_a_true_that_was_a_one_has_changed() -> None:
    node = node_of(root(f={"type": "boolean"}))
    assert not validate({"spec": {"f": 1}}, node, old={"spec": {"f": 1}, "x": 1})
    node = node_of(root(f=an_integer()))
    assert validate({"spec": {"f": True}}, node, old={"spec": {"f": 1}})
