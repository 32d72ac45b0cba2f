from collections.abc import Iterator

from mooring.apiserver.kinds.custom_rules import (
    broken,
    changed,
    date_cell,
    schema_then_rules,
    taken_away,
)
from mooring.model.field_error import FieldError, required
from tests.unit.apiserver.kinds.writing import BEFORE, NOW


def test_rules_are_asked_once_the_schema_is_met() -> None:
    rule = broken("spec", {}, "be good")
    assert list(schema_then_rules([], iter([rule]))) == [rule]


def test_rules_are_not_asked_before_and_the_answer_says_so() -> None:
    def rules() -> Iterator[FieldError]:
        raise AssertionError
        yield broken("spec", {}, "never reached")

    first, second = schema_then_rules([required("spec.source")], rules())
    assert str(first) == "spec.source: Required value"
    assert second.cause() == {
        "field": "<nil>",
        "reason": "FieldValueInvalid",
        "message": "Invalid value: null: some validation rules were not checked because the object "
        "was invalid; correct the existing errors to complete validation",
    }


def test_a_broken_rule_shows_plain_values_only() -> None:
    assert str(broken("a", "x", "no")) == 'a: Invalid value: "x": no'
    assert str(broken("a", {"x": 1}, "no")) == "a: Invalid value: no"
    assert str(broken("a", ["x"], "no")) == "a: Invalid value: no"


def test_a_value_that_comes_or_goes_did_not_change() -> None:
    assert list(changed({"a": 1}, {}, "spec.", "a")) == []
    assert list(changed({}, {"a": 1}, "spec.", "a")) == []
    (error,) = changed({"a": 2}, {"a": 1}, "spec.", "a")
    assert str(error) == "spec.a: Invalid value: 2: a is immutable"


def test_a_value_that_goes_is_missed() -> None:
    (error,) = taken_away({}, {"a": 1}, "spec", "a", "b")
    assert str(error) == "spec: Invalid value: a is required once set"


def test_a_missing_date_is_a_blank_cell() -> None:
    assert date_cell(None, NOW) is None
    assert date_cell(BEFORE, NOW) == "27h"
