"""What is asked of a schema, by what its definition is and was."""

import pytest

from mooring.apiserver.structural.schema_problems import format_warnings
from tests.unit.apiserver.structural.complaints import (
    INT_OR_STRING,
    LIST_TYPE,
    MAP_KEYS,
    PORT,
    PRESERVE,
    told,
)
from tests.unit.apiserver.structural.schemas import a_list, a_text, an_integer, an_object


def test_with_a_status_little_is_allowed_at_the_root() -> None:
    fine = {**an_object(spec=an_object()), "description": "d", "required": ["spec"], PRESERVE: True}
    assert told(fine, has_status=True) == []
    (error,) = told({**fine, "maxProperties": 0}, has_status=True)
    assert error.endswith(
        "XValidations] fields are allowed at the root of the schema if the status "
        "subresource is enabled"
    )
    assert told({**fine, "maxProperties": 9}) == []


BROKEN = an_object(
    types={"type": "text"},
    sets=a_list(PORT, **{LIST_TYPE: "set"}),
    keys=a_list(an_object(a=a_text()), **{LIST_TYPE: "map", MAP_KEYS: ["a"]}),
    defaults={**an_object(), "default": {"x": 1}},
)


@pytest.mark.parametrize("field", ["types", "sets", "keys", "defaults"])
def test_what_a_stored_schema_breaks_is_not_enforced(field: str) -> None:
    stored = an_object(other=BROKEN["properties"][field])
    others = [name for name in BROKEN["properties"] if name != field]
    found = told(BROKEN, old=[an_object(), stored])
    assert len(told(BROKEN)) == 4
    assert len(found) == 3, found
    assert all(any(f"[{name}]" in text for text in found) for name in others)


def test_what_makes_a_schema_structural_is_enforced_always() -> None:
    assert told(an_object(a={}), old=[an_object(a={})])


def test_unrecognized_formats_are_warned_of_once_and_when_they_are_new() -> None:
    schema = an_object(
        a=a_text(format="semver"),
        b=a_text(format="semver"),
        c=a_text(format="date-time"),
        d=an_integer(format="date"),
        e={INT_OR_STRING: True, "format": "int32"},
    )
    assert format_warnings(schema) == [
        'unrecognized format "semver"',
        'unrecognized format "date"',
        'unrecognized format "int32"',
    ]
    assert format_warnings(schema, old=[an_object(x=a_text(format="semver"))]) == [
        'unrecognized format "date"',
        'unrecognized format "int32"',
    ]
