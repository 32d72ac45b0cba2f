"""What a schema has to say of its sets and maps."""

import pytest

from mooring.model.document import Doc
from tests.unit.apiserver.structural.complaints import (
    LIST_TYPE,
    MAP_KEYS,
    MAP_TYPE,
    PORT,
    PRESERVE,
    of_field,
)
from tests.unit.apiserver.structural.schemas import a_list, a_text, an_object


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        (a_list(PORT, **{LIST_TYPE: "map", MAP_KEYS: ["port", "protocol"]}), []),
        (a_list(a_text(), **{LIST_TYPE: "set"}), []),
        (a_list({**PORT, MAP_TYPE: "atomic"}, **{LIST_TYPE: "set"}), []),
        (a_list(a_list(a_text()), **{LIST_TYPE: "set"}), []),
        (
            a_list(PORT, **{LIST_TYPE: "set"}),
            [
                f".items.{MAP_TYPE}: Invalid value: null: must be atomic as item of a list with "
                f"{LIST_TYPE}=set"
            ],
        ),
        (
            a_list(a_list(a_text(), **{LIST_TYPE: "set"}), **{LIST_TYPE: "set"}),
            [
                f'.items.{LIST_TYPE}: Invalid value: "set": must be atomic as item of a list with '
                f"{LIST_TYPE}=set"
            ],
        ),
        (
            a_list(a_text(nullable=True), **{LIST_TYPE: "set"}),
            [f".items.nullable: Forbidden: cannot be nullable when {LIST_TYPE} is set"],
        ),
        (
            a_list(PORT, **{LIST_TYPE: "map"}),
            [f".{MAP_KEYS}: Required value: must not be empty if {LIST_TYPE} is map"],
        ),
        (
            a_list(a_text(), **{LIST_TYPE: "map", MAP_KEYS: ["a"]}),
            [
                '.items.type: Invalid value: "string": must be object if parent array\'s '
                f"{LIST_TYPE} "
                "is map"
            ],
        ),
        (
            a_list(PORT, **{MAP_KEYS: ["port"]}),
            [f".{LIST_TYPE}: Required value: must be map if {MAP_KEYS} is non-empty"],
        ),
        (
            a_list(PORT, **{LIST_TYPE: "atomic", MAP_KEYS: ["port"]}),
            [f'.{LIST_TYPE}: Invalid value: "atomic": must be map if {MAP_KEYS} is non-empty'],
        ),
        (
            a_list(PORT, **{LIST_TYPE: "map", MAP_KEYS: ["port", "x", "port"]}),
            [
                f'.{MAP_KEYS}: Invalid value: ["port","x","port"]: entries must all be names '
                "of item "
                "properties",
                f'.{MAP_KEYS}: Invalid value: ["port","x","port"]: must not contain duplicate '
                "entries",
            ],
        ),
        (
            a_list(
                an_object(a=a_text(nullable=True), l=a_list(a_text())),
                **{LIST_TYPE: "map", MAP_KEYS: ["a", "l"]},
            ),
            [
                '.items.properties[l].type: Invalid value: "object": must be a scalar type '
                "if parent "
                f"array's {LIST_TYPE} is map",
                ".items.properties[a].default: Required value: this property is in "
                f"{MAP_KEYS}, so it "
                "must have a default or be a required property",
                f".items.properties[a].nullable: Forbidden: this property is in {MAP_KEYS}, "
                "so it cannot "
                "be nullable",
                ".items.properties[l].default: Required value: this property is in "
                f"{MAP_KEYS}, so it "
                "must have a default or be a required property",
            ],
        ),
        (
            a_list(a_text(), **{LIST_TYPE: "bag"}),
            [f'.{LIST_TYPE}: Unsupported value: "bag": supported values: "atomic", "set", "map"'],
        ),
        (
            a_text(**{LIST_TYPE: "set"}),
            [f'.type: Invalid value: "string": must be array if {LIST_TYPE} is specified'],
        ),
        (
            {PRESERVE: True, MAP_TYPE: "atomic"},
            [f".type: Required value: must be object if {MAP_TYPE} is specified"],
        ),
        (
            {"type": "object", MAP_TYPE: "loose"},
            [f'.{MAP_TYPE}: Unsupported value: "loose": supported values: "atomic", "granular"'],
        ),
    ],
)
def test_list_and_map_types(schema: Doc, errors: list[str]) -> None:
    assert of_field(schema) == errors
